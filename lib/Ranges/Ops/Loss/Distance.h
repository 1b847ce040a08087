//===- Distance.h - Distances between two tensors' rows ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_OPS_LOSS_DISTANCE_H
#define MPOPT_LIB_RANGES_OPS_LOSS_DISTANCE_H

#include "mpopt/Ranges/Value/Number.h"

namespace mpopt {

/// a . b / (|a| |b|): in [-1, 1] but for rounding, if nothing overflows.
Number cosineOf(mlir::Value first, mlir::Value second, int64_t axis,
                double epsilon, TransferContext &ctx);

/// |a - b + epsilon| by the norm of order `p` along the last axis.
Number distanceOf(mlir::Value first, mlir::Value second, double p,
                  double epsilon, TransferContext &ctx);

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_OPS_LOSS_DISTANCE_H
