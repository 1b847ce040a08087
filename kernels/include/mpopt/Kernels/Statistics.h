//===- Statistics.h - Statistics of one tensor on the CPU ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C. One pass over a tensor in memory. The result does not depend on the
// number of threads or on the instruction set, sums included.
//
// Sums: the elements in logical (row-major) order are cut into blocks of 4096.
// In a block, element i is added to the double accumulator i mod 16, the
// sixteen are folded pairwise (l with l+8, l+4, l+2, l+1), and the block's sum
// goes into the record's exact accumulator. So a sum is off by at most 2^-44
// times the sum of the magnitudes; squares are formed in double. The 16-bit
// dtypes are summed in FP32 over 32 elements of a lane before that
// (lib/Sums.h): 2^-19. FP8 sums are exact.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_STATISTICS_H
#define MPOPT_KERNELS_STATISTICS_H

#include "mpopt/Kernels/Record.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A tensor in memory; any alignment.
typedef struct mpopt_tensor {
  const void *data;
  uint32_t dtype; // mpopt_dtype
  uint32_t rank;
  const int64_t *dims;
  const int64_t *strides; // in elements; null: contiguous, row-major
  int32_t channel_axis;   // ranges per index of this axis; -1: none
  uint32_t reserved;
} mpopt_tensor;

/// Runs task(data, i) for every i in [0, count) and returns when all are done.
typedef void (*mpopt_parallel_for)(void *pool, size_t count,
                                   void (*task)(void *data, size_t index),
                                   void *data);

/// Null fields: the library's own threads, as many as MPOPT_THREADS or the
/// processor has.
typedef struct mpopt_parallel {
  mpopt_parallel_for run;
  void *pool;
  uint32_t threads;
} mpopt_parallel;

/// Adds one call's tensor at `step` to `record` (mpopt_record_init first).
/// `channels` is null or has room for the extent of the channel axis, at first
/// filled with (+Inf, -Inf). False if the tensor is malformed (negative
/// extents, elements without data).
int mpopt_record_observe(mpopt_record *record, mpopt_channel_range *channels,
                         const mpopt_tensor *tensor, uint64_t step,
                         const mpopt_parallel *parallel);

/// Sum of the squares of FP32 numbers, within 2^-17 of it, however large or
/// small they are; NaN and Inf make NaN and Inf. Low bits depend on the
/// instruction set, here and in what follows.
double mpopt_sum_squares(const float *x, uint64_t count);

/// Where a pass over a tensor leaves sums of squares by channel. Element i, in
/// the order in which it is read (the logical one, that of memory without
/// strides), belongs to channel (i / inner) % channels.
typedef struct mpopt_squares {
  uint64_t inner, channels;
  double *sums;
} mpopt_squares;

/// Adds the squares of a tensor to `squares->sums`. False, and they are left
/// alone, if its elements are no floats or it is malformed.
int mpopt_add_squares(const mpopt_tensor *tensor, const mpopt_squares *squares,
                      const mpopt_parallel *parallel);

/// "avx512", "avx2" or "portable": what the processor has, or less if MPOPT_ISA
/// names it.
const char *mpopt_statistics_isa(void);

#ifdef __cplusplus
}
#endif

#endif // MPOPT_KERNELS_STATISTICS_H
