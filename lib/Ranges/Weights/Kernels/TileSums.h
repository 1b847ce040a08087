//===- TileSums.h - Sums of products with coefficients ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESUMS_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESUMS_H

#include "TileVectors.h"

namespace mpopt::kernels {

/// The hardware does not see through the jumps from row to row: the next
/// tile's part of a row is asked for while this one's is summed.
template <Element E, bool Direct>
MPOPT_INLINE void fetchAhead(const char *data, size_t index) {
  if constexpr (Direct)
    __builtin_prefetch(data + index * sizeOf(E), /*write=*/0, /*locality=*/2);
}

/// Columns are outputs: the lanes are columns, coefficients are broadcast.
template <typename T, unsigned Bytes, Element E, bool Direct>
MPOPT_INLINE void sumColumns(const char *data, size_t stride, size_t rows,
                             size_t cols, const T *q, size_t qs, double *sums,
                             size_t ss) {
  using V = Vector<T, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(T);
  FetchBelow<E> fetch(data, stride, rows, cols);
  for (size_t column = 0; column < cols; column += lanes) {
    V centre{}, radius{}, mean{}, variance{}, terms{}, sizes{}, squares{},
        sixth{};
    size_t at = column;
    if constexpr (Direct)
      fetch.columns(lanes);
    if (q) {
      for (size_t row = 0; row < rows; ++row, at += stride) {
        V w = loadAs<T, Bytes, E>(data, at), size = magnitude<T, Bytes>(w),
          square = w * w;
        centre += w * q[row];
        radius += size * q[qs + row];
        mean += w * q[2 * qs + row];
        variance += square * q[3 * qs + row];
        terms += size * q[4 * qs + row];
        sizes += size;
        squares += square;
        V product = square * q[5 * qs + row];
        sixth += product * product * product;
      }
      flush<T, Bytes>(sums + Radius * ss + column, radius);
      flush<T, Bytes>(sums + Mean * ss + column, mean);
      flush<T, Bytes>(sums + Variance * ss + column, variance);
      flush<T, Bytes>(sums + Terms * ss + column, terms);
    } else {
      for (size_t row = 0; row < rows; ++row, at += stride) {
        V w = loadAs<T, Bytes, E>(data, at), square = w * w;
        centre += w;
        sizes += magnitude<T, Bytes>(w);
        squares += square;
        sixth += square * square * square;
      }
    }
    flush<T, Bytes>(sums + Centre * ss + column, centre);
    flush<T, Bytes>(sums + Sizes * ss + column, sizes);
    flush<T, Bytes>(sums + Squares * ss + column, squares);
    flush<T, Bytes>(sums + Sixth * ss + column, sixth);
  }
}

/// Rows are outputs: the lanes are terms.
template <typename T, unsigned Bytes, Element E, bool Direct>
MPOPT_INLINE void sumRows(const char *data, size_t stride, size_t rows,
                          size_t cols, const T *q, size_t qs, double *sums,
                          size_t) {
  using V = Vector<T, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(T);
  for (size_t row = 0; row < rows; ++row) {
    V centre{}, radius{}, mean{}, variance{}, terms{}, sizes{}, squares{},
        sixth{};
    size_t at = row * stride;
    double *to = sums + row * kSums * kLanes;
    if (q) {
      for (size_t column = 0; column < cols; column += lanes) {
        fetchAhead<E, Direct>(data, at + column + kRowTileColumns);
        V w = loadAs<T, Bytes, E>(data, at + column),
          size = magnitude<T, Bytes>(w);
        V square = w * w;
        centre += w * load<V>(q + column);
        radius += size * load<V>(q + qs + column);
        mean += w * load<V>(q + 2 * qs + column);
        variance += square * load<V>(q + 3 * qs + column);
        terms += size * load<V>(q + 4 * qs + column);
        sizes += size;
        squares += square;
        V product = square * load<V>(q + 5 * qs + column);
        sixth += product * product * product;
      }
      flush<T, Bytes>(to + Radius * kLanes, radius);
      flush<T, Bytes>(to + Mean * kLanes, mean);
      flush<T, Bytes>(to + Variance * kLanes, variance);
      flush<T, Bytes>(to + Terms * kLanes, terms);
    }
    // Without coefficients a whole row of any length, as one stream.
    size_t column = q ? cols : 0;
    do {
      size_t end = column + kMaxTerms * lanes;
      end = end < cols ? end : cols;
      for (; column < end; column += lanes) {
        fetchAhead<E, Direct>(data, at + column + kRowTileColumns);
        V w = loadAs<T, Bytes, E>(data, at + column), square = w * w;
        centre += w;
        sizes += magnitude<T, Bytes>(w);
        squares += square;
        sixth += square * square * square;
      }
      flush<T, Bytes>(to + Centre * kLanes, centre);
      flush<T, Bytes>(to + Sizes * kLanes, sizes);
      flush<T, Bytes>(to + Squares * kLanes, squares);
      flush<T, Bytes>(to + Sixth * kLanes, sixth);
      centre = sizes = squares = sixth = V{};
    } while (column < cols);
  }
}

template <typename T, unsigned Bytes, Element E>
MPOPT_INLINE void absSumColumns(const char *data, size_t stride, size_t rows,
                                size_t cols, double *sums) {
  using V = Vector<T, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(T);
  for (size_t column = 0; column < cols; column += lanes) {
    V sum{};
    for (size_t row = 0; row < rows; ++row)
      sum +=
          magnitude<T, Bytes>(loadAs<T, Bytes, E>(data, row * stride + column));
    flush<T, Bytes>(sums + column, sum);
  }
}

template <typename T, unsigned Bytes, Element E>
MPOPT_INLINE void absSumRows(const char *data, size_t stride, size_t rows,
                             size_t cols, double *sums) {
  using V = Vector<T, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(T);
  for (size_t row = 0; row < rows; ++row) {
    double wide[kLanes] = {};
    for (size_t column = 0; column < cols;) {
      size_t end = column + kMaxTerms * lanes;
      end = end < cols ? end : cols;
      V sum{};
      for (; column < end; column += lanes)
        sum += magnitude<T, Bytes>(
            loadAs<T, Bytes, E>(data, row * stride + column));
      flush<T, Bytes>(wide, sum);
    }
    for (size_t half = kLanes / 2; half > 0; half /= 2)
      for (size_t lane = 0; lane < half; ++lane)
        wide[lane] += wide[lane + half];
    sums[row] += wide[0];
  }
}

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILESUMS_H
