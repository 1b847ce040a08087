//===- Scaling.h - Powers of two against an edge ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPAIR_SCALING_H
#define MPOPT_REPAIR_SCALING_H

#include "mpopt/Hazards/OverflowSites.h"

namespace mpopt {

/// Adds a fix that scales an operand by a power of two, if the op passes a
/// factor on. The result is scaled by 2^`exponent`, which is below 1.
void fixOverflowByScaling(FindingBuilder &finding, const OverflowSite &site,
                          const RangeAnalysis &ranges, int exponent);

/// Adds the fixes that compute the same in another order: a mean for a sum that
/// is divided, lengths one by one for a product of lengths.
void fixOverflowByOrder(FindingBuilder &finding, const OverflowSite &site);

/// Adds a fix that scales `value` so that its likely magnitude is about 1, or
/// as near as a factor of the dtype allows. `keeps`: whether a value computed
/// from it does not flush.
void fixFlushByScaling(FindingBuilder &finding, mlir::Value value,
                       const RangeAnalysis &ranges,
                       llvm::function_ref<bool(mlir::Value)> keeps);

/// Adds a fix that scales a constant that does not fit `type` by 2^`exponent`.
void fixConstantByScaling(FindingBuilder &finding, mlir::Operation *constant,
                          mlir::Type type, int exponent,
                          const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_REPAIR_SCALING_H
