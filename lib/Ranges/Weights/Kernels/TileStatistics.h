//===- TileStatistics.h - Statistics of rows and columns --------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESTATISTICS_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESTATISTICS_H

#include "TileVectors.h"

namespace mpopt::kernels {

template <bool larger> MPOPT_INLINE void extend(double &to, double with) {
  to = (larger ? with > to : with < to) ? with : to;
}

/// `stats` has its four numbers `step` apart.
MPOPT_INLINE void extendStats(double *stats, size_t step, double value) {
  extend<false>(stats[0], value);
  extend<true>(stats[step], value);
  stats[2 * step] += value;
  stats[3 * step] += value * value;
}

template <typename T, unsigned Bytes>
MPOPT_INLINE void extremesOf(const T *values, size_t count, double *columns,
                             size_t stride, double *row) {
  constexpr size_t lanes = Bytes / sizeof(double);
  using V = Vector<T, lanes * sizeof(T)>;
  using D = Vector<double, Bytes>;
  D lows = D{} + row[0], highs = D{} + row[1], sums{}, squares{};
  size_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    D value = __builtin_convertvector(load<V>(values + at), D);
    D square = value * value;
    lows = value < lows ? value : lows;
    highs = value > highs ? value : highs;
    sums += value;
    squares += square;
    double *to = columns + at;
    D low = load<D>(to), high = load<D>(to + stride);
    low = value < low ? value : low;
    high = value > high ? value : high;
    D sum = load<D>(to + 2 * stride) + value;
    D squareSum = load<D>(to + 3 * stride) + square;
    std::memcpy(to, &low, sizeof(D));
    std::memcpy(to + stride, &high, sizeof(D));
    std::memcpy(to + 2 * stride, &sum, sizeof(D));
    std::memcpy(to + 3 * stride, &squareSum, sizeof(D));
  }
  for (size_t lane = 0; lane < lanes; ++lane) {
    extend<false>(row[0], lows[lane]);
    extend<true>(row[1], highs[lane]);
    row[2] += sums[lane];
    row[3] += squares[lane];
  }
  for (; at < count; ++at) {
    extendStats(row, 1, values[at]);
    extendStats(columns + at, stride, values[at]);
  }
}

/// `smallest` becomes the least magnitude other than 0, and `integral` false if
/// an element is no whole number.
template <typename T, unsigned Bytes>
MPOPT_INLINE void magnitudesOf(const T *values, size_t count, double *smallest,
                               bool *integral) {
  constexpr size_t lanes = Bytes / sizeof(T);
  // From here on every number is whole; adding it makes smaller ones so.
  constexpr T whole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  using V = Vector<T, Bytes>;
  using Mask = Vector<Integer<T>, Bytes>;
  V least = V{} + T(__builtin_inf());
  Mask parts{};
  size_t at = 0;
  for (; at + lanes <= count; at += lanes) {
    V value = load<V>(values + at), magnitude = value < 0 ? -value : value;
    least = ((magnitude > 0) & (magnitude < least)) ? magnitude : least;
    parts |= (magnitude < whole) & ((magnitude + whole) - whole != magnitude);
  }
  bool fraction = false;
  for (size_t lane = 0; lane < lanes; ++lane) {
    extend<false>(*smallest, least[lane]);
    fraction |= parts[lane] != 0;
  }
  for (; at < count; ++at) {
    T magnitude = values[at] < 0 ? -values[at] : values[at];
    if (magnitude > 0)
      extend<false>(*smallest, magnitude);
    fraction |= magnitude < whole && (magnitude + whole) - whole != magnitude;
  }
  *integral &= !fraction;
}

/// Four rows of the result at a time, so that a row of `a` is read for four.
template <unsigned Bytes>
MPOPT_INLINE void gramOf(const double *a, size_t count, size_t n, double *to) {
  using V = Vector<double, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(double), block = 4;
  for (size_t i = 0; i < n; i += block)
    for (size_t j = i / 8 * 8; j < n; j += lanes) {
      V sums[block] = {};
      for (size_t k = 0; k < count; ++k) {
        const double *row = a + k * n;
        V right = load<V>(row + j);
        for (size_t r = 0; r < block; ++r)
          sums[r] += right * row[i + r];
      }
      for (size_t r = 0; r < block; ++r) {
        V total = load<V>(to + (i + r) * n + j) + sums[r];
        std::memcpy(to + (i + r) * n + j, &total, sizeof(V));
      }
    }
}

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESTATISTICS_H
