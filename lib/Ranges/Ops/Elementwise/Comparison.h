//===- Comparison.h - Which op compares how ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_OPS_ELEMENTWISE_COMPARISON_H
#define MPOPT_LIB_RANGES_OPS_ELEMENTWISE_COMPARISON_H

#include "mpopt/Numerics/Binary.h"
#include "mpopt/Numerics/Likely.h"

#include "mlir/IR/Operation.h"

namespace mpopt {

/// Nothing if `op` is no comparison.
std::optional<range::Comparison> getComparison(mlir::Operation *op);

/// 1 with this probability.
Likely chance(double probability);

} // namespace mpopt

#endif // MPOPT_LIB_RANGES_OPS_ELEMENTWISE_COMPARISON_H
