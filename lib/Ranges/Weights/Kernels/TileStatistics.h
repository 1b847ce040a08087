//===- TileStatistics.h - Statistics of rows and columns --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESTATISTICS_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESTATISTICS_H

#include "TileVectors.h"

#include <cmath>

namespace mpopt::kernels {

/// The values of a run of vectors, by lane.
template <typename T, unsigned Bytes> struct GroupLanes {
  using V = Vector<T, Bytes>;
  static constexpr size_t lanes = Bytes / sizeof(T);
  using Wide = Vector<double, lanes * sizeof(double)>;

  V low = V{} + T(__builtin_inf()), high = -low;
  Wide sum{}, squares{};

  MPOPT_INLINE void extend(V value) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  MPOPT_INLINE void add(V value) {
    Wide wide = __builtin_convertvector(value, Wide);
    sum += wide;
    squares += wide * wide;
  }

  /// Each lane is a group.
  MPOPT_INLINE void addColumns(double *to, size_t step) const {
    Wide lows = __builtin_convertvector(low, Wide), least = load<Wide>(to);
    Wide highs = __builtin_convertvector(high, Wide),
         most = load<Wide>(to + step);
    store(to, lows < least ? lows : least);
    store(to + Maximum * step, highs > most ? highs : most);
    store(to + Total * step, load<Wide>(to + Total * step) + sum);
    store(to + TotalSquares * step,
          load<Wide>(to + TotalSquares * step) + squares);
  }
  /// All lanes are one group.
  MPOPT_INLINE void addRow(double *to, size_t step) const {
    double least = to[0], most = to[Maximum * step];
    T lows[lanes], highs[lanes];
    double sums[lanes], powers[lanes];
    store(lows, low), store(highs, high), store(sums, sum);
    store(powers, squares);
    for (size_t half = lanes / 2; half > 0; half /= 2)
      for (size_t lane = 0; lane < half; ++lane) {
        lows[lane] =
            lows[lane + half] < lows[lane] ? lows[lane + half] : lows[lane];
        highs[lane] =
            highs[lane + half] > highs[lane] ? highs[lane + half] : highs[lane];
        sums[lane] += sums[lane + half];
        powers[lane] += powers[lane + half];
      }
    to[0] = lows[0] < least ? lows[0] : least;
    to[Maximum * step] = highs[0] > most ? highs[0] : most;
    to[Total * step] += sums[0];
    to[TotalSquares * step] += powers[0];
  }
};

/// A tally by lane, of fewer than 2^31 values a lane.
template <typename T, unsigned Bytes, bool Counts> struct TallyLanes {
  using V = Vector<T, Bytes>;
  using Numbers = Vector<Integer<T>, Bytes>;
  static constexpr size_t lanes = Bytes / sizeof(T);

  V least = V{} + T(__builtin_inf());
  Numbers zeros{}, overflows{}, flushes{}, small{};

  MPOPT_INLINE void add(V value, const Tally<T> &edges) {
    V size = magnitude<T, Bytes>(value);
    V present = size > 0 ? size : V{} + T(__builtin_inf());
    least = present < least ? present : least;
    if constexpr (Counts) { // true is -1
      zeros -= size == 0;
      overflows -= size >= edges.overflowFrom;
      flushes -= size <= edges.flushAt;
      small -= size < edges.minNormal;
    }
  }
  /// `padding` of the values were zeros that are not there.
  MPOPT_INLINE void addTo(Tally<T> &tally, size_t padding) const {
    for (size_t lane = 0; lane < lanes; ++lane)
      tally.least = least[lane] < tally.least ? least[lane] : tally.least;
    if constexpr (Counts) {
      for (size_t lane = 0; lane < lanes; ++lane) {
        tally.zeros += zeros[lane];
        tally.overflows += overflows[lane];
        tally.flushes += flushes[lane];
        tally.small += small[lane];
      }
      tally.zeros -= padding;
      tally.flushes -= padding;
      tally.small -= padding;
    }
  }
};

template <typename T, unsigned Bytes, Element E>
MPOPT_INLINE bool areIntegral(const char *data, size_t stride, size_t rows,
                              size_t cols) {
  // From here on every number is whole; adding it makes smaller ones so.
  constexpr T whole = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  constexpr size_t lanes = Bytes / sizeof(T);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < cols; column += lanes) {
      auto size = magnitude<T, Bytes>(
          loadUpTo<T, Bytes, E>(data, row * stride + column, cols - column));
      auto parts = (size < whole) & ((size + whole) - whole != size);
      Integer<T> any = 0;
      for (size_t lane = 0; lane < lanes; ++lane)
        any |= parts[lane];
      if (any)
        return false;
    }
  return true;
}

template <typename T, unsigned Bytes, Element E, bool Counts>
MPOPT_INLINE void
columnStatisticsOf(const char *data, size_t stride, size_t rows, size_t cols,
                   double *statistics, size_t step, Tally<T> &tally) {
  constexpr size_t lanes = Bytes / sizeof(T);
  TallyLanes<T, Bytes, Counts> all;
  FetchBelow<E> fetch(data, stride, rows, cols);
  size_t padding = 0;
  for (size_t column = 0; column < cols; column += lanes) {
    GroupLanes<T, Bytes> group;
    size_t at = column, left = cols - column;
    if (left >= lanes) {
      fetch.columns(lanes);
      for (size_t row = 0; row < rows; ++row, at += stride) {
        Vector<T, Bytes> value = loadAs<T, Bytes, E>(data, at);
        group.extend(value);
        group.add(value);
        all.add(value, tally);
      }
    } else {
      for (size_t row = 0; row < rows; ++row, at += stride) {
        Vector<T, Bytes> value = loadUpTo<T, Bytes, E>(data, at, left);
        group.extend(value);
        group.add(value);
        all.add(value, tally);
      }
      padding = rows * (lanes - left);
    }
    group.addColumns(statistics + column, step);
  }
  all.addTo(tally, padding);
}

template <typename T, unsigned Bytes, Element E, bool Counts>
MPOPT_INLINE void rowStatisticsOf(const char *data, size_t stride, size_t rows,
                                  size_t cols, double *statistics, size_t step,
                                  Tally<T> &tally) {
  constexpr size_t lanes = Bytes / sizeof(T);
  TallyLanes<T, Bytes, Counts> all;
  size_t whole = cols / lanes * lanes, left = cols - whole;
  for (size_t row = 0; row < rows; ++row) {
    GroupLanes<T, Bytes> group;
    size_t at = row * stride;
    for (size_t column = 0; column < whole; column += lanes) {
      Vector<T, Bytes> value = loadAs<T, Bytes, E>(data, at + column);
      group.extend(value);
      group.add(value);
      all.add(value, tally);
    }
    if (left) {
      Vector<T, Bytes> value = loadUpTo<T, Bytes, E>(data, at + whole, left);
      group.add(value);
      all.add(value, tally);
      for (size_t lane = left; lane < lanes; ++lane)
        value[lane] = value[0];
      group.extend(value);
    }
    group.addRow(statistics + row, step);
  }
  all.addTo(tally, left ? rows * (lanes - left) : 0);
}

template <typename T, unsigned Bytes, Element E, bool Columns>
MPOPT_INLINE void statisticsOf(const char *data, size_t stride, size_t rows,
                               size_t cols, double *statistics, size_t step,
                               Tally<T> &tally) {
  if (tally.integral)
    tally.integral = areIntegral<T, Bytes, E>(data, stride, rows, cols);
  auto run = [&](auto counts) __attribute__((always_inline)) {
    if constexpr (Columns)
      columnStatisticsOf<T, Bytes, E, counts>(data, stride, rows, cols,
                                              statistics, step, tally);
    else
      rowStatisticsOf<T, Bytes, E, counts>(data, stride, rows, cols, statistics,
                                           step, tally);
  };
  tally.counts ? run(std::true_type()) : run(std::false_type());
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

template <unsigned Bytes>
MPOPT_INLINE void productOf(const double *a, size_t n, const double *x,
                            double *y) {
  using V = Vector<double, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(double);
  for (size_t j = 0; j < n; j += lanes) {
    V sum = {};
    for (size_t k = 0; k < n; ++k)
      sum += load<V>(a + k * n + j) * x[k];
    std::memcpy(y + j, &sum, sizeof(V));
  }
}

/// Row by row; what a row takes from those below it is taken at once.
template <unsigned Bytes> MPOPT_INLINE bool factorOf(double *a, size_t n) {
  using V = Vector<double, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(double);
  for (size_t k = 0; k < n; ++k) {
    double *pivot = a + k * n;
    double root = std::sqrt(pivot[k]);
    // Nor NaN.
    if (!(root > 0))
      return false;
    for (size_t j = k; j < n; ++j)
      pivot[j] /= root;
    for (size_t i = k + 1; i < n; ++i) {
      double *row = a + i * n;
      double factor = pivot[i];
      for (size_t j = i / lanes * lanes; j < n; j += lanes) {
        V rest = load<V>(row + j) - load<V>(pivot + j) * factor;
        std::memcpy(row + j, &rest, sizeof(V));
      }
    }
  }
  return true;
}

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESTATISTICS_H
