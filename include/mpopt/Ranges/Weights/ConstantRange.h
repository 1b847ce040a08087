//===- ConstantRange.h - What the values of a constant are ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_WEIGHTS_CONSTANTRANGE_H
#define MPOPT_RANGES_WEIGHTS_CONSTANTRANGE_H

#include "mpopt/Ranges/Value/TransferContext.h"

namespace mpopt {

/// The elements of a constant are distinguished up to this many.
inline constexpr int64_t kElementwiseConstant = 4096;

/// The format whose losses a summary counts on its way, and where they are
/// kept for the rules.
struct KeptLosses {
  const FloatFormat *format = nullptr;
  Memo *memo = nullptr;
};

/// Both tiers of the elements as they are read, in at most `limit` groups:
/// elements, else slices along one axis (the last one; the first one of
/// convolution weights, which have four axes or more), else the whole. Large
/// ones are read on several threads.
AbstractValue summarizeWeights(const WeightView &weights, size_t limit,
                               KeptLosses losses = {});

/// The least of the rows' (along the last axis) largest elements of a constant,
/// each times `sign`; -Inf where that takes too long.
double leastRowMaximum(const WeightView &weights, double sign = 1);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_CONSTANTRANGE_H
