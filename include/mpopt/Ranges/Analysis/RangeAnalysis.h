//===- RangeAnalysis.h - The range of every tensor of a module --*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One forward walk that asks each op's RangeOpInterface. An analysis of the
// module that rules share: `getAnalysis<RangeAnalysis>()`.
//
// What is assumed about an input is the argument attribute `mp.assume`:
//   {lo = -10.0 : f64, hi = 10.0 : f64, mean = 0.0 : f64, std = 1.0 : f64,
//    source = "option"}
// and, where the bounds differ from element to element, `lo_elements` and
// `hi_elements`, two dense f64 tensors whose shape broadcasts to the input's
// (`mean` and `std` are then left out unless they are declared).
// Without it, floats lie in [-10, 10] (mean 0, standard deviation 1), integers
// in what they index or in their type. The module's `mp.target` names the
// target profile, `mp.jobs` the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_ANALYSIS_RANGEANALYSIS_H
#define MPOPT_RANGES_ANALYSIS_RANGEANALYSIS_H

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "mlir/Pass/AnalysisManager.h"

#include <memory>

namespace mpopt {

class TargetProfile;

class RangeAnalysis {
public:
  explicit RangeAnalysis(mlir::Operation *module);
  /// The same, unless `reuseRanges` (ChangedModule.h) said that the module is a
  /// changed copy. Then only what the changes reach is computed, as far as it
  /// differs from what it was by more than roundings.
  RangeAnalysis(mlir::Operation *module, mlir::AnalysisManager &manager);
  /// The ranges if `argument`, of a function, were `value` instead. Only what
  /// the argument reaches is computed again, the rest is read from `base`,
  /// which must outlive this.
  RangeAnalysis(const RangeAnalysis &base, mlir::BlockArgument argument,
                AbstractValue value);
  ~RangeAnalysis();
  RangeAnalysis(RangeAnalysis &&);

  /// As stored: rounded to its dtype. What its users read.
  const AbstractValue &of(mlir::Value value) const;
  /// Before it was rounded. Its cells contain every finite value that the op
  /// can compute, past the edge of the dtype included; its flags are those of
  /// an infinitely wide dtype.
  const AbstractValue &preRounding(mlir::Value value) const;

  /// Of a variation or changed copy: the ops of the functions' bodies that it
  /// computed, in program order; of a variation whether a value is theirs, or
  /// inside one of them.
  llvm::ArrayRef<mlir::Operation *> varied() const;
  bool isVaried(mlir::Value value) const;

  /// Ops at which knowledge ends, in program order: nothing is known of a float
  /// result although something is of the operands, or there is no transfer
  /// function.
  llvm::ArrayRef<mlir::Operation *> unknown() const;
  const TargetProfile &target() const;

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved);

private:
  class Driver;
  std::unique_ptr<Driver> driver;
};

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_RANGEANALYSIS_H
