//===- Scaling.h - Powers of two against an edge ---------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FIX_SCALING_H
#define MPOPT_FIX_SCALING_H

#include "mpopt/Hazards/OverflowSites.h"

namespace mpopt {

/// "scale its operand by a power of two", if the op passes one on. `exponent`
/// is the result's; below 0.
void fixOverflowByScaling(FindingBuilder &finding, const OverflowSite &site,
                          const RangeAnalysis &ranges, int exponent);

/// So that what is expected of `value` comes to lie around 1, or as far as a
/// factor of the dtype goes. `keeps`: whether a value that is made of it does
/// not flush.
void fixFlushByScaling(FindingBuilder &finding, mlir::Value value,
                       const RangeAnalysis &ranges,
                       llvm::function_ref<bool(mlir::Value)> keeps);

/// The same of a constant that does not fit `type`.
void fixConstantByScaling(FindingBuilder &finding, mlir::Operation *constant,
                          mlir::Type type, int exponent,
                          const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_FIX_SCALING_H
