//===- OutputGradients.h - How outputs follow every tensor ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With s independent numbers of mean 0 and mean square 1, one for each element
// of an output y, the gradient of s y has the expected square sum_i (dy_i /
// dx)^2: what an error of x adds to the squared errors of all elements.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_OUTPUTGRADIENTS_H
#define MPOPT_LIB_EFFECTS_OUTPUTGRADIENTS_H

#include "mpopt/Gradients/GradientAnalysis.h"
#include "mpopt/Ranges/Analysis/ChangedModule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

#include <vector>

namespace mpopt {

class ErrorMoments;

class OutputGradients {
public:
  /// The gradients of values in the main function's body that `module` returns.
  /// Functions have the slopes by which `errors`, those in front of them, pass.
  OutputGradients(mlir::ModuleOp module, const RangeAnalysis &ranges,
                  const ErrorMoments &errors,
                  llvm::ArrayRef<mlir::Value> outputs);
  OutputGradients(const OutputGradients &) = delete;
  OutputGradients &operator=(const OutputGradients &) = delete;

  /// The gradient of a projection of an output with respect to a value of the
  /// module; null where none arrives. It is a value of a copy.
  mlir::Value gradient(size_t output, mlir::Value value) const;
  /// The result of the function that the op is a part of, if it is
  /// differentiated as one; null for other ops.
  mlir::Value composite(mlir::Operation *op) const { return parts.lookup(op); }
  /// True if an op on the way of an output has no gradient that is known.
  bool lacks(size_t output) const { return projections[output].lacks; }
  /// That op, one of the module; null where it is none.
  mlir::Operation *lacking(size_t output) const {
    return projections[output].lacking;
  }
  /// The op of the module at whose gradient the estimates end on the way to
  /// that one; or the value of the module that it reads, of which nothing is
  /// estimated. Null where neither is found.
  std::pair<mlir::Operation *, mlir::Value>
  findUnestimated(mlir::Value gradient) const;
  const GradientAnalysis &analysis() const { return *gradients; }
  /// A value of the module as estimates of gradients take it to be.
  const AbstractValue &estimate(mlir::Value value) const {
    return gradients->of(mapping.lookupOrNull(value));
  }

private:
  struct Projection {
    llvm::DenseMap<mlir::Value, mlir::Value> gradients;
    bool lacks = false;
    mlir::Operation *lacking = nullptr;
  };

  void replace(mlir::Value result, mlir::Value stands);
  void inlineBranches(const RangeAnalysis &ranges);
  void fuseComposites(const RangeAnalysis &ranges);
  void passSteps();
  /// Has gradients go through products of codes as through those of numbers.
  void passIntegerProducts();
  /// Has no gradient go through stabilizers, in which all that goes cancels.
  /// Gives the values that stand for them where they are read.
  llvm::DenseSet<mlir::Value> cutStabilizers();
  void append(mlir::Value output, llvm::ArrayRef<mlir::Value> wanted);
  /// Has gradients of weights tell the channels apart that have scales of their
  /// own, to which their errors are proportional.
  void keepScalesApart();
  void findChanges(mlir::Operation *last);
  /// The op of the module from which the origin is; null if there is none.
  mlir::Operation *findOriginal(mlir::Location origin) const;

  mlir::ModuleOp module;
  mlir::IRMapping mapping;
  mlir::OwningOpRef<mlir::ModuleOp> copy;
  ChangedModule change;
  /// For ops of the module that are parts of a function its result, and for
  /// results of such functions the value of the copy that stands for it.
  llvm::DenseMap<mlir::Operation *, mlir::Value> parts;
  llvm::DenseMap<mlir::Value, mlir::Value> fused;
  std::vector<Projection> projections;
  std::unique_ptr<mlir::ModuleAnalysisManager> manager;
  const GradientAnalysis *gradients = nullptr;
};

/// The main function's op at its end, or null if there is no function.
mlir::Operation *findReturn(mlir::ModuleOp module);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_OUTPUTGRADIENTS_H
