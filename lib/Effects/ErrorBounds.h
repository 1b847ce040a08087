//===- ErrorBounds.h - What errors cannot exceed ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of each tensor a sound bound of |x_P - x|, x_P as the precision that is
// judged stores it and x as the same model in FP32 does, for all inputs within
// their bounds. docs/effect.md has the rules. The range of x is that of x_P,
// widened by the error.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_ERRORBOUNDS_H
#define MPOPT_LIB_EFFECTS_ERRORBOUNDS_H

#include "Storage.h"

#include "mpopt/Numerics/ComputeError.h"
#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace mpopt {

class ErrorBounds {
public:
  ErrorBounds(mlir::ModuleOp module, const RangeAnalysis &ranges);

  /// The bound over all elements of a float value of the main function's body.
  /// Nothing if there is none, or none that is of use: past the largest
  /// magnitude that is expected of the value.
  std::optional<double> of(mlir::Value value) const;
  /// A bound of the largest error of the largest |x| over one evaluation.
  /// Nothing if all of x may be 0.
  std::optional<double> relative(mlir::Value value) const;

private:
  /// Roundings of a kernel beside those that are counted.
  static constexpr double kExtra = 16;
  /// Covers squares of roundings, and the roundings of formulas.
  static constexpr double kSlack = 1.02;

  /// One element of an operand: what it may be as stored, and its error.
  struct Element {
    Interval stored;
    double error;

    /// What FP32 has instead.
    Interval exact() const { return stored.widened(0, error); }
    /// The largest magnitude of either.
    double most() const { return exact().maxAbs(); }
  };
  using Error = std::optional<AbstractValue>;
  /// The error of a result's element by those of operands.
  using Formula = llvm::function_ref<double(llvm::ArrayRef<Element>)>;

  void visit(mlir::Operation *op);
  /// The error of the op's result before it is stored, if errors of all
  /// operands are known.
  Error carry(mlir::Operation *op);
  /// Adds what both computations round of a result or an input, and keeps the
  /// error if it says something.
  void settle(mlir::Value result, AbstractValue error, bool isInput);
  /// True if results of other dtypes are the same in both, as the operands are.
  bool isSame(mlir::Operation *op) const;

  // ErrorTransfers.cpp
  Error carryElementwise(mlir::Operation *op);
  Error carryFunction(mlir::Operation *op);
  Error carryCopies(mlir::Operation *op);
  // ErrorSums.cpp
  Error carryProducts(mlir::Operation *op);
  Error carrySum(mlir::Operation *op);
  Error carrySoftmax(mlir::Operation *op);
  Error carryBatchNorm(mlir::Operation *op);

  /// Unit roundoffs of both computations, P's in `format`, added.
  static double unitsOf(const FloatFormat &format);
  /// The largest error of any operand, for all elements of the result.
  AbstractValue largestOf(mlir::Operation *op) const;
  Error map(mlir::ValueRange operands, Formula formula) const;
  /// The op's result for other operands, null for those that stay: of ops that
  /// are linear in these, or copy them.
  Error image(mlir::Operation *op,
              llvm::ArrayRef<const AbstractValue *> operands);
  /// Errors of a value's elements grown by `share` of their magnitudes.
  AbstractValue withShare(mlir::Value value, double share) const;

  const RangeAnalysis &ranges;
  TransferContext &context;
  mutable Storage storage;
  /// Errors as symmetric bounds.
  llvm::DenseMap<mlir::Value, AbstractValue> errors;
  /// Values of other dtypes that are the same in both.
  llvm::DenseSet<mlir::Value> same;
  /// Where ops are copied to whose operands are replaced.
  mlir::OwningOpRef<mlir::ModuleOp> scratch;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_ERRORBOUNDS_H
