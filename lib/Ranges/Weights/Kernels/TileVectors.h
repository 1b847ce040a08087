//===- TileVectors.h - Vectors of a tile's elements -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums are kept in the lanes of explicit vectors, because no compiler reorders
// floating additions by itself. What is in these headers is for Tile.cpp alone,
// which inlines it into one function per instruction set and vector length.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILEVECTORS_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILEVECTORS_H

#include "Tile.h"
#include "mpopt/Numerics/InstructionSets.h"

#include <cstring>
#include <type_traits>

namespace mpopt::kernels {

template <typename T, unsigned Bytes> struct VectorOf {
  // An alias cannot have a size that depends on a parameter with every
  // compiler.
  typedef T type __attribute__((vector_size(Bytes))); // NOLINT
};
template <typename T, unsigned Bytes> using Vector = VectorOf<T, Bytes>::type;

template <typename T> struct IntegerOf;
template <> struct IntegerOf<float> {
  using type = int32_t;
};
template <> struct IntegerOf<double> {
  using type = int64_t;
};
template <typename T> using Integer = IntegerOf<T>::type;
template <typename V, typename T> MPOPT_INLINE V load(const T *from) {
  V value;
  std::memcpy(&value, from, sizeof(V));
  return value;
}

/// A vector of T from `E`s in memory.
/// Floats to F16 or BF16 and back, as roundAll (TileDecode.h) does it.
template <unsigned Bytes, Element E>
MPOPT_INLINE Vector<float, Bytes> rounded(Vector<float, Bytes> value) {
  using V = Vector<float, Bytes>;
  using Bits = Vector<uint32_t, Bytes>;
  constexpr unsigned dropped = E == Element::F32AsF16 ? 13 : 16;
  Bits sign = (Bits)value & 0x80000000, size = (Bits)value & 0x7fffffff;
  Bits result = size + ((1u << (dropped - 1)) - 1) + (size >> dropped & 1);
  result &= ~((1u << dropped) - 1);
  if constexpr (E == Element::F32AsF16) {
    constexpr float magic = 0x1p-1f; // its ulp is F16's smallest number
    V small = (V)size;
    Bits isSmall = (Bits)(small < 0x1p-14f);
    result = (isSmall & (Bits)((small + magic) - magic)) | (~isSmall & result);
    result |= (Bits)((V)result >= 65536.0f) & 0x7f800000;
  }
  // A NaN must not become a number.
  result |= (Bits)(size > 0x7f800000) & 0x7fc00000;
  return (V)(result | sign);
}

template <typename T, unsigned Bytes, Element E>
MPOPT_INLINE Vector<T, Bytes> loadAs(const char *data, size_t index) {
  using V = Vector<T, Bytes>;
  constexpr unsigned lanes = Bytes / sizeof(T);
  if constexpr (E == Element::F16 && Bytes >= 32) {
    // There is an instruction for it.
    typedef _Float16 H __attribute__((vector_size(lanes * 2))); // NOLINT
    return __builtin_convertvector(load<H>(data + index * 2), V);
  } else if constexpr (E == Element::F32AsF16 && Bytes >= 32) {
    typedef _Float16 H __attribute__((vector_size(lanes * 2))); // NOLINT
    return __builtin_convertvector(
        __builtin_convertvector(load<V>(data + index * 4), H), V);
  } else if constexpr (E == Element::F32AsF16 || E == Element::F32AsBF16) {
    return rounded<Bytes, E>(load<V>(data + index * 4));
  } else if constexpr (E == Element::F16 || E == Element::BF16) {
    using Bits = Vector<uint32_t, Bytes>;
    Bits bits = __builtin_convertvector(
        load<Vector<uint16_t, lanes * 2>>(data + index * 2), Bits);
    if constexpr (E == Element::BF16)
      return (V)(bits << 16);
    // As in fromHalf (TileDecode.h).
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

constexpr size_t sizeOf(Element element) {
  switch (element) {
  case Element::F64:
    return 8;
  case Element::F32:
  case Element::F32AsF16:
  case Element::F32AsBF16:
    return 4;
  case Element::F16:
  case Element::BF16:
    return 2;
  case Element::I8:
  case Element::U8:
  case Element::Table:
    return 1;
  }
}

/// The hardware does not see through the jumps from row to row: while columns
/// of a block are looked at, as much is asked for of the next one, row after
/// row.
template <Element E> class FetchBelow {
public:
  MPOPT_INLINE FetchBelow(const char *data, size_t stride, size_t rows,
                          size_t cols)
      : next(data + rows * stride * sizeOf(E)), step(stride * sizeOf(E)),
        width(cols * sizeOf(E)), rows(rows) {}

  MPOPT_INLINE void columns(size_t count) {
    for (size_t byte = 0; byte < rows * count * sizeOf(E);
         byte += 64, at += 64) {
      if (at >= width) {
        at = 0;
        next += step;
      }
      __builtin_prefetch(next + at, /*write=*/0, /*locality=*/2);
    }
  }

private:
  const char *next;
  size_t step, width, rows, at = 0;
};

/// The first `count` elements, if that is less than a vector, and zeros.
template <typename T, unsigned Bytes, Element E>
MPOPT_INLINE Vector<T, Bytes> loadUpTo(const char *data, size_t index,
                                       size_t count) {
  constexpr size_t lanes = Bytes / sizeof(T);
  if (count >= lanes)
    return loadAs<T, Bytes, E>(data, index);
  char part[lanes * sizeOf(E)] = {};
  std::memcpy(part, data + index * sizeOf(E), count * sizeOf(E));
  return loadAs<T, Bytes, E>(part, 0);
}

template <typename V, typename T> MPOPT_INLINE void store(T *to, V value) {
  std::memcpy(to, &value, sizeof(V));
}

template <typename T, unsigned Bytes>
MPOPT_INLINE Vector<T, Bytes> magnitude(Vector<T, Bytes> value) {
  using Bits = Vector<Integer<T>, Bytes>;
  constexpr auto mask = Integer<T>(~std::make_unsigned_t<Integer<T>>(0) >> 1);
  return (Vector<T, Bytes>)((Bits)value & mask);
}

/// to[lane] += value[lane], in double.
template <typename T, unsigned Bytes>
MPOPT_INLINE void flush(double *to, Vector<T, Bytes> value) {
  using Wide = Vector<double, Bytes / sizeof(T) * sizeof(double)>;
  Wide sum = load<Wide>(to) + __builtin_convertvector(value, Wide);
  std::memcpy(to, &sum, sizeof(sum));
}

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_TILEVECTORS_H
