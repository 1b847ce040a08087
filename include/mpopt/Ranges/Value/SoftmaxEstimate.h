//===- SoftmaxEstimate.h - Expected values of softmax rows ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ln sum_j e^x_j of n random logits. With a small spread the mean of e^x
// decides, ln n + v / 2 above the mean; once the deviation exceeds
// sqrt(2 ln n) the largest of the row does (Derrida's random energy model).
// What is masked takes no part: logits far below the largest group's are left
// out before the others are put together.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_SOFTMAXESTIMATE_H
#define MPOPT_RANGES_VALUE_SOFTMAXESTIMATE_H

#include "mpopt/Ranges/Value/AbstractValue.h"

namespace mpopt {

struct SoftmaxRow {
  /// Of the row's exponentials, as expected.
  double logSum = 0;
  /// Elements that are not masked.
  double live = 1;
};

/// One for each group of `rows`, which is `x` with the rows' axes merged.
/// `count` is the number of elements of a row.
std::vector<SoftmaxRow> estimateSoftmaxRows(const AbstractValue &x,
                                            const AbstractValue &rows,
                                            double count);

/// ln sum e^x of `count` draws of a normal value.
double expectedLogSumExp(double mean, double variance, double count);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_SOFTMAXESTIMATE_H
