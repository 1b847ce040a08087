//===- Interpolation.h - Places between two neighbours ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PROPAGATE_INTERPOLATION_H
#define MPOPT_PROPAGATE_INTERPOLATION_H

#include "mlir/IR/Operation.h"

namespace mpopt {

/// True if the op is the floor of a coordinate that picks two neighbours of a
/// table, between which the coordinate's fraction interpolates. Next to a whole
/// number either pair gives the same, so that a floor that changes moves
/// nothing.
bool isFloorOfInterpolation(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_INTERPOLATION_H
