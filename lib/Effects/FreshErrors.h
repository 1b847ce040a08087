//===- FreshErrors.h - Errors that nothing has filtered yet -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors are taken to travel as signals do: where the trained statistics of a
// norm are of other variances than independence gives, so are the squares of
// errors that come from before (AbstractValue::understated), and gradients
// through the norm say so. Roundings of what the norm reads itself, or of what
// the filter in front of it reads, have nothing in common yet, channel by
// channel and place by place. docs/effect.md, "Errors travel as signals do".
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_FRESHERRORS_H
#define MPOPT_LIB_EFFECTS_FRESHERRORS_H

#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mlir/IR/Value.h"

namespace mpopt {

class RangeAnalysis;

/// The error of storing `value`, divided by what its gradient counts too much
/// if it is fresh in the next norm; else as it is.
AbstractValue asFresh(mlir::Value value, AbstractValue error,
                      const RangeAnalysis &ranges);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_FRESHERRORS_H
