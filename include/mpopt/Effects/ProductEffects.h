//===- ProductEffects.h - What scaling operands does ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each product of a model whose operands alone are stored in a narrow format:
// its signal and noise, what it does to outputs, and which products to leave
// out so that no output's error is larger than what is aimed at.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EFFECTS_PRODUCTEFFECTS_H
#define MPOPT_EFFECTS_PRODUCTEFFECTS_H

#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Propagate/OperandErrors.h"
#include "mpopt/Report/ProductReport.h"

namespace mpopt {

/// The products whose operands have scales, in program order.
std::vector<mlir::Operation *> findScaledProducts(mlir::ModuleOp module);

/// The largest error of an output: by root mean squares for floats, else of the
/// largest magnitude. Infinite if one becomes Inf or NaN; NaN if one is not
/// known.
double worstError(mlir::ModuleOp module, const OutputEffects &effects);

/// The mean square of the sum of products, without alpha and bias.
double signalOf(mlir::Operation *op, const ProductOperands &product,
                const RangeAnalysis &ranges);
/// The share of a filter's taps that meet elements of the input, not padding.
double shareOfTaps(mlir::Operation *op);

/// The mean square of the error of a sum of so many products: of independent
/// errors `terms` of e_a b + a e_b + e_a e_b, by the index that products are
/// added over where both operands tell it apart.
double noiseOf(double terms, const OperandError &lhs, const OperandError &rhs);

/// By how much estimates of root mean squares are off at times: lists of what
/// to keep aim so much lower. A largest error depends on few elements, a root
/// mean square on all. Chosen on the lists of one set of 72 networks,
/// docs/fp8.md: with a second set 83 % of the lists are long enough.
inline constexpr double kUncertainRms = 1.3;

/// The items without which no sum of squares is larger than `most`, the one
/// that takes the largest part of the excess first; nothing if no items are
/// enough. `square`: the part of an item in a sum.
std::optional<std::vector<size_t>>
findKept(std::vector<double> sums, size_t items, double most,
         llvm::function_ref<double(size_t item, size_t sum)> square);

/// `aim`: the error of an output that is aimed at.
ScalingReport describeProducts(mlir::ModuleOp module,
                               mlir::AnalysisManager analyses,
                               const OutputEffects &effects, double aim);

} // namespace mpopt

#endif // MPOPT_EFFECTS_PRODUCTEFFECTS_H
