//===- Softmax.h - Ranges of softmax rows -----------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_OPS_ACTIVATION_SOFTMAX_H
#define MPOPT_LIB_RANGES_OPS_ACTIVATION_SOFTMAX_H

#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt::rows {

/// softmax of rows along `axes`, or its logarithm. `rowsHaveFinite`: no row is
/// -Inf throughout (which gives NaN).
AbstractValue softmaxOf(const MaybeShape &shape, const AbstractValue &x,
                        llvm::ArrayRef<int64_t> axes, bool logarithm,
                        bool rowsHaveFinite, const FloatFormat &functions,
                        const FloatFormat &sums);

/// Whether no row along `axis` can be -Inf throughout, by a constant mask that
/// lets something through everywhere.
bool someFiniteInEveryRow(mlir::Value value, TransferContext &ctx,
                          int64_t axis);

/// Whether every row (along the last axis) of a constant has an element of at
/// least `threshold`.
bool constantRowsReach(const WeightView &mask, double threshold);

} // namespace mpopt::rows

#endif // MPOPT_LIB_RANGES_OPS_ACTIVATION_SOFTMAX_H
