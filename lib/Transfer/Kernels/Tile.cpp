//===- Tile.cpp - The inner loops of the range kernels
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums are kept in the lanes of explicit vectors, because no compiler reorders
// floating additions by itself. The templates are inlined into one function per
// instruction set and vector length.
//
//===----------------------------------------------------------------------===//

#include "Tile.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mpopt::kernels;

#define INLINE [[gnu::always_inline]] static inline

namespace {
template <typename T, unsigned Bytes> struct VectorOf {
  typedef T type __attribute__((vector_size(Bytes)));
};
template <typename T, unsigned Bytes>
using Vector = typename VectorOf<T, Bytes>::type;

template <typename T> struct IntegerOf;
template <> struct IntegerOf<float> {
  using type = int32_t;
};
template <> struct IntegerOf<double> {
  using type = int64_t;
};
template <typename T> using Integer = typename IntegerOf<T>::type;
} // namespace

template <typename V, typename T> INLINE V load(const T *from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}

/// A vector of T from `E`s in memory.
template <typename T, unsigned Bytes, Element E>
INLINE Vector<T, Bytes> loadAs(const char *data, size_t index) {
  using V = Vector<T, Bytes>;
  constexpr unsigned lanes = Bytes / sizeof(T);
  if constexpr (E == Element::F16 && Bytes >= 32) {
    // There is an instruction for it.
    typedef _Float16 H __attribute__((vector_size(lanes * 2)));
    return __builtin_convertvector(load<H>(data + index * 2), V);
  } else if constexpr (E == Element::F16 || E == Element::BF16) {
    using Bits = Vector<uint32_t, Bytes>;
    Bits bits = __builtin_convertvector(
        load<Vector<uint16_t, lanes * 2>>(data + index * 2), Bits);
    if constexpr (E == Element::BF16)
      return (V)(bits << 16);
    // As in fromHalf below.
    V scaled = (V)((bits & 0x7fff) << 13) * 0x1p112f;
    Bits special = (Bits)(scaled >= 65536.0f) & 0x7f800000;
    return (V)((Bits)scaled | special | (bits & 0x8000) << 16);
  } else if constexpr (E == Element::I8) {
    using Wide = Vector<int32_t, Bytes>;
    return __builtin_convertvector(
        __builtin_convertvector(load<Vector<int8_t, lanes>>(data + index),
                                Wide),
        V);
  } else if constexpr (E == Element::U8) {
    using Wide = Vector<int32_t, Bytes>;
    return __builtin_convertvector(
        __builtin_convertvector(load<Vector<uint8_t, lanes>>(data + index),
                                Wide),
        V);
  } else {
    return load<V>(data + index * sizeof(T));
  }
}

constexpr static size_t sizeOf(Element element) {
  if (element == Element::F64)
    return 8;
  if (element == Element::F32)
    return 4;
  return element == Element::F16 || element == Element::BF16 ? 2 : 1;
}

template <typename T, unsigned Bytes>
INLINE Vector<T, Bytes> magnitude(Vector<T, Bytes> value) {
  using Bits = Vector<Integer<T>, Bytes>;
  constexpr auto mask = Integer<T>(~std::make_unsigned_t<Integer<T>>(0) >> 1);
  return (Vector<T, Bytes>)((Bits)value & mask);
}

/// to[lane] += value[lane], in double.
template <typename T, unsigned Bytes>
INLINE void flush(double *to, Vector<T, Bytes> value) {
  using Wide = Vector<double, Bytes * 8 / sizeof(T)>;
  Wide sum = load<Wide>(to) + __builtin_convertvector(value, Wide);
  std::memcpy(to, &sum, sizeof(sum));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The hardware does not see through the jumps from row to row: the next
/// tile's part of a row is asked for while this one's is summed.
template <Element E, bool Direct>
INLINE void fetchAhead(const char *data, size_t index) {
  if constexpr (Direct)
    __builtin_prefetch(data + index * sizeOf(E), /*write=*/0, /*locality=*/2);
}

/// Columns are outputs: the lanes are columns, coefficients are broadcast.
template <typename T, unsigned Bytes, Element E, bool Direct>
INLINE void sumColumns(const char *data, size_t stride, size_t rows,
                       size_t cols, const T *q, size_t qs, double *sums,
                       size_t ss) {
  using V = Vector<T, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(T);
  for (size_t column = 0; column < cols; column += lanes) {
    V centre{}, radius{}, mean{}, variance{}, terms{}, squares{}, sixth{};
    size_t at = column;
    if (q) {
      for (size_t row = 0; row < rows; ++row, at += stride) {
        fetchAhead<E, Direct>(data, at + kColumnTileColumns);
        V w = loadAs<T, Bytes, E>(data, at), size = magnitude<T, Bytes>(w),
          square = w * w;
        centre += w * q[row];
        radius += size * q[qs + row];
        mean += w * q[2 * qs + row];
        variance += square * q[3 * qs + row];
        terms += size * q[4 * qs + row];
        squares += square;
        V product = square * q[5 * qs + row];
        sixth += product * product * product;
      }
      flush<T, Bytes>(sums + Radius * ss + column, radius);
      flush<T, Bytes>(sums + Mean * ss + column, mean);
      flush<T, Bytes>(sums + Variance * ss + column, variance);
    } else {
      for (size_t row = 0; row < rows; ++row, at += stride) {
        fetchAhead<E, Direct>(data, at + kColumnTileColumns);
        V w = loadAs<T, Bytes, E>(data, at), square = w * w;
        centre += w;
        terms += magnitude<T, Bytes>(w);
        squares += square;
        sixth += square * square * square;
      }
    }
    flush<T, Bytes>(sums + Centre * ss + column, centre);
    flush<T, Bytes>(sums + Terms * ss + column, terms);
    flush<T, Bytes>(sums + Squares * ss + column, squares);
    flush<T, Bytes>(sums + Sixth * ss + column, sixth);
  }
}

/// Rows are outputs: the lanes are terms.
template <typename T, unsigned Bytes, Element E, bool Direct>
INLINE void sumRows(const char *data, size_t stride, size_t rows, size_t cols,
                    const T *q, size_t qs, double *sums, size_t) {
  using V = Vector<T, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(T);
  for (size_t row = 0; row < rows; ++row) {
    V centre{}, radius{}, mean{}, variance{}, terms{}, squares{}, sixth{};
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
        squares += square;
        V product = square * load<V>(q + 5 * qs + column);
        sixth += product * product * product;
      }
      flush<T, Bytes>(to + Radius * kLanes, radius);
      flush<T, Bytes>(to + Mean * kLanes, mean);
      flush<T, Bytes>(to + Variance * kLanes, variance);
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
        terms += magnitude<T, Bytes>(w);
        squares += square;
        sixth += square * square * square;
      }
      flush<T, Bytes>(to + Centre * kLanes, centre);
      flush<T, Bytes>(to + Terms * kLanes, terms);
      flush<T, Bytes>(to + Squares * kLanes, squares);
      flush<T, Bytes>(to + Sixth * kLanes, sixth);
      centre = terms = squares = sixth = V{};
    } while (column < cols);
  }
}

template <typename T, unsigned Bytes, Element E>
INLINE void absSumColumns(const char *data, size_t stride, size_t rows,
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
INLINE void absSumRows(const char *data, size_t stride, size_t rows,
                       size_t cols, double *sums) {
  using V = Vector<T, Bytes>;
  constexpr size_t lanes = Bytes / sizeof(T);
  for (size_t row = 0; row < rows; ++row) {
    V sum{};
    for (size_t column = 0; column < cols; column += lanes)
      sum +=
          magnitude<T, Bytes>(loadAs<T, Bytes, E>(data, row * stride + column));
    double wide[kLanes] = {};
    flush<T, Bytes>(wide, sum);
    for (size_t half = kLanes / 2; half > 0; half /= 2)
      for (size_t lane = 0; lane < half; ++lane)
        wide[lane] += wide[lane + half];
    sums[row] += wide[0];
  }
}

//===----------------------------------------------------------------------===//
// Decoding and rounding
//===----------------------------------------------------------------------===//

template <typename T> INLINE T read(const char *data, size_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T)); // any alignment
  return value;
}

INLINE uint32_t track(uint32_t seen, float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  // Signed, because the packed unsigned maximum is rarer.
  return int32_t(bits) > int32_t(seen) ? bits : seen;
}

INLINE float fromHalf(uint16_t bits) {
  // Exact, subnormals included: the exponents' biases differ by 112.
  float scaled = std::bit_cast<float>(uint32_t(bits & 0x7fff) << 13) * 0x1p112f;
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t special = scaled >= 65536.0f ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign | special);
}

/// A tile's neighbour continues each of its rows: its bytes are fetched while
/// this tile is summed. The hardware does not see that through the jumps.
INLINE void fetchNext(const char *end, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 64)
    __builtin_prefetch(end + at, /*write=*/0, /*locality=*/2);
}

INLINE bool decodeAny(Element element, const char *data, size_t index,
                      size_t count, const float *table, float *to) {
  uint32_t seen = 0;
  size_t size = sizeOf(element);
  fetchNext(data + (index + count) * size, count * size);
  auto each = [&](auto decode) __attribute__((always_inline)) {
    for (size_t at = 0; at < count; ++at) {
      float value = decode(index + at);
      to[at] = value;
      seen = track(seen, value);
    }
  };
  switch (element) {
  case Element::F32:
    each([&](size_t at)
             __attribute__((always_inline)) { return read<float>(data, at); });
    break;
  case Element::F16:
    each([&](size_t at) __attribute__((always_inline)) {
      return fromHalf(read<uint16_t>(data, at));
    });
    break;
  case Element::BF16:
    each([&](size_t at) __attribute__((always_inline)) {
      return std::bit_cast<float>(uint32_t(read<uint16_t>(data, at)) << 16);
    });
    break;
  case Element::I8:
    each([&](size_t at) __attribute__((always_inline)) {
      return float(read<int8_t>(data, at));
    });
    break;
  case Element::U8:
    each([&](size_t at) __attribute__((always_inline)) {
      return float(read<uint8_t>(data, at));
    });
    break;
  case Element::Table:
    each([&](size_t at) __attribute__((always_inline)) {
      return table[read<uint8_t>(data, at)];
    });
    break;
  case Element::F64:
    return false;
  }
  return seen < 0x7f800000;
}

INLINE bool roundAll(const Rounding &rounding, float *values, size_t count) {
  // Integer arithmetic on the pattern rounds what is normal in the format;
  // adding a number whose ulp is the format's smallest rounds what is not.
  uint32_t dropped = rounding.dropped;
  uint32_t half = dropped ? (1u << (dropped - 1)) - 1 : 0;
  uint32_t mask = ~((1u << dropped) - 1), odd = dropped ? 1 : 0;
  int32_t over = 0;
  for (size_t at = 0; at < count; ++at) {
    uint32_t bits = std::bit_cast<uint32_t>(values[at]);
    uint32_t sign = bits & 0x80000000u;
    uint32_t size = bits & 0x7fffffffu;
    float absolute = std::bit_cast<float>(size);
    uint32_t normal = (size + half + ((size >> dropped) & odd)) & mask;
    uint32_t tiny =
        std::bit_cast<uint32_t>((absolute + rounding.magic) - rounding.magic);
    bool overflows = absolute >= rounding.overflowFrom;
    uint32_t rounded = absolute < rounding.minNormal ? tiny : normal;
    rounded = overflows ? size : rounded;
    over |= overflows ? 1 : 0;
    values[at] = std::bit_cast<float>(rounded | sign);
  }
  return !over;
}

//===----------------------------------------------------------------------===//
// Tables and Gram matrices
//===----------------------------------------------------------------------===//

template <bool larger> INLINE void extend(double &to, double with) {
  to = (larger ? with > to : with < to) ? with : to;
}

/// `stats` has its four numbers `step` apart.
INLINE void extendStats(double *stats, size_t step, double value) {
  extend<false>(stats[0], value);
  extend<true>(stats[step], value);
  stats[2 * step] += value;
  stats[3 * step] += value * value;
}

template <typename T, unsigned Bytes>
INLINE void extremesOf(const T *values, size_t count, double *columns,
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

/// Four rows of the result at a time, so that a row of `a` is read for four.
template <unsigned Bytes>
INLINE void gramOf(const double *a, size_t count, size_t n, double *to) {
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

//===----------------------------------------------------------------------===//
// One set per instruction set
//===----------------------------------------------------------------------===//

#define LOOPS_FOR(NAME, BYTES, TARGET)                                         \
  namespace {                                                                  \
  namespace NAME {                                                             \
  template <typename T, Element E, bool Direct>                                \
  TARGET void columns(const void *data, size_t stride, size_t rows,            \
                      size_t cols, const T *q, size_t qs, double *sums,        \
                      size_t ss) {                                             \
    sumColumns<T, BYTES, E, Direct>((const char *)data, stride, rows, cols, q, \
                                    qs, sums, ss);                             \
  }                                                                            \
  template <typename T, Element E, bool Direct>                                \
  TARGET void rows(const void *data, size_t stride, size_t rows, size_t cols,  \
                   const T *q, size_t qs, double *sums, size_t ss) {           \
    sumRows<T, BYTES, E, Direct>((const char *)data, stride, rows, cols, q,    \
                                 qs, sums, ss);                                \
  }                                                                            \
  template <typename T, Element E>                                             \
  TARGET void absColumns(const void *data, size_t stride, size_t rows,         \
                         size_t cols, double *sums) {                          \
    absSumColumns<T, BYTES, E>((const char *)data, stride, rows, cols, sums);  \
  }                                                                            \
  template <typename T, Element E>                                             \
  TARGET void absRows(const void *data, size_t stride, size_t rows,            \
                      size_t cols, double *sums) {                             \
    absSumRows<T, BYTES, E>((const char *)data, stride, rows, cols, sums);     \
  }                                                                            \
  TARGET bool decode(Element element, const char *data, size_t index,          \
                     size_t count, const float *table, float *to) {            \
    return decodeAny(element, data, index, count, table, to);                  \
  }                                                                            \
  TARGET bool round(const Rounding &rounding, float *values, size_t count) {   \
    return roundAll(rounding, values, count);                                  \
  }                                                                            \
  template <typename T>                                                        \
  TARGET void extremes(const T *values, size_t count, double *columns,         \
                       size_t stride, double *row) {                           \
    extremesOf<T, BYTES>(values, count, columns, stride, row);                 \
  }                                                                            \
  TARGET void gram(const double *a, size_t count, size_t n, double *to) {      \
    gramOf<BYTES>(a, count, n, to);                                            \
  }                                                                            \
  template <typename T, Element E, bool Direct> SumLoops<T> sums() {           \
    return {columns<T, E, Direct>, rows<T, E, Direct>, absColumns<T, E>,       \
            absRows<T, E>, extremes<T>};                                       \
  }                                                                            \
  Loops all() {                                                                \
    return {                                                                   \
        sums<float, Element::F32, false>(),                                    \
        sums<double, Element::F64, false>(),                                   \
        {sums<float, Element::F32, true>(), sums<float, Element::F16, true>(), \
         sums<float, Element::BF16, true>(), sums<float, Element::I8, true>(), \
         sums<float, Element::U8, true>()},                                    \
        decode,                                                                \
        round,                                                                 \
        gram};                                                                 \
  }                                                                            \
  }                                                                            \
  }

LOOPS_FOR(baseline, 16, )
#if defined(__x86_64__)
LOOPS_FOR(avx2, 32, __attribute__((target("avx2,fma,f16c"))))
LOOPS_FOR(
    avx512, 64,
    __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma,f16c"))))
#endif

static std::vector<Loops> findLoops() {
  std::vector<Loops> found = {baseline::all()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("f16c")) {
    found.push_back(avx2::all());
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw"))
      found.push_back(avx512::all());
  }
#endif
  return found;
}

const std::vector<Loops> &mpopt::kernels::allLoops() {
  static const std::vector<Loops> found = findLoops();
  return found;
}

const Loops &mpopt::kernels::loops() {
  static const Loops &best = allLoops().back();
  return best;
}
