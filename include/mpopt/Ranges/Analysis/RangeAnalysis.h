//===- RangeAnalysis.h - The range of every tensor of a module --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One forward walk that asks each op's RangeOpInterface. An analysis of the
// module that rules share: `getAnalysis<RangeAnalysis>()`.
//
// The assumption about an input is the argument attribute `mp.assume`:
//   {lo = -10.0 : f64, hi = 10.0 : f64, mean = 0.0 : f64, std = 1.0 : f64,
//    source = "option"}
// and, where the bounds differ from element to element, `lo_elements` and
// `hi_elements`, two dense f64 tensors whose shape broadcasts to the input's
// (`mean` and `std` are then left out unless they are declared).
// `samples` (InputRanges.h) has values of the input, on which the ops behind it
// are evaluated. Targets may have `zipf` and `frequencies` (Settings.h),
// too. Without it, floats lie in [-10, 10] (mean 0, standard deviation 1),
// integers in the index range of the tensor that they index, or in their type.
// The module's `mp.target` names the target profile.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_ANALYSIS_RANGEANALYSIS_H
#define MPOPT_RANGES_ANALYSIS_RANGEANALYSIS_H

#include "mpopt/Ranges/Spread/Spread.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mlir/Pass/AnalysisManager.h"

#include <memory>

namespace mpopt {

class TargetProfile;
class TransferContext;

/// Bounds and estimates of all values of a module.
class RangeAnalysis {
public:
  explicit RangeAnalysis(mlir::Operation *module);
  /// The same, unless `reuseRanges` (ChangedModule.h) marked the module as a
  /// changed copy. Then only the ops that the changes reach are computed, as
  /// far as values differ from the original's by more than roundings.
  RangeAnalysis(mlir::Operation *module, mlir::AnalysisManager &manager);
  /// A variation: the ranges if `argument`, of a function, were `value`
  /// instead. Only the ops that the argument reaches are computed again, the
  /// rest is read from `base`, which must outlive this.
  RangeAnalysis(const RangeAnalysis &base, mlir::BlockArgument argument,
                AbstractValue value);
  ~RangeAnalysis();
  RangeAnalysis(RangeAnalysis &&);

  /// The value as its users read it: rounded to its dtype.
  const AbstractValue &of(mlir::Value value) const;
  /// The value before it was rounded. Its cells contain every finite value that
  /// the op can compute, those that overflow the dtype included (but ends of
  /// FP32 tensors, where they are normal numbers, are rounded); its flags are
  /// those of a dtype without a largest value.
  const AbstractValue &preRounding(mlir::Value value) const;
  /// How the elements of a value of the forward part vary together.
  const Spread &spread(mlir::Value value) const;
  /// Gives the memory of what `of` returned back if it is much, to be made
  /// again when somebody asks; no reference to it may be in use.
  void limitRounded() const;
  /// Those of `preRounding(value)`, which many ask for: they are found once.
  const Magnitudes &magnitudes(mlir::Value value) const;

  /// The ops of the functions' bodies that a variation or changed copy
  /// computed, in program order; for a variation, `isVaried` is true if one of
  /// them defines the value, or contains the op that does.
  llvm::ArrayRef<mlir::Operation *> varied() const;
  bool isVaried(mlir::Value value) const;

  /// Ops at which ranges become unknown, in program order: a float result is
  /// unknown although the operands are not, or the op has no transfer function.
  llvm::ArrayRef<mlir::Operation *> unknown() const;
  const TargetProfile &target() const;
  /// Weights, shapes and settings, for an analysis that goes on from here with
  /// range transfer functions of its own.
  TransferContext &context() const;

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  class Driver;
  std::unique_ptr<Driver> driver;
};

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_RANGEANALYSIS_H
