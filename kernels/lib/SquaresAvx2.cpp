//===- SquaresAvx2.cpp - Sums of squares with AVX2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Squares.h"

#include "Avx2.h"

#include "SquaresBody.h"

static void widenHalf(const uint16_t *from, size_t count, float *to) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(
                                 reinterpret_cast<const __m128i *>(from + i))));
  for (; i < count; ++i)
    to[i] = _cvtsh_ss(from[i]);
}

mpopt::kernels::SquareKernels mpopt::kernels::avx2Squares() {
  return {sumSquares, addRows, widenHalf};
}

MPOPT_AVX2_END
