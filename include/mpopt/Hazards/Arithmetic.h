//===- Arithmetic.h - How much of a model's work an op does -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules about speed weigh their findings by the share of the arithmetic that
// they concern: a widened addition matters in a model of additions, and not
// beside matrix products.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_HAZARDS_ARITHMETIC_H
#define MPOPT_HAZARDS_ARITHMETIC_H

#include "mlir/IR/BuiltinOps.h"

namespace mpopt {

/// The arithmetic of one run of `op`: elements of its float results, each times
/// the products that it adds up. An unknown dim counts as 1; constants, casts
/// and ops with regions, whose bodies count by themselves, as 0.
double countArithmetic(mlir::Operation *op);

/// The arithmetic of all ops of the module. A body counts as if it ran once.
double countArithmetic(mlir::ModuleOp module);

/// The multiplications of a product or recurrent cell; 0 for other ops.
double countMultiplications(mlir::Operation *op);

} // namespace mpopt

#endif // MPOPT_HAZARDS_ARITHMETIC_H
