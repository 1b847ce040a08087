//===- SoftmaxEstimate.h - Expected values of softmax rows ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates ln sum_j e^x_j of n random logits. With a small variance v the mean
// of e^x decides, and the result is ln n + v / 2 above the mean; once the
// deviation exceeds sqrt(2 ln n) the largest logit of the row does (Derrida's
// random energy model). Masked logits take no part: those far below the largest
// group's are left out before the others are merged.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_SOFTMAXESTIMATE_H
#define MPOPT_RANGES_VALUE_SOFTMAXESTIMATE_H

#include "mpopt/Ranges/Value/AbstractValue.h"

namespace mpopt {

struct SoftmaxRow {
  /// The expected ln sum e^x of the row.
  double logSum = 0;
  /// The number of elements that are not masked.
  double live = 1;
};

/// The estimates, one for each group of `rows`, which is `x` with the rows'
/// axes merged. `count` is the number of elements of a row.
std::vector<SoftmaxRow> estimateSoftmaxRows(const AbstractValue &x,
                                            const AbstractValue &rows,
                                            double count);

/// True if the numbers lie at the ends of their range rather than around their
/// mean: on [lo, hi] a normal value has a far smaller variance, a uniform one a
/// third of that of a value that is always at an end.
bool isBimodal(const Cell &cell);

/// True if the logits have two modes far apart, kept and masked ones.
bool isPartlyMasked(const Cell &cell);

/// The expected ln sum e^x of `count` draws of a normal value.
double expectedLogSumExp(double mean, double variance, double count);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_SOFTMAXESTIMATE_H
