//===- ConstantUses.h - What narrower formats do to constants ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An analysis of the module: for each float constant the narrower formats in
// which it is used, and how its values overflow or flush in them. Both rules on
// constants read it, so that each weight is streamed once.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_CONSTANTUSES_H
#define MPOPT_HAZARDS_CONSTANTUSES_H

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Hazards/FindingList.h"
#include "mpopt/Numerics/ConstantLimits.h"
#include "mpopt/Ranges/Weights/Kernels/Summary.h"

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
  /// Statistics of the whole constant, also where it is a splat. Where a
  /// converter limits it nothing overflows or flushes.
  WeightStats stats;
  ConstantLimits limits;

  mlir::Value value() const { return mp::ConstantOp(constant).getResult(); }

  /// The share of the non-zero finite values that become 0, in [0, 1].
  double flushedShare() const;
  /// True if a converter writes some of the values smaller, or all of them
  /// larger, than they are.
  bool isReduced() const { return stats.absMax > limits.most; }
  bool isRaised() const {
    return stats.absMax > 0 && stats.absMax < limits.least;
  }
};

/// Names the constant, its narrower dtype and its magnitudes.
FindingBuilder describe(FindingBuilder finding, const ConstantUse &use);
/// The same of one that the policy's limit for constants changes: `change` says
/// what becomes of which values.
FindingBuilder describeLimited(FindingBuilder finding, const ConstantUse &use,
                               const llvm::Twine &change);

class ConstantUses {
public:
  explicit ConstantUses(mlir::Operation *module);
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &analyses);

  /// The uses in program order. Those in which nothing overflows, flushes or is
  /// limited are left out.
  std::vector<ConstantUse> losses;
};

/// How a narrowed constant takes part in an op's hazard.
struct Guard {
  /// The division, root or logarithm; null if there is none.
  mlir::Operation *op = nullptr;
  /// The ops that lead there from the constant, in order: the sum, clip or
  /// maximum.
  llvm::SmallVector<mlir::Operation *, 3> path;
};

/// The first division, root or logarithm that `use` guards as an epsilon does:
/// the constant is added to the divisor or argument, limits it from below, or
/// is it.
Guard findGuard(mlir::OpOperand &use);

} // namespace mpopt

#endif // MPOPT_HAZARDS_CONSTANTUSES_H
