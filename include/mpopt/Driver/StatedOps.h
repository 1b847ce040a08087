//===- StatedOps.h - What a project states of its own ops -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op that is not modelled has the facts that a project states about it:
// `[ops."com.acme::FlashThing"]` of mpopt.toml, or `--op` (docs/custom-ops.md).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DRIVER_STATEDOPS_H
#define MPOPT_DRIVER_STATEDOPS_H

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Interval.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>

namespace mpopt {
struct ImportResult;

/// The facts of `mp.custom`, under the same names.
struct StatedOp {
  Interval range;
  double mean = 0, deviation = 0;
  llvm::SmallVector<double, 2> slopes;
  llvm::SmallVector<const FloatFormat *, 3> dtypes;
  const FloatFormat *accumulator = &FloatFormat::f32();
  std::optional<int64_t> terms;
  int64_t like = 0;
  std::optional<llvm::SmallVector<int64_t>> shape;
  const FloatFormat *dtype = nullptr;
};

/// By names as the model has them, without an overload's.
using StatedOps = std::map<std::string, StatedOp>;

/// Parses `NAME=KEY=VALUE;...` into `ops`.
llvm::Error parseStatedOp(llvm::StringRef text, StatedOps &ops);

/// Puts `mp.custom` in the place of the unknown ops that are stated, and counts
/// them as modelled. The error is one line: an op that has not one result, or
/// other operands than are stated.
llvm::Error replaceStatedOps(const StatedOps &ops, ImportResult &imported);

} // namespace mpopt

#endif // MPOPT_DRIVER_STATEDOPS_H
