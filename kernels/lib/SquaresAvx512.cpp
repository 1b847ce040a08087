//===- SquaresAvx512.cpp - Sums of squares with AVX-512
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Squares.h"

#include "Avx512.h"

#include "SquaresBody.h"

static void widenHalf(const uint16_t *from, size_t count, float *to) {
  size_t i = 0;
  for (; i + 16 <= count; i += 16)
    _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256(
                                 reinterpret_cast<const __m256i *>(from + i))));
  for (; i < count; ++i)
    to[i] = _cvtsh_ss(from[i]);
}

mpopt::kernels::SquareKernels mpopt::kernels::avx512Squares() {
  return {sumSquares, addRows, widenHalf};
}

MPOPT_AVX512_END
