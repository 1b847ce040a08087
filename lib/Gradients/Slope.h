//===- Slope.h - Gradients through functions of one number ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_GRADIENTS_SLOPE_H
#define MPOPT_LIB_GRADIENTS_SLOPE_H

#include "mpopt/Gradients/BackwardSpreadContext.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

/// Gives result 0 as the gradient `grad` times the slope at `x`, a forward
/// value of the same shape, which is as independent of the gradient as it is of
/// later layers. `peaked`: the slope is bounded, and near 0 but for some
/// arguments, which may be rare.
void giveSlope(BackwardSpreadContext &ctx, mlir::Value grad, mlir::Value x,
               llvm::function_ref<double(double)> slope, bool peaked = false);

/// Gives result 0, of a forward op, the spread of a function of one number at
/// every element of `x`.
void giveFunctionSpread(SpreadContext &ctx, mlir::Value x,
                        llvm::function_ref<double(double)> function);

/// The same as `momentsOf` of a function that is next to 0 beyond 16 on either
/// side, also where few of the numbers are within.
Moments momentsOfPeak(double mean, double variance,
                      llvm::function_ref<double(double)> function);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_SLOPE_H
