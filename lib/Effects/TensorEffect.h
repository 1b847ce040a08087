//===- TensorEffect.h - What one tensor's errors do -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An error of a tensor and the gradient of an output with respect to it, of
// which the output's error is the sum over all elements.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_TENSOREFFECT_H
#define MPOPT_LIB_EFFECTS_TENSOREFFECT_H

#include "mpopt/Gradients/BackwardSpreadContext.h"
#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mlir/IR/Value.h"

#include <optional>

namespace mpopt {

class RangeAnalysis;

/// The expected square of the sum of gradient times error over all elements.
double squareOf(mlir::Value value, AbstractValue gradient, const Spread &spread,
                double samples, AbstractValue error);

/// Errors of mean 0 and that mean square, the same for all elements.
AbstractValue errorOf(double square);

/// An error with what crosses the edges of steps added to each element's.
std::optional<AbstractValue> withSteps(std::optional<AbstractValue> error,
                                       double square);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_TENSOREFFECT_H
