//===- Sums.h - Sums of numbers that vary together --------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_SUMS_H
#define MPOPT_LIB_GRADIENTS_SUMS_H

#include "mpopt/Gradients/SpreadContext.h"

namespace mpopt {

/// Gives result `index` as the sum of `value` along `axes` times `factor`; the
/// result has those axes, of size 1, if `keepDims`.
void giveSum(SpreadContext &ctx, unsigned index, mlir::Value value,
             llvm::ArrayRef<int64_t> axes, bool keepDims, double factor = 1);
/// The same of elements that `value` is given for, whose spread is `spread`.
void giveSum(SpreadContext &ctx, unsigned index, mlir::Value of,
             const AbstractValue &value, const Spread &spread,
             llvm::ArrayRef<int64_t> axes, bool keepDims, double factor = 1);

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
