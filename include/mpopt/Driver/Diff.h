//===- Diff.h - What changed from one model to another ----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain data, field by field the `mpopt-diff/1` of docs/json.md.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_DIFF_H
#define MPOPT_DRIVER_DIFF_H

#include "mpopt/Driver/Options.h"

#include "mpopt/Report/Report.h"

namespace mpopt {

/// An op of one side, by its first float result.
struct DiffOp {
  /// Equal for ops of equal structure; those are told apart by their order.
  std::string fingerprint;
  std::string name, type;
  std::string dtype; ///< In the file, before any precision is applied.
  /// Bounds as computed; none for what a report alone does not say.
  std::optional<Interval> bound;
};

struct DiffSide {
  ModelReport report;
  std::vector<DiffOp> ops; ///< Empty for a report.
  unsigned casts = 0;      ///< Casts between floats in the file.
  /// The ops that have to stay in FP32, by name, where the side was judged in
  /// a narrower precision than that of the file.
  std::vector<std::string> needed;
};

struct DiffReport {
  DiffSide a, b;
  /// Findings of `b` that `a` has not, and the reverse.
  std::vector<const Finding *> came, went;
  unsigned stayed = 0;
  /// Ops of both sides: dtypes that differ, and bounds of which an end moved by
  /// a factor of two or more.
  std::vector<std::pair<const DiffOp *, const DiffOp *>> dtypes, ranges;
  /// Ops that only one side has.
  std::vector<const DiffOp *> onlyA, onlyB;
  /// Where `b` was converted to a narrower format: ops that it computes in FP32
  /// and need not, and ops that it narrowed and should not have.
  std::vector<std::pair<const DiffOp *, const DiffOp *>> wide, narrowed;
  /// The number of ops of `a` that have a partner in `b`.
  unsigned matched = 0;
};

using DiffWriter = void (*)(llvm::raw_ostream &, const DiffReport &,
                            const WriteOptions &);
/// Null if there is none for the format.
DiffWriter getDiffWriter(const OutputFormat &format);

} // namespace mpopt

#endif // MPOPT_DRIVER_DIFF_H
