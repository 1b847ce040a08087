//===- Match.h - Which op of one model is which of another ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_DIFF_MATCH_H
#define MPOPT_LIB_DRIVER_DIFF_MATCH_H

#include "mpopt/Driver/Diff.h"

namespace mpopt::diffing {

/// Partners among the ops of two sides.
struct OpMatches {
  /// By op: the index of its partner on the other side, or -1.
  std::vector<int64_t> ofA, ofB;
};

/// Pairs ops, both lists in program order, in time about linear in their
/// number:
///   1. runs of equal structure are aligned, so that the one of many equal
///      layers that changed is the one that has no partner;
///   2. what is left, by structure wherever it stands;
///   3. what is left between two that are paired, by kind: where the numbers of
///      an op changed, so did its structure and that of the two ops behind it;
///   4. of records, what has no structure, by name.
OpMatches matchOps(llvm::ArrayRef<DiffOp> a, llvm::ArrayRef<DiffOp> b);

/// The same for what has findings: by fingerprint alone.
OpMatches matchFound(llvm::ArrayRef<DiffOp> a, llvm::ArrayRef<DiffOp> b);

} // namespace mpopt::diffing

#endif // MPOPT_LIB_DRIVER_DIFF_MATCH_H
