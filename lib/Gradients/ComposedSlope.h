//===- ComposedSlope.h - Slopes of one number that follow -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Behind log(|x| + epsilon) a gradient is divided by |x| + epsilon, and behind
// the root of a clipped number by a root that is next to 0 only where the clip
// lets nothing pass. The slopes of functions that follow each other depend on
// each other: the mean square of their product is not the product of their mean
// squares. Where one gradient comes by several of them, as by e^x - x, slopes
// add up that may be opposite.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_COMPOSEDSLOPE_H
#define MPOPT_LIB_GRADIENTS_COMPOSEDSLOPE_H

#include "mpopt/Gradients/BackwardSpreadContext.h"

namespace mpopt {

/// Gives the result of an op that multiplies a gradient or adds two up, by what
/// is behind the functions of one number that the gradient passed before. False
/// if there are none.
bool giveComposedSlope(mlir::Operation *op, BackwardSpreadContext &ctx);

/// True if the op multiplies or copies a gradient: the slopes of ops behind it
/// may be composed with its own.
bool passesSlope(mlir::Operation *op, BackwardSpreadContext &ctx);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_COMPOSEDSLOPE_H
