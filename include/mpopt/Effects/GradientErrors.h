//===- GradientErrors.h - How far roundings move gradients ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expected relative error of gradients in the precision of a training step,
// against the same step in FP32. One walk forward over the module, the backward
// graph included, carries the mean squared error of every tensor: gradients
// have no adjoint of their own that could say which rounding matters.
// docs/effect.md derives it. Estimates, no bounds.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EFFECTS_GRADIENTERRORS_H
#define MPOPT_EFFECTS_GRADIENTERRORS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Value.h"
#include "mlir/Pass/AnalysisManager.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mpopt {

/// Mean squares of errors that what makes a value adds to it.
using AddedErrors = llvm::DenseMap<mlir::Value, double>;

class GradientErrors {
public:
  /// `module` holds its backward graph. `exponent`: gradients are stored times
  /// this power of two, the loss scale. Unless it `stores`, errors are those
  /// that are added alone.
  GradientErrors(mlir::ModuleOp module, mlir::AnalysisManager analyses,
                 int exponent, const AddedErrors *added = nullptr,
                 bool stores = true);

  /// The root mean square of the errors of a tensor's elements, of that of the
  /// elements. Nothing where it is not known, or where all elements are 0.
  std::optional<double> of(mlir::Value value) const;

private:
  /// The square of the above.
  llvm::DenseMap<mlir::Value, double> relative;
};

} // namespace mpopt

#endif // MPOPT_EFFECTS_GRADIENTERRORS_H
