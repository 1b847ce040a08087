//===- Sums.h - Sums of numbers that vary together --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_GRADIENTS_SUMS_H
#define MPOPT_LIB_GRADIENTS_SUMS_H

#include "mpopt/Gradients/BackwardSpreadContext.h"

namespace mpopt {

/// Terms of which fewer are added up are as far from normal as one of them.
inline constexpr double kFewTerms = 4;

/// Gives result `index` as the sum of `value` along `axes` times `factor`; the
/// result has those axes, of size 1, if `keepDims`.
void giveSum(SpreadContext &ctx, unsigned index, mlir::Value value,
             llvm::ArrayRef<int64_t> axes, bool keepDims, double factor = 1);
/// The same of elements that `value` is given for, whose spread is `spread`.
void giveSum(SpreadContext &ctx, unsigned index, mlir::Value of,
             const AbstractValue &value, const Spread &spread,
             llvm::ArrayRef<int64_t> axes, bool keepDims, double factor = 1);

/// The squared correlation of an element of a gradient with one of the forward
/// values that predictions are made of: one of so many `channels` in a `window`
/// of positions.
double responseTo(const Spread &grad, double channels, double window);
/// The same of the forward value that the gradient belongs to, at its place.
double responseToItself(SpreadContext &ctx, mlir::Value grad);

/// An average of `count` positions whose weights add up to 1: what the
/// positions share is left as it is, their own is added up as the squares of
/// weights. `common` of the result is that with an average with other weights.
Moments averageOf(const Moments &weight, const Moments &term, double count);

/// A factor of a contraction, whose axes have labels; labels of one operand are
/// distinct.
struct Factor {
  mlir::Value of;
  AbstractValue value;
  Spread spread;
  llvm::SmallVector<int, 6> labels;
};
Factor makeFactor(SpreadContext &ctx, mlir::Value value,
                  llvm::ArrayRef<int> labels);

/// Gives result `index` as the sum of a b over the labels that `result` lacks,
/// times `factor`. Both vary from sample to sample; known weights are the
/// business of the range transfer functions.
void giveContraction(SpreadContext &ctx, unsigned index, Factor a, Factor b,
                     llvm::ArrayRef<int> result, double factor = 1);

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_SUMS_H
