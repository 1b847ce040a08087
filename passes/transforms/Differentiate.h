//===- Differentiate.h - Append the backward graph of a result -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PASSES_TRANSFORMS_DIFFERENTIATE_H
#define MPOPT_PASSES_TRANSFORMS_DIFFERENTIATE_H

#include "mpopt/Adjoint/Differentiate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mpopt {

/// The values whose gradients are asked for.
enum class GradientsOf { Parameters, Inputs, All, Names };

/// The options of `mp-differentiate`.
struct GradientRequest {
  /// The value, or its name; without either the first float result.
  mlir::Value value;
  std::string of;
  GradientsOf wanted = GradientsOf::Parameters;
  std::vector<std::string> names; ///< Of GradientsOf::Names.
  /// `auto`, `ones` or `argument`.
  std::string seed = "auto";
  /// Sets `mp.backward` (Settings.h) on the ops, and gives each value of the
  /// function a gradient of its own name.
  bool marks = false;
};

/// Appends gradients to the function as `mp-differentiate` does. Returns the
/// names of those that were appended, without `grad( )`. `reads`, if given,
/// gets what they read of the forward pass. Failure is reported.
llvm::FailureOr<std::vector<std::string>>
appendGradients(mlir::func::FuncOp function, const GradientRequest &request,
                std::vector<OpReads> *reads = nullptr);

/// True for a float constant that some op may learn: with a name, and neither a
/// literal in the graph nor part of a loss.
bool isTrainable(mlir::Value value);

/// Sets `mp.backward` on the ops of a model that holds its gradients, and
/// `mp.holds_gradients` on the function. False, without a change, if it holds
/// none.
bool markOwnGradients(mlir::func::FuncOp function);

} // namespace mpopt

#endif // MPOPT_PASSES_TRANSFORMS_DIFFERENTIATE_H
