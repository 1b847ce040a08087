//===- BlockAvx2Wide.cpp - One block of FP64 elements, four at a time
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extremes and sums by vectors, exponent fields one by one into two tables. The
// edges of the narrow formats are looked for only in blocks that have a value
// beyond the smallest of them or an exact power of two, which FP64 data seldom
// has.
//
//===----------------------------------------------------------------------===//

#include "Partial.h"

#include "Avx2.h"

#include "OneByOne.h"

using namespace mpopt::kernels;

static double least(__m256d lanes, double than) {
  alignas(32) double lane[4];
  _mm256_store_pd(lane, lanes);
  for (double one : lane)
    than = one < than ? one : than;
  return than;
}

/// Sum of lanes that count down from zero.
static uint64_t countLanes(__m256i lanes) {
  alignas(32) int64_t lane[4];
  _mm256_store_si256(reinterpret_cast<__m256i *>(lane), lanes);
  return uint64_t(-(lane[0] + lane[1] + lane[2] + lane[3]));
}

static bool anyLane(__m256i lanes) { return !_mm256_testz_si256(lanes, lanes); }

/// A block with Inf or NaN, and what does not fill a vector.
static void countOneByOne(const void *data, size_t from, size_t count,
                          double *sums, double *squares, Partial &partial) {
  countElements<DecodeF64>(data, from, count, partial,
                           [&](size_t i, double value) {
                             sums[i % kLanes] += value;
                             squares[i % kLanes] += value * value;
                           });
}

static void countFields(const void *data, size_t count, bool edges,
                        Partial &partial) {
  for (size_t i = 0; i < count; i += 2) {
    ++partial.wideFields[0][wordAt<uint64_t>(data, i) << 1 >> 53];
    ++partial.wideFields[1][wordAt<uint64_t>(data, i + 1) << 1 >> 53];
  }
  partial.unfolded += count;
  for (size_t i = 0; edges && i < count; ++i)
    partial.countEdges(wordAt<uint64_t>(data, i) << 1 >> 1);
}

void mpopt::kernels::avx2WideBlock(const void *data, size_t count,
                                   Partial &partial) {
  const __m256i absMask = _mm256_set1_epi64x(0x7FFFFFFFFFFFFFFF);
  const __m256i finite = _mm256_set1_epi64x(int64_t(kInf64) - 1);
  const __m256i zero = _mm256_setzero_si256();
  const __m256d infinity = _mm256_set1_pd(__builtin_inf());
  const __m256i fraction = _mm256_set1_epi64x(0xFFFFFFFFFFFFF);
  size_t whole = count / kLanes * kLanes;
  alignas(32) double sums[kLanes] = {}, squares[kLanes] = {};

  __m256d sum[4], square[4];
  for (int v = 0; v < 4; ++v)
    sum[v] = square[v] = _mm256_setzero_pd();
  __m256d min = infinity, negMax = infinity, nonzero = infinity;
  __m256i special = zero, zeros = zero, powers = zero;
  for (size_t at = 0; at < whole; at += kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(
          static_cast<const char *>(data) + 8 * (at + 4 * v)));
      __m256i magnitude = _mm256_and_si256(bits, absMask);
      __m256i isZero = _mm256_cmpeq_epi64(magnitude, zero);
      __m256i isPower =
          _mm256_cmpeq_epi64(_mm256_and_si256(bits, fraction), zero);
      special = _mm256_or_si256(special, _mm256_cmpgt_epi64(magnitude, finite));
      zeros = _mm256_add_epi64(zeros, isZero);
      powers = _mm256_or_si256(powers, _mm256_andnot_si256(isZero, isPower));
      __m256d value = _mm256_castsi256_pd(bits);
      __m256d positive = _mm256_castsi256_pd(magnitude);
      __m256d negative = _mm256_sub_pd(_mm256_setzero_pd(), value);
      min = _mm256_min_pd(min, value);
      negMax = _mm256_min_pd(negMax, negative);
      nonzero =
          _mm256_min_pd(nonzero, _mm256_blendv_pd(positive, infinity,
                                                  _mm256_castsi256_pd(isZero)));
      sum[v] = _mm256_add_pd(sum[v], value);
      square[v] = _mm256_add_pd(square[v], _mm256_mul_pd(value, value));
    }
  }
  if (anyLane(special)) {
    countOneByOne(data, 0, count, sums, squares, partial);
  } else {
    for (int v = 0; v < 4; ++v) {
      _mm256_store_pd(sums + 4 * v, sum[v]);
      _mm256_store_pd(squares + 4 * v, square[v]);
    }
    double low = least(min, __builtin_inf());
    double high = -least(negMax, __builtin_inf());
    partial.widen(low, high);
    partial.widenNonzero(least(nonzero, __builtin_inf()));
    partial.zero += countLanes(zeros);
    // They are among the elements of field 0.
    partial.histogram[0] -= countLanes(zeros);
    // 448 is the smallest of the formats' largest values.
    bool edges = anyLane(powers) || low < -448 || high > 448;
    countFields(data, whole, edges, partial);
    countOneByOne(data, whole, count, sums, squares, partial);
  }
  mpopt_exact_sum_add(&partial.sum, foldLanes(sums));
  mpopt_exact_sum_add(&partial.sumSquares, foldLanes(squares));
}

MPOPT_AVX2_END
