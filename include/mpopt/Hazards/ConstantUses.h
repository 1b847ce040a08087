//===- ConstantUses.h - What narrower formats do to constants ---*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An analysis of the module: for each float constant the narrower formats in
// which it is used, and what its values lose in them. Both rules on constants
// read it, so that each weight is streamed once.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_CONSTANTUSES_H
#define MPOPT_HAZARDS_CONSTANTUSES_H

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Support/WeightScan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/AnalysisManager.h"

#include <vector>

namespace mpopt {

struct ConstantUse {
  mp::ConstantOp constant;
  /// The narrower element type.
  mlir::Type type;
  /// Operands through which ops compute with the narrowed constant.
  llvm::SmallVector<mlir::OpOperand *, 2> uses;
  /// Of the constant as a whole, also where it is a splat.
  WeightStats stats;

  mlir::Value value() const { return mp::ConstantOp(constant).getResult(); }

  /// Of the non-zero finite values.
  double flushedShare() const;
};

class ConstantUses {
public:
  explicit ConstantUses(mlir::Operation *module);
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &analyses);

  /// In program order. Those that lose nothing are left out.
  std::vector<ConstantUse> losses;
};

/// How a narrowed constant takes part in an op's hazard.
struct Guard {
  /// The division, root or logarithm; null if there is none.
  mlir::Operation *op = nullptr;
  /// What leads there from the constant, in order: the sum, clip or maximum.
  llvm::SmallVector<mlir::Operation *, 3> path;
};

/// The first division, root or logarithm that `use` guards as an epsilon does:
/// added to, or a lower bound of, what is divided by, or that itself.
Guard findGuard(mlir::OpOperand &use);

/// A mask that is added to, or written into, attention scores.
enum class MaskUse { None, Added, Multiplied };

/// True if `use` is an additive mask on its way to a softmax. `Multiplied`: a
/// product of a 0/1 mask with the constant, in which 0 * -Inf is NaN.
MaskUse findMaskUse(mlir::OpOperand &use);

/// True if attention scores that the op reads are still scores behind it: sums,
/// products with scales, limits, masks and views. Casts are not among them.
bool passesScores(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_HAZARDS_CONSTANTUSES_H
