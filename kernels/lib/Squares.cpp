//===- Squares.cpp - Sums of squares, by the best instructions
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Squares.h"
#include "Partial.h"
#include "mpopt/Kernels/Statistics.h"

#include "SquaresBody.h"

using namespace mpopt::kernels;

static const SquareKernels &squareKernels() {
  static const SquareKernels kernels = [] {
#if defined(__x86_64__)
    if (chosenIsa() == Isa::Avx512)
      return avx512Squares();
    if (chosenIsa() == Isa::Avx2)
      return avx2Squares();
#endif
    return SquareKernels{sumSquares, addRows};
  }();
  return kernels;
}

double mpopt_sum_squares(const float *x, uint64_t count) {
  return squareKernels().sum(x, count);
}

void mpopt_channel_squares(const float *x, uint64_t outer, uint64_t channels,
                           uint64_t inner, double *sums) {
  const SquareKernels &kernels = squareKernels();
  if (inner == 1)
    return kernels.addRows(x, outer, channels, sums);
  for (uint64_t i = 0; i < outer; ++i)
    for (uint64_t channel = 0; channel < channels; ++channel, x += inner)
      sums[channel] += kernels.sum(x, inner);
}
