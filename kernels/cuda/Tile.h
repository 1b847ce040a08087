//===- Tile.h - What one thread does with 16 bytes -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread reads 16 bytes at a time. If all of its elements are zero or normal
// and none is at a format's edge, which is nearly always so, each costs a count
// in a row of the histogram, two maxima, a minimum and the sums. Else they are
// looked at one by one.
//
// A block's histogram has a column for each lane of a warp: the lanes of a warp
// never meet in a bank however alike their exponents are, and the warps of the
// block add to it by atomics of shared memory.
//
// `row(i)` counts one in row i, `edge(format, kind)` one at an edge. Rows are
// the bins of the record, with zeros in place of bin kZeroRow, which is that of
// subnormals and rare, and in turn goes to row kSubnormalRow. For FP8 a row is
// a code.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_TILE_H
#define MPOPT_KERNELS_CUDA_TILE_H

#include "Slot.h"

namespace mpopt::kernels::cuda {

/// The bin that a zero exponent field would have if it were a normal one's.
constexpr int kZeroRow = MPOPT_BIN_OF_EXPONENT(-127);
constexpr int kSubnormalRow = MPOPT_BINS;
constexpr int kRows = MPOPT_BINS + 1;
constexpr int kEdges = MPOPT_FORMATS * kEdgeKinds;

MPOPT_HD int rowOfBin(int bin) { return bin == kZeroRow ? kSubnormalRow : bin; }
MPOPT_HD int binOfRow(int row) { return row == kSubnormalRow ? kZeroRow : row; }

struct ThreadStats {
  /// Extremes of FP32 patterns of the vectors looked at as a whole
  /// (FloatBlock.h's Scan).
  int32_t mostSigned = INT32_MIN;
  uint32_t mostUnsigned = 0, least = ~0u;
  /// The same maxima for two 16-bit patterns in a word.
  uint32_t pairSigned = 0x80008000u, pairUnsigned = 0;
  /// Keys of elements that are looked at one by one.
  uint64_t min = kNoMinimum, max = kNoMaximum, minNonzero = kNoMinimum;
  uint32_t nan = 0, posInf = 0, negInf = 0;
  uint32_t zeros = 0; // of integers; those of floats have a row
  double sum = 0, squares = 0;
};

MPOPT_HD void widen(ThreadStats &stats, uint64_t bits) {
  uint64_t key = keyOf(bits);
  stats.min = key < stats.min ? key : stats.min;
  stats.max = key > stats.max ? key : stats.max;
}
MPOPT_HD void widenNonzero(ThreadStats &stats, uint64_t magnitude) {
  uint64_t key = keyOf(magnitude);
  stats.minNonzero = key < stats.minNonzero ? key : stats.minNonzero;
}

/// A pattern of FP32 or FP64, with `value` what it stands for.
template <class Bits, class Row, class Edge>
MPOPT_HD void takeElement(ThreadStats &stats, Bits bits, double value, Row row,
                          Edge edge) {
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  constexpr Bits inf = sizeof(Bits) == 4 ? Bits(kInf32) : Bits(kInf64);
  Bits magnitude = bits & ~sign;
  if (magnitude > inf) {
    ++stats.nan;
    return;
  }
  if (magnitude == inf) {
    ++(bits & sign ? stats.negInf : stats.posInf);
    return;
  }
  widen(stats, bitsOf(value));
  if (!magnitude) {
    row(kZeroRow);
    return;
  }
  widenNonzero(stats, bitsOf(value < 0 ? -value : value));
  row(rowOfBin(binOf(magnitude)));
  edgesOf(magnitude, edge);
  stats.sum += value;
  stats.squares += value * value;
}

/// FP32 bits of element i of four words. FP16 uses the processor's conversion
/// on the device, which gives the same.
template <class Decode>
MPOPT_HD uint32_t elementBits(const uint32_t *words, int i);

template <>
MPOPT_HD uint32_t elementBits<DecodeF32>(const uint32_t *words, int i) {
  return words[i];
}
template <>
MPOPT_HD uint32_t elementBits<DecodeBF16>(const uint32_t *words, int i) {
  return i % 2 ? words[i / 2] & 0xFFFF0000u : words[i / 2] << 16;
}
template <>
MPOPT_HD uint32_t elementBits<DecodeF16>(const uint32_t *words, int i) {
  uint32_t half = i % 2 ? words[i / 2] >> 16 : words[i / 2] & 0xFFFFu;
#ifdef __CUDA_ARCH__
  float value;
  asm("{ .reg .b16 h; mov.b16 h, %1; cvt.f32.f16 %0, h; }"
      : "=f"(value)
      : "h"(static_cast<unsigned short>(half)));
  return __float_as_uint(value);
#else
  return DecodeF16::decode(uint16_t(half));
#endif
}

/// Magnitudes that a format's edge test has to look at: 448 is the smallest of
/// the largest finite values, the others are where values round to zero.
constexpr uint32_t kSmallestMax = 0x43E00000u;
MPOPT_HD bool atZeroEdge(uint32_t magnitude) {
  return (magnitude == 0x3A800000u) | (magnitude == 0x37000000u) |
         (magnitude == 0x33000000u);
}

MPOPT_HD uint32_t maxSignedPair(uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
  return __vmaxs2(a, b);
#else
  int16_t low = int16_t(a), otherLow = int16_t(b);
  int16_t high = int16_t(a >> 16), otherHigh = int16_t(b >> 16);
  return uint32_t(uint16_t(low > otherLow ? low : otherLow)) |
         uint32_t(uint16_t(high > otherHigh ? high : otherHigh)) << 16;
#endif
}

MPOPT_HD uint32_t maxUnsignedPair(uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
  return __vmaxu2(a, b);
#else
  uint32_t low = a & 0xFFFFu, otherLow = b & 0xFFFFu;
  uint32_t high = a >> 16, otherHigh = b >> 16;
  return (low > otherLow ? low : otherLow) |
         (high > otherHigh ? high : otherHigh) << 16;
#endif
}

/// The differences between the two widths of vectors: `Maxima` of a vector,
/// whether one of its elements is beyond kSmallestMax, and how it is summed.
template <class Decode> struct VectorOf;

template <> struct VectorOf<DecodeF32> {
  static constexpr uint32_t smallest = 0x00800000u; // normal
  uint32_t most = 0, mostUnsigned = 0;
  int32_t mostSigned = INT32_MIN;

  MPOPT_HD void addWord(uint32_t word) {
    uint32_t magnitude = word & 0x7FFFFFFFu;
    most = magnitude > most ? magnitude : most;
    mostUnsigned = word > mostUnsigned ? word : mostUnsigned;
    mostSigned = int32_t(word) > mostSigned ? int32_t(word) : mostSigned;
  }
  MPOPT_HD bool isBig() const { return most > kSmallestMax; }
  MPOPT_HD void addTo(ThreadStats &stats) const {
    stats.mostSigned =
        mostSigned > stats.mostSigned ? mostSigned : stats.mostSigned;
    stats.mostUnsigned =
        mostUnsigned > stats.mostUnsigned ? mostUnsigned : stats.mostUnsigned;
  }
  MPOPT_HD void sum(ThreadStats &stats, float value) {
    stats.sum += value;
    stats.squares += double(value) * value;
  }
  MPOPT_HD void finishSum(ThreadStats &) {}
};

/// Two patterns a word. Sums are formed in FP32 over the vector.
template <uint32_t beyond> struct PairsOf {
  uint32_t big = 0, mostUnsigned = 0, mostSigned = 0x80008000u;
  float shortSum = 0, shortSquares = 0;

  MPOPT_HD void addWord(uint32_t word) {
    // Either half's top bit is set from `beyond` on; no carry leaves a half.
    constexpr uint32_t add = 0x8000u - beyond;
    big |= (word & 0x7FFF7FFFu) + (add | add << 16);
    mostUnsigned = maxUnsignedPair(mostUnsigned, word);
    mostSigned = maxSignedPair(mostSigned, word);
  }
  MPOPT_HD bool isBig() const { return big & 0x80008000u; }
  MPOPT_HD void addTo(ThreadStats &stats) const {
    stats.pairUnsigned = maxUnsignedPair(stats.pairUnsigned, mostUnsigned);
    stats.pairSigned = maxSignedPair(stats.pairSigned, mostSigned);
  }
  MPOPT_HD void sum(ThreadStats &, float value) {
    shortSum += value;
    shortSquares += value * value;
  }
  MPOPT_HD void finishSum(ThreadStats &stats) {
    stats.sum += shortSum;
    stats.squares += shortSquares;
  }
};

template <> struct VectorOf<DecodeF16> : PairsOf<0x5F01> {
  static constexpr uint32_t smallest = uint32_t(127 - 14) << 23; // normal
};
/// BF16's squares leave FP32's range below 2^-60 (Sums.h); those beyond 2^60
/// are beyond kSmallestMax anyway.
template <> struct VectorOf<DecodeBF16> : PairsOf<0x43E1> {
  static constexpr uint32_t smallest = uint32_t(127 - 60) << 23;
};

template <class Decode, class Row, class Edge>
MPOPT_HD void takeVector(ThreadStats &stats, const uint32_t *words, Row row,
                         Edge edge) {
  constexpr int size = 16 / sizeof(typename Decode::Word);
  VectorOf<Decode> vector;
  MPOPT_UNROLL
  for (int i = 0; i < 4; ++i)
    vector.addWord(words[i]);
  uint32_t bits[size], least = ~0u;
  bool look = vector.isBig();
  MPOPT_UNROLL
  for (int i = 0; i < size; ++i) {
    bits[i] = elementBits<Decode>(words, i);
    uint32_t magnitude = bits[i] & 0x7FFFFFFFu;
    // Zero counts as the largest.
    least = magnitude - 1 < least ? magnitude - 1 : least;
    look |= atZeroEdge(magnitude);
  }
  look |= least < vector.smallest - 1;
  if (look) {
    // Word by word, without an index that registers do not have: memory for it
    // would be written for every vector.
    uint32_t rest[4] = {words[0], words[1], words[2], words[3]};
    MPOPT_NO_UNROLL
    for (int word = 0; word < 4; ++word) {
      MPOPT_UNROLL
      for (int i = 0; i < size / 4; ++i) {
        uint32_t one = elementBits<Decode>(rest, i);
        takeElement(stats, one, double(floatOf(one)), row, edge);
      }
      rest[0] = rest[1];
      rest[1] = rest[2];
      rest[2] = rest[3];
    }
    return;
  }
  vector.addTo(stats);
  stats.least = least < stats.least ? least : stats.least;
  MPOPT_UNROLL
  for (int i = 0; i < size; ++i) {
    row(int(bits[i] >> 23 & 0xFF) + kZeroRow);
    vector.sum(stats, floatOf(bits[i]));
  }
  vector.finishSum(stats);
}

/// Two elements of FP64.
template <class Row, class Edge>
MPOPT_HD void takeWideVector(ThreadStats &stats, const uint32_t *words, Row row,
                             Edge edge) {
  MPOPT_UNROLL
  for (int i = 0; i < 2; ++i) {
    uint64_t bits = words[2 * i] | uint64_t(words[2 * i + 1]) << 32;
    takeElement(stats, bits, doubleOf(bits), row, edge);
  }
}

/// Sixteen codes of FP8.
template <class Row> MPOPT_HD void takeCodes(const uint32_t *words, Row row) {
  MPOPT_UNROLL
  for (int i = 0; i < 16; ++i)
    row(int(words[i / 4] >> (8 * (i % 4)) & 0xFF));
}

/// The 16-bit patterns as FP32's, which are ordered alike.
template <class Decode> MPOPT_HD void widenPairs(ThreadStats &stats) {
  for (int half = 0; half < 2; ++half) {
    uint32_t asUnsigned = Decode::decode(
        typename Decode::Word(stats.pairUnsigned >> (16 * half)));
    int32_t asSigned = int32_t(
        Decode::decode(typename Decode::Word(stats.pairSigned >> (16 * half))));
    stats.mostUnsigned =
        asUnsigned > stats.mostUnsigned ? asUnsigned : stats.mostUnsigned;
    stats.mostSigned =
        asSigned > stats.mostSigned ? asSigned : stats.mostSigned;
  }
}

/// The patterns of whole vectors as keys, after the last one. Zeros come with
/// their row.
template <class Decode> MPOPT_HD void finishThread(ThreadStats &stats) {
  if constexpr (sizeof(typename Decode::Word) == 2)
    widenPairs<Decode>(stats);
  constexpr uint32_t sign = 0x80000000u;
  bool any = stats.least < sign;
  double least = any ? double(floatOf(stats.least + 1)) : 0;
  if (any)
    widenNonzero(stats, bitsOf(least));
  if (any && stats.mostUnsigned > sign)
    widen(stats, bitsOf(double(floatOf(stats.mostUnsigned))));
  if (any && stats.mostSigned > 0)
    widen(stats, bitsOf(double(floatOf(uint32_t(stats.mostSigned)))));
  // Values of one sign only: the other end is the smallest magnitude.
  if (any && stats.mostUnsigned <= sign)
    widen(stats, bitsOf(least));
  if (any && stats.mostSigned <= 0)
    widen(stats, bitsOf(-least));
}

/// One row of a block's histogram, `times` times, into the call. `add(counter,
/// times)` adds to a counter of the call.
template <class Add>
MPOPT_HD void finishRow(ThreadStats &stats, Call &call, int row, uint64_t times,
                        Add add) {
  if (row != kZeroRow) {
    add(&call.histogram[binOfRow(row)], times);
    return;
  }
  widen(stats, 0);
  add(&call.zero, times);
}

/// The same for a code of FP8, whose other statistics follow from its value.
template <class Decode, class Add>
MPOPT_HD void finishCode(ThreadStats &stats, Call &call, int code,
                         uint64_t times, Add add) {
  uint32_t bits = Decode::decode(uint8_t(code));
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= kInf32) {
    add(magnitude > kInf32 ? &call.nan
        : bits >> 31       ? &call.negInf
                           : &call.posInf,
        times);
    return;
  }
  double value = floatOf(bits);
  widen(stats, bitsOf(value));
  if (!magnitude) {
    add(&call.zero, times);
    return;
  }
  widenNonzero(stats, bitsOf(value < 0 ? -value : value));
  add(&call.histogram[binOf(magnitude)], times);
  edgesOf(magnitude, [&](int format, EdgeKind kind) {
    add(&call.edge[format][kind], times);
  });
  stats.sum += value * double(times);
  stats.squares += value * value * double(times);
}

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_TILE_H
