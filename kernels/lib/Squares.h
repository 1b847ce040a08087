//===- Squares.h - Sums of squares of FP32 numbers -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_SQUARES_H
#define MPOPT_KERNELS_LIB_SQUARES_H

#include "mpopt/Kernels/Statistics.h"

#include <cstddef>

namespace mpopt::kernels {

struct SquareKernels {
  /// The sum of squares. All kernels read FP32 numbers.
  double (*sum)(const float *x, size_t count);
  /// Adds the squares of `x`, [rows, channels], to the channels' `sums`.
  void (*addRows)(const float *x, size_t rows, size_t channels, double *sums);
  void (*widenHalf)(const uint16_t *from, size_t count, float *to);
};

/// Adds the squares of `count` elements of a float dtype, the first of which is
/// element `from` of the tensor.
void addSquares(const void *words, uint32_t dtype, uint64_t from, size_t count,
                const mpopt_squares &to);

/// Called only where the processor has the instructions.
SquareKernels avx2Squares();
SquareKernels avx512Squares();

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_SQUARES_H
