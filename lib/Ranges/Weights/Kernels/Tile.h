//===- Tile.h - The inner loops of the range kernels ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights are decoded into a tile that stays in the cache, then summed from
// there: one set of sums for all dtypes. No LLVM headers here, so that the unit
// can be compiled with optimisation in every build.
//
// A tile is `rows` times `stride`; columns from the last one up to the next
// multiple of kLanes are zero.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILE_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpopt::kernels {

/// Lengths and strides of tiles are multiples of this in either type.
inline constexpr size_t kLanes = 16;
/// No lane adds more terms than this before its sum goes on in double.
inline constexpr size_t kMaxTerms = 128;
/// A tile whose columns are outputs; its rows are terms of one lane.
inline constexpr size_t kColumnTileRows = 64, kColumnTileColumns = 256;
/// Rows of a block of columns that are summed where they lie: their lines fit
/// in a set of the first-level cache.
inline constexpr size_t kBlockRows = 8;
/// A tile whose rows are outputs: 4 lanes (the fewest) add 128 terms each.
inline constexpr size_t kRowTileRows = 16, kRowTileColumns = 512;

constexpr size_t padded(size_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

/// sum w c, |w| r, w mean, w^2 variance, |w| a, |w|, w^2 and (w^2 h)^3. If the
/// coefficients are the same everywhere, Centre is sum w and Sixth sum w^6; of
/// the others only Sizes and Squares are computed.
enum Sum {
  Centre,
  Radius,
  Mean,
  Variance,
  Terms,
  Sizes,
  Squares,
  Sixth,
  kSums
};
/// The coefficients, in that order: c, r, mean, variance, a, h.
inline constexpr size_t kCoefficients = 6;

/// The statistics of a group.
enum Statistic { Minimum, Maximum, Total, TotalSquares, kStatistics };

/// The last of all is a byte that is looked up; before it, floats that are
/// rounded to a narrower format (one that overflows becomes Inf).
enum class Element { F64, F32, F16, BF16, I8, U8, F32AsF16, F32AsBF16, Table };

/// Rounding to a narrower format in float arithmetic.
struct Rounding {
  uint32_t dropped;   // bits of a float's significand
  float minNormal;    // of the format
  float magic;        // a float whose ulp is the format's subnormal
  float overflowFrom; // this and more is Inf
};

/// Facts about all values of some tiles, beside the statistics of groups.
template <typename T> struct Tally {
  /// Magnitudes of a narrower format: the first that overflows, the last that
  /// flushes, the first that is normal. Values are compared with them if
  /// `counts`.
  T overflowFrom = 0, flushAt = 0, minNormal = 0;
  bool counts = false;
  uint64_t zeros = 0, overflows = 0;
  /// Up to `flushAt` and below `minNormal`, zeros among them.
  uint64_t flushes = 0, small = 0;
  /// The least magnitude other than 0; infinite if there is none.
  T least = T(__builtin_inf());
  /// Every value is a whole number.
  bool integral = true;
};

/// Values in a tile of type T, or in the file's bytes (any alignment; strides
/// count elements).
template <typename T> struct SumLoops {
  using Sums = void (*)(const void *data, size_t stride, size_t rows,
                        size_t cols, const T *coefficients,
                        size_t coefficientStride, double *sums,
                        size_t sumStride);
  using Edge = void (*)(const void *data, size_t stride, size_t rows,
                        size_t cols, double *sums);
  /// sums[s * sumStride + column] grows by the sum over rows;
  /// coefficients[i * coefficientStride + row]. Null: all the same.
  Sums columns;
  /// sums[(row * kSums + s) * kLanes + lane] grows by the sum over columns;
  /// coefficients[i * coefficientStride + column]. Null: all the same, and then
  /// there may be any number of columns.
  Sums rows;
  /// sums[column] or sums[row] grows by the sum of |w|.
  Edge absColumns, absRows;
  /// Minimum, maximum, sum and sum of squares of each column or row, in
  /// statistics[statistic * statisticStride + group], go on. Any number of
  /// columns; statistics of columns have room for padded(cols). A value that is
  /// not finite makes its sum of squares so.
  using Statistics = void (*)(const void *data, size_t stride, size_t rows,
                              size_t cols, double *statistics,
                              size_t statisticStride, Tally<T> &tally);
  Statistics columnStatistics, rowStatistics;
};

/// The number of element kinds that are summed where they lie: F32 to
/// F32AsBF16.
inline constexpr size_t kDirect = 7;

struct Loops {
  SumLoops<float> f32;
  SumLoops<double> f64;
  /// By element - F32. A value that is not finite makes its sum of squares so.
  /// Columns are a multiple of kLanes.
  SumLoops<float> direct[kDirect];
  /// `count` elements from `index` on, which fit in a float; true if all are
  /// finite. `table` has the values of all 256 bytes.
  bool (*decode)(Element element, const char *data, size_t index, size_t count,
                 const float *table, float *to);
  /// In place; values that overflow stay as they are. True if none does.
  bool (*round)(const Rounding &rounding, float *values, size_t count);
  /// to[i * n + j] = sum_k a[k * n + i] a[k * n + j] for j >= i - i % 8, added.
  void (*gram)(const double *a, size_t count, size_t n, double *to);
  /// y_i = sum_k a[k * n + i] x_k, for n a multiple of 8.
  void (*multiply)(const double *a, size_t n, const double *x, double *y);
  /// Cholesky's factor of the symmetric matrix whose upper half is in `a`, in
  /// its place; false where a pivot is not positive. `n` is a multiple of 8.
  bool (*factor)(double *a, size_t n);
};

/// The best for this host.
const Loops &loops();
/// All that this host can run, the best last.
const std::vector<Loops> &allLoops();

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILE_H
