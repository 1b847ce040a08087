//===- Masking.h - The numbers that mask scores -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_MASKING_H
#define MPOPT_NUMERICS_MASKING_H

#include "mpopt/Numerics/FloatFormat.h"

namespace mpopt {

/// A softmax drops elements whose score is this far below the others: ln of the
/// format's smallest normal number, -87.3 for FP32. Kernels flush e^x below it,
/// or it is lost beside the largest term, which is 1. Masks are chosen for
/// FP32, in which models are trained: Swin's is -100, BERT's -10000.
inline double maskedBelow(const FloatFormat &format = FloatFormat::f32()) {
  return std::log(format.minNormal);
}

/// The largest magnitude of a mask that leaves room for scores: with both up to
/// half of the largest value, their sum is finite.
inline double largestMask(const FloatFormat &format) {
  return format.maxFinite / 2;
}

} // namespace mpopt

#endif // MPOPT_NUMERICS_MASKING_H
