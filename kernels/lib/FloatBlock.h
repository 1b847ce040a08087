//===- FloatBlock.h - One block of floats, whatever the vectors --*- C++
//-*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is read once from memory: extremes and sums go through registers, and
// exponent fields, as bytes, to a buffer that the first-level cache holds,
// where they are counted. What is rare in a tensor costs a second look at the
// block: Inf and NaN, subnormals, values in a bin with a format's edge.
//
// Included by each unit for one instruction set, after its target is set. The
// unit's dtypes give: Decode, Words, mantissa, top, bias, inf; scan<special>();
// countFields() for multiples of `round` fields; countRange(); and origin(i),
// where the i-th field of the buffer comes from.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_FLOATBLOCK_H
#define MPOPT_KERNELS_LIB_FLOATBLOCK_H

#include "Avx2Fields.h"

namespace {

/// What a scan of a block gives. Patterns are the dtype's own.
struct Scan {
  /// Largest pattern as a signed and as an unsigned number: the largest
  /// positive value, and the negative one with the largest magnitude, if there
  /// are any.
  int32_t mostSigned = 0;
  uint32_t mostUnsigned = 0;
  /// Smallest magnitude minus one, where zero counts as the largest number.
  uint32_t least = ~0u;
  uint64_t nan = 0, posInf = 0, negInf = 0;
  alignas(64) double sums[kLanes] = {};
  alignas(64) double squares[kLanes] = {};
};

struct Narrow {
  /// Lanes of a vector that compare and count 16 bits.
  static constexpr unsigned bits = 16;
  static constexpr uint32_t absMask = 0x7FFF;
  static __m256i set(uint32_t word) { return _mm256_set1_epi16(short(word)); }
  static __m256i add(__m256i a, __m256i b) { return _mm256_add_epi16(a, b); }
  static __m256i sub(__m256i a, __m256i b) { return _mm256_sub_epi16(a, b); }
  static __m256i greater(__m256i a, __m256i b) {
    return _mm256_cmpgt_epi16(a, b);
  }
  static __m256i equal(__m256i a, __m256i b) {
    return _mm256_cmpeq_epi16(a, b);
  }
  static __m256i mostSigned(__m256i a, __m256i b) {
    return _mm256_max_epi16(a, b);
  }
  static __m256i mostUnsigned(__m256i a, __m256i b) {
    return _mm256_max_epu16(a, b);
  }
  static __m256i leastUnsigned(__m256i a, __m256i b) {
    return _mm256_min_epu16(a, b);
  }
};

struct Full {
  static constexpr unsigned bits = 32;
  static constexpr uint32_t absMask = 0x7FFFFFFF;
  static __m256i set(uint32_t word) { return _mm256_set1_epi32(int(word)); }
  static __m256i add(__m256i a, __m256i b) { return _mm256_add_epi32(a, b); }
  static __m256i sub(__m256i a, __m256i b) { return _mm256_sub_epi32(a, b); }
  static __m256i greater(__m256i a, __m256i b) {
    return _mm256_cmpgt_epi32(a, b);
  }
  static __m256i equal(__m256i a, __m256i b) {
    return _mm256_cmpeq_epi32(a, b);
  }
  static __m256i mostSigned(__m256i a, __m256i b) {
    return _mm256_max_epi32(a, b);
  }
  static __m256i mostUnsigned(__m256i a, __m256i b) {
    return _mm256_max_epu32(a, b);
  }
  static __m256i leastUnsigned(__m256i a, __m256i b) {
    return _mm256_min_epu32(a, b);
  }
};

template <class Dtype>
typename Dtype::Decode::Word wordAt(const void *data, size_t i) {
  typename Dtype::Decode::Word word;
  __builtin_memcpy(&word, static_cast<const char *>(data) + i * sizeof(word),
                   sizeof(word));
  return word;
}

__m256i vectorAt(const void *data, size_t byte) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(
      static_cast<const char *>(data) + byte));
}

float toFloat(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

/// The lanes of a vector folded by `better`.
template <class Word, class Better>
Word foldWords(__m256i lanes, Word start, Better better) {
  alignas(32) Word lane[32 / sizeof(Word)];
  _mm256_store_si256(reinterpret_cast<__m256i *>(lane), lanes);
  for (Word one : lane)
    start = better(one, start) ? one : start;
  return start;
}

/// Of lanes that counted down from zero.
template <class Words> uint64_t countLanes(__m256i lanes) {
  using Word = decltype([] {
    if constexpr (Words::bits == 16)
      return int16_t();
    else
      return int32_t();
  }());
  alignas(32) Word lane[32 / sizeof(Word)];
  _mm256_store_si256(reinterpret_cast<__m256i *>(lane), lanes);
  int64_t count = 0;
  for (Word one : lane)
    count -= one;
  return uint64_t(count);
}

} // namespace

template <class Words>
static void storeExtremes(__m256i mostSigned, __m256i mostUnsigned,
                          __m256i least, Scan &scan) {
  auto greater = [](auto a, auto b) { return a > b; };
  auto less = [](auto a, auto b) { return a < b; };
  if constexpr (Words::bits == 16) {
    scan.mostSigned = foldWords<int16_t>(mostSigned, INT16_MIN, greater);
    scan.mostUnsigned = foldWords<uint16_t>(mostUnsigned, 0, greater);
    scan.least = foldWords<uint16_t>(least, UINT16_MAX, less);
  } else {
    scan.mostSigned = foldWords<int32_t>(mostSigned, INT32_MIN, greater);
    scan.mostUnsigned = foldWords<uint32_t>(mostUnsigned, 0, greater);
    scan.least = foldWords<uint32_t>(least, UINT32_MAX, less);
  }
}

/// How many magnitudes lie in [low, high], patterns of the dtype, with AVX2.
template <class Dtype>
static uint64_t countRange(const void *data, size_t count, uint32_t low,
                           uint32_t high) {
  using Words = typename Dtype::Words;
  const __m256i absMask = Words::set(Words::absMask);
  const __m256i under = Words::set(low - 1), over = Words::set(high + 1);
  __m256i found = _mm256_setzero_si256();
  for (size_t byte = 0; byte < count * Words::bits / 8; byte += 32) {
    __m256i magnitude = _mm256_and_si256(vectorAt(data, byte), absMask);
    found =
        Words::add(found, _mm256_and_si256(Words::greater(magnitude, under),
                                           Words::greater(over, magnitude)));
  }
  return countLanes<Words>(found);
}

/// The dtype's smallest pattern whose value is at least that of FP32 bits.
template <class Dtype> static uint32_t patternFrom(uint32_t bits) {
  uint32_t drop = 23 - Dtype::mantissa;
  uint32_t rebias = (127 - Dtype::bias) << 23;
  return (bits - rebias + (1u << drop) - 1) >> drop;
}

/// The edge counters of the bin with this FP32 exponent field, by ranges;
/// `most` is the block's largest magnitude in the dtype's pattern.
template <class Dtype>
static void countEdgeField(const void *data, size_t count, unsigned field,
                           uint32_t most, Partial &partial) {
  uint32_t binEnd = patternFrom<Dtype>((field + 1) << 23) - 1;
  auto beyond = [&](int format, uint32_t first, uint32_t notFinite) {
    first = patternFrom<Dtype>(first);
    notFinite = patternFrom<Dtype>(notFinite);
    mpopt_edge &edge = partial.edge[format];
    if (most >= first && first <= binEnd)
      edge.beyond_max += Dtype::countRange(data, count, first, binEnd);
    if (most >= notFinite && notFinite <= binEnd)
      edge.not_finite += Dtype::countRange(data, count, notFinite, binEnd);
  };
  auto zero = [&](int format, uint32_t at) {
    at = patternFrom<Dtype>(at);
    partial.edge[format].rounds_to_zero +=
        Dtype::countRange(data, count, at, at);
  };
  switch (field) {
  case 127 + 127:
    return beyond(MPOPT_TO_BF16, 0x7F7F0001u, 0x7F7F8000u);
  case 127 + 15:
    beyond(MPOPT_TO_F16, 0x477FE001u, 0x477FF000u);
    return beyond(MPOPT_TO_E5M2, 0x47600001u, 0x47700000u);
  case 127 + 8:
    return beyond(MPOPT_TO_E4M3, 0x43E00001u, 0x43E80001u);
  case 127 - 10:
    return zero(MPOPT_TO_E4M3, 0x3A800000u);
  case 127 - 17:
    return zero(MPOPT_TO_E5M2, 0x37000000u);
  case 127 - 25:
    return zero(MPOPT_TO_F16, 0x33000000u);
  }
}

/// Whether the edge tests of an FP32 field need a look at single elements.
static bool isEdgeField(unsigned field) {
  constexpr uint8_t edges[] = {127 + 127, 127 + 15, 127 + 8,
                               127 - 10,  127 - 17, 127 - 25};
  for (uint8_t edge : edges)
    if (edge == field)
      return true;
  return false;
}

/// Counts the fields of a block's finite normal values. Returns how many are 0.
template <class Dtype>
static uint64_t countBlockFields(const void *data, size_t count,
                                 uint8_t *fields, uint32_t most,
                                 uint64_t notFinite, Partial &partial) {
  constexpr unsigned rebias = 127 - Dtype::bias;
  auto countEdge = [&](size_t i) {
    uint32_t bits =
        Dtype::Decode::decode(wordAt<Dtype>(data, Dtype::origin(i)));
    partial.countEdges(bits & 0x7FFFFFFFu);
  };
  auto addField = [&](unsigned field, uint64_t times) {
    partial.fields[field + rebias] += times;
    if (!times || !isEdgeField(field + rebias))
      return;
    if (times * 32 < count)
      forField(fields, count, uint8_t(field), countEdge);
    else
      countEdgeField<Dtype>(data, count, field + rebias, most, partial);
  };
  if (partial.window < 0) {
    uint32_t table[256] = {};
    size_t sample = count < 1024 ? count : 1024;
    countAllFields(fields, sample, table);
    partial.window = bestWindow(table, sample, Dtype::top);
    if (partial.window < 0) {
      countAllFields(fields + sample, count - sample, table);
      for (unsigned field = 1; field < Dtype::top; ++field)
        addField(field, table[field]);
      return table[0];
    }
  }
  // Filled up with zeros, which are among the others then.
  size_t whole = (count + Dtype::round - 1) / Dtype::round * Dtype::round;
  __builtin_memset(fields + count, 0, whole - count);
  uint32_t places[kWindow + 1];
  Dtype::countFields(fields, whole, partial.window, places);
  for (int i = 0; i < kWindow; ++i)
    addField(unsigned(partial.window + i), places[i]);
  // What is not finite lies above every window.
  uint64_t others = places[kWindow] - (whole - count) - notFinite;
  if (!others)
    return 0;
  uint64_t zeros = countZeros(fields, count), outliers = others - zeros;
  if (outliers)
    forOutliers(fields, count, partial.window, Dtype::top, [&](size_t i) {
      unsigned field = fields[i] + rebias;
      ++partial.fields[field];
      if (isEdgeField(field))
        countEdge(i);
    });
  if (outliers * 8 > count)
    partial.window = -1;
  return zeros;
}

/// Counts the subnormals and returns how many there are.
template <class Dtype>
static uint64_t countSubnormals(const void *data, size_t count,
                                Partial &partial) {
  using Words = typename Dtype::Words;
  using Word = typename Dtype::Decode::Word;
  const __m256i absMask = Words::set(Words::absMask);
  const __m256i normal = Words::set(1u << Dtype::mantissa);
  const __m256i zero = _mm256_setzero_si256();
  uint64_t found = 0;
  for (size_t byte = 0; byte < count * sizeof(Word); byte += 32) {
    __m256i magnitude = _mm256_and_si256(vectorAt(data, byte), absMask);
    __m256i subnormal = _mm256_and_si256(Words::greater(normal, magnitude),
                                         Words::greater(magnitude, zero));
    // One bit an element, at its first byte.
    uint32_t rest = uint32_t(_mm256_movemask_epi8(subnormal));
    rest &= sizeof(Word) == 2 ? 0x55555555u : 0x11111111u;
    for (; rest; rest &= rest - 1, ++found) {
      size_t i = (byte + size_t(__builtin_ctz(rest))) / sizeof(Word);
      partial.countMagnitude(
          Dtype::Decode::decode(wordAt<Dtype>(data, i) & Words::absMask));
    }
  }
  return found;
}

/// One element at a time, in the lanes where it belongs.
template <class Dtype>
static void countRest(const void *data, size_t from, size_t count, double *sums,
                      double *squares, Partial &partial) {
  for (size_t i = from; i < count; ++i) {
    uint32_t bits = Dtype::Decode::decode(wordAt<Dtype>(data, i));
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude >= kInf32) {
      ++(magnitude > kInf32 ? partial.nan
         : bits >> 31       ? partial.negInf
                            : partial.posInf);
      continue;
    }
    double value = toFloat(bits), positive = toFloat(magnitude);
    partial.widen(value, value);
    if (!magnitude) {
      ++partial.zero;
      continue;
    }
    partial.widenNonzero(positive);
    partial.countMagnitude(magnitude);
    int lane = laneOf<typename Dtype::Decode>(i);
    sums[lane] += value;
    squares[lane] += value * value;
  }
}

/// Extremes from the scan's patterns (see Scan).
template <class Dtype>
static void widenByScan(const Scan &scan, uint64_t zeros, Partial &partial) {
  using Word = typename Dtype::Decode::Word;
  auto valueOf = [](uint32_t pattern) {
    return double(toFloat(Dtype::Decode::decode(Word(pattern))));
  };
  constexpr uint32_t sign = Dtype::Words::absMask + 1;
  bool any = scan.least <= Dtype::Words::absMask;
  double least = any ? valueOf(scan.least + 1) : 0;
  if (any)
    partial.widenNonzero(least);
  if (scan.mostUnsigned > sign)
    partial.widen(-valueOf(scan.mostUnsigned & ~sign),
                  scan.mostSigned > 0 ? valueOf(uint32_t(scan.mostSigned))
                  : zeros             ? 0
                                      : -least);
  else if (any || zeros)
    partial.widen(zeros ? 0 : least,
                  scan.mostSigned > 0 ? valueOf(uint32_t(scan.mostSigned)) : 0);
}

/// The largest magnitude that a scan met.
template <class Dtype> static uint32_t mostOf(const Scan &scan) {
  uint32_t positive = scan.mostSigned > 0 ? uint32_t(scan.mostSigned) : 0;
  uint32_t negative = scan.mostUnsigned > Dtype::Words::absMask
                          ? scan.mostUnsigned & Dtype::Words::absMask
                          : 0;
  return positive > negative ? positive : negative;
}

/// One block, of which `whole` elements go by vectors. What it adds to `all`
/// and `fields` is counted by the caller.
template <class Dtype>
static void sumBlock(const void *data, size_t count, size_t whole,
                     uint8_t *fields, Scan &all, Partial &partial) {
  Scan scan;
  if (whole) {
    if (!partial.special)
      Dtype::template scan<false>(data, whole, scan, fields);
    if (partial.special || mostOf<Dtype>(scan) >= Dtype::inf) {
      scan = Scan();
      Dtype::template scan<true>(data, whole, scan, fields);
    }
    partial.special = scan.nan + scan.posInf + scan.negInf != 0;
    if constexpr (Dtype::top == 255 && Dtype::Words::bits == 16)
      if (mostOf<Dtype>(scan) >= kShortSumEnd ||
          scan.least + 1 < kShortSumBegin) {
        __builtin_memset(scan.sums, 0, sizeof(scan.sums));
        __builtin_memset(scan.squares, 0, sizeof(scan.squares));
        sumWide<typename Dtype::Decode>(data, 0, whole, scan.sums,
                                        scan.squares);
      }
    all.mostSigned =
        scan.mostSigned > all.mostSigned ? scan.mostSigned : all.mostSigned;
    all.mostUnsigned = scan.mostUnsigned > all.mostUnsigned ? scan.mostUnsigned
                                                            : all.mostUnsigned;
    all.least = scan.least < all.least ? scan.least : all.least;
    all.nan += scan.nan;
    all.posInf += scan.posInf;
    all.negInf += scan.negInf;
  }
  countRest<Dtype>(data, whole, count, scan.sums, scan.squares, partial);
  mpopt_exact_sum_add(&partial.sum, foldLanes(scan.sums));
  mpopt_exact_sum_add(&partial.sumSquares, foldLanes(scan.squares));
}

/// Up to kTile elements: sums block by block, fields all together.
template <class Dtype>
static void floatTile(const void *data, size_t count, Partial &partial) {
  constexpr size_t bytes = sizeof(typename Dtype::Decode::Word);
  alignas(64) uint8_t fields[kTile];
  Scan all;
  size_t whole = 0;
  for (size_t at = 0; at < count; at += kBlock) {
    size_t here = count - at < kBlock ? count - at : kBlock;
    // The tables of fields only pay for themselves with enough elements.
    size_t part = shortSumCount(here);
    sumBlock<Dtype>(static_cast<const char *>(data) + at * bytes, here, part,
                    fields + at, all, partial);
    whole = part ? at + part : whole;
  }
  if (!whole)
    return;
  uint64_t zeros =
      countBlockFields<Dtype>(data, whole, fields, mostOf<Dtype>(all),
                              all.nan + all.posInf + all.negInf, partial);
  // Field 0 is zero or subnormal.
  if (all.least < (1u << Dtype::mantissa) - 1)
    zeros -= countSubnormals<Dtype>(data, whole, partial);
  partial.zero += zeros;
  partial.nan += all.nan;
  partial.posInf += all.posInf;
  partial.negInf += all.negInf;
  widenByScan<Dtype>(all, zeros, partial);
}

#endif // MPOPT_KERNELS_LIB_FLOATBLOCK_H
