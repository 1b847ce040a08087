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

#include <memory>
#include <optional>
#include <vector>

namespace mpopt {

class GradientMoments;

/// An error that the maker of a value adds: its mean square, and the source of
/// errors that it counts for.
struct AddedError {
  double square = 0;
  unsigned source = 0;
};
using AddedErrors = llvm::DenseMap<mlir::Value, AddedError>;

class GradientErrors {
public:
  /// `module` holds its backward graph. `exponent`: gradients are stored times
  /// this power of two, the loss scale.
  GradientErrors(mlir::ModuleOp module, mlir::AnalysisManager analyses,
                 int exponent);
  ~GradientErrors();

  /// Walks the step, with errors that are added to what it makes. Those of
  /// `sources` are told apart.
  void walk(const AddedErrors &added, unsigned sources = 0);

  /// The root mean square of the errors of a tensor's elements, of that of the
  /// elements. Nothing where it is not known, or where all elements are 0.
  std::optional<double> of(mlir::Value value) const;
  /// The same by what each source adds; empty if none does.
  std::vector<double> bySource(mlir::Value value) const;

private:
  mlir::ModuleOp module;
  std::unique_ptr<GradientMoments> moments;
};

} // namespace mpopt

#endif // MPOPT_EFFECTS_GRADIENTERRORS_H
