//===- ConstantLayout.h - Constants that were cut and joined ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_WEIGHTS_CONSTANTLAYOUT_H
#define MPOPT_RANGES_WEIGHTS_CONSTANTLAYOUT_H

#include "mpopt/Ranges/Value/TransferContext.h"

#include <vector>

namespace mpopt {

/// The elements of a constant, or those for which its codes stand, in row-major
/// order, through casts, reshapes, swapped last axes, constant factors, and
/// cuts and joins along an axis: how recurrent weights change from one
/// framework's order of gates to another's. Nothing for other values, and where
/// there are more than `most` elements.
std::optional<std::vector<double>> readLaidOut(TransferContext &ctx,
                                               mlir::Value value, int64_t most);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_CONSTANTLAYOUT_H
