//===- Strategy.h - How one kind of policy treats one op --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_TRANSFORMS_PRECISION_STRATEGY_H
#define MPOPT_PASSES_TRANSFORMS_PRECISION_STRATEGY_H

#include "mpopt/Dialect/Casts.h"
#include "mpopt/Numerics/ConstantLimits.h"
#include "passes/transforms/precision/Categories.h"

#include <memory>

namespace mpopt {

/// Decides dtypes op by op; the rewriter calls it in program order, so that the
/// operands' types are final when an op's turn comes.
class PrecisionStrategy {
public:
  PrecisionStrategy(const Categories &categories, mlir::FloatType lowType)
      : categories(categories), lowType(lowType) {}
  virtual ~PrecisionStrategy() = default;

  /// Sets the type of an argument of a function, or of a body; types of a
  /// body's arguments that follow from operands are set besides.
  virtual void convertArgument(mlir::BlockArgument argument) {}

  /// Casts the operands of an op or terminator as wanted.
  virtual void rewriteOperands(mlir::Operation *op) = 0;

  /// Changes what an op says of its result itself (a cast's target, a
  /// generator's dtype), before its types are inferred.
  virtual void prepareResults(mlir::Operation *op) {}

  /// Casts results if inference gave another type than wanted.
  virtual void finishResults(mlir::Operation *op) {}

  /// True if values that meet (a branch's results, what a loop carries) may
  /// change their type and are then promoted, rather than keep the type that
  /// `convertArgument` gives.
  virtual bool promotesAtJoins() const { return false; }

  CastInserter &getCasts() { return casts; }

protected:
  const Categories &categories;
  mlir::FloatType lowType;
  CastInserter casts;
};

/// PyTorch: each op by its category, the others by type promotion.
/// Not `everywhere`: only inside the regions that the model has itself.
std::unique_ptr<PrecisionStrategy> makeAutocast(const Categories &categories,
                                                mlir::FloatType lowType,
                                                bool everywhere = true);

/// Every float is stored in the low type. `all` takes 64-bit floats too;
/// otherwise only f32 changes, as with converters of files, and ops of the
/// category `block` compute in f32 between casts. Constants are written within
/// `limits`.
std::unique_ptr<PrecisionStrategy>
makeStorageConversion(const Categories &categories, mlir::FloatType lowType,
                      bool all, const ConstantLimits &limits = {});

/// TensorFlow: categories spread along the graph.
std::unique_ptr<PrecisionStrategy>
makeGraphColoring(mlir::ModuleOp module, const Categories &categories,
                  mlir::FloatType lowType);

/// Has products read their operands as codes with scales.
void scaleOperands(mlir::ModuleOp module);

/// Applies a strategy to all ops and re-infers every type.
llvm::LogicalResult rewritePrecision(mlir::ModuleOp module,
                                     PrecisionStrategy &strategy);

} // namespace mpopt

#endif // MPOPT_PASSES_TRANSFORMS_PRECISION_STRATEGY_H
