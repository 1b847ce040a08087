//===- BlockAvx2.cpp - One block of elements, a vector at a time
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FP32, FP16 and BF16. Called only where the processor has AVX2, FMA and F16C.
//
// A block is read once from memory: extremes and sums go through registers, and
// exponent fields, as bytes, to a buffer that the first-level cache holds,
// where they are counted. What is rare in a tensor costs a second look at the
// block: Inf and NaN, subnormals, values in a bin with a format's edge.
//
//===----------------------------------------------------------------------===//

#include "Partial.h"

#include "Avx2.h"

using namespace mpopt::kernels;

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
  alignas(32) double sums[kLanes] = {};
  alignas(32) double squares[kLanes] = {};
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

/// Sums in double, element i in lane i mod 16.
class WideSums {
public:
  // Written out, so that it is compiled for AVX2 as what is around it.
  WideSums() {}

  /// The `v`-th vector of eight elements.
  void add(int v, __m256 value) {
    __m256d first = _mm256_cvtps_pd(_mm256_castps256_ps128(value));
    __m256d second = _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));
    int lane = v % 2 * 2;
    sums[lane] = _mm256_add_pd(sums[lane], first);
    sums[lane + 1] = _mm256_add_pd(sums[lane + 1], second);
    // The square of 24 bits is exact in double, so this rounds as a
    // multiplication and an addition would.
    squares[lane] = _mm256_fmadd_pd(first, first, squares[lane]);
    squares[lane + 1] = _mm256_fmadd_pd(second, second, squares[lane + 1]);
  }
  void flush() {}
  void store(Scan &scan) const {
    for (int i = 0; i < 4; ++i) {
      _mm256_store_pd(scan.sums + 4 * i, sums[i]);
      _mm256_store_pd(scan.squares + 4 * i, squares[i]);
    }
  }

private:
  __m256d sums[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(),
                     _mm256_setzero_pd(), _mm256_setzero_pd()};
  __m256d squares[4] = {sums[0], sums[0], sums[0], sums[0]};
};

/// Sums in FP32 over kChain elements, then in double.
class ShortSums {
public:
  ShortSums() {}

  void add(int v, __m256 value) {
    sums[v % 2] = _mm256_add_ps(sums[v % 2], value);
    squares[v % 2] = _mm256_fmadd_ps(value, value, squares[v % 2]);
  }
  void flush() {
    for (int i = 0; i < 2; ++i) {
      widen(wideSums + 2 * i, sums[i]);
      widen(wideSquares + 2 * i, squares[i]);
      sums[i] = squares[i] = _mm256_setzero_ps();
    }
  }
  void store(Scan &scan) const {
    for (int i = 0; i < 4; ++i) {
      _mm256_store_pd(scan.sums + 4 * i, wideSums[i]);
      _mm256_store_pd(scan.squares + 4 * i, wideSquares[i]);
    }
  }

private:
  static void widen(__m256d *to, __m256 value) {
    to[0] =
        _mm256_add_pd(to[0], _mm256_cvtps_pd(_mm256_castps256_ps128(value)));
    to[1] =
        _mm256_add_pd(to[1], _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1)));
  }
  __m256 sums[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  __m256 squares[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  __m256d wideSums[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(),
                         _mm256_setzero_pd(), _mm256_setzero_pd()};
  __m256d wideSquares[4] = {wideSums[0], wideSums[0], wideSums[0], wideSums[0]};
};

/// A dtype: its words, and what to do with vectors of them. kOrigin says where
/// byte i of 32 packed fields comes from, since packing interleaves the 128-bit
/// halves.
struct F32 {
  using Decode = DecodeF32;
  using Words = Full;
  using Sums = WideSums;
  static constexpr unsigned mantissa = 23, top = 255, bias = 127;
  static constexpr uint32_t inf = kInf32;
  static constexpr uint8_t kOrigin[32] = {
      0, 1, 2, 3, 8,  9,  10, 11, 16, 17, 18, 19, 24, 25, 26, 27,
      4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31};
  static void sum(Sums &sums, const __m256i *words) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      sums.add(v, _mm256_castsi256_ps(words[v]));
  }
  static __m256i pack(const __m256i *magnitude) {
    __m256i field[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v)
      field[v] = _mm256_srli_epi32(magnitude[v], 23);
    return _mm256_packus_epi16(_mm256_packus_epi32(field[0], field[1]),
                               _mm256_packus_epi32(field[2], field[3]));
  }
};

template <unsigned shift> struct PackNarrow {
  static constexpr uint8_t kOrigin[32] = {
      0, 1, 2,  3,  4,  5,  6,  7,  16, 17, 18, 19, 20, 21, 22, 23,
      8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31};
  static __m256i pack(const __m256i *magnitude) {
    return _mm256_packus_epi16(_mm256_srli_epi16(magnitude[0], shift),
                               _mm256_srli_epi16(magnitude[1], shift));
  }
};

struct F16 : PackNarrow<10> {
  using Decode = DecodeF16;
  using Words = Narrow;
  using Sums = ShortSums;
  static constexpr unsigned mantissa = 10, top = 31, bias = 15;
  static constexpr uint32_t inf = 0x7C00;
  static void sum(Sums &sums, const __m256i *words) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      sums.add(0, _mm256_cvtph_ps(_mm256_castsi256_si128(words[v])));
      sums.add(1, _mm256_cvtph_ps(_mm256_extracti128_si256(words[v], 1)));
    }
  }
};

struct BF16 : PackNarrow<7> {
  using Decode = DecodeBF16;
  using Words = Narrow;
  using Sums = ShortSums;
  static constexpr unsigned mantissa = 7, top = 255, bias = 127;
  static constexpr uint32_t inf = 0x7F80;
  /// Elements at even places, then those at odd ones (laneOf).
  static void sum(Sums &sums, const __m256i *words) {
    const __m256i odd = _mm256_set1_epi32(int(0xFFFF0000u));
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      sums.add(0, _mm256_castsi256_ps(_mm256_slli_epi32(words[v], 16)));
      sums.add(1, _mm256_castsi256_ps(_mm256_and_si256(words[v], odd)));
    }
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

/// Elements [0, count), a multiple of 32. With `special` they may be Inf or
/// NaN; without it those spoil the result, and the extremes tell.
template <class Dtype, bool special>
static void scanBlock(const void *data, size_t count, Scan &scan,
                      uint8_t *fields) {
  using Words = typename Dtype::Words;
  constexpr int vectors = Words::bits / 8;
  const __m256i absMask = Words::set(Words::absMask);
  const __m256i inf = Words::set(Dtype::inf);
  const __m256i minusInf = Words::set(Dtype::inf | (Words::absMask + 1));
  const __m256i one = Words::set(1), zero = _mm256_setzero_si256();
  __m256i mostSigned = Words::set(Words::absMask + 1), mostUnsigned = zero;
  __m256i least = Words::set(~0u);
  __m256i nans = zero, posInfs = zero, negInfs = zero;
  typename Dtype::Sums sums;

  for (size_t chain = 0; chain < count; chain += kChain) {
    size_t end = count < chain + kChain ? count : chain + kChain;
    for (size_t at = chain; at < end; at += 32) {
      __m256i word[vectors], magnitude[vectors];
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        word[v] = vectorAt(data, at * (Words::bits / 8) + 32 * v);
        magnitude[v] = _mm256_and_si256(word[v], absMask);
      }
      _mm256_store_si256(reinterpret_cast<__m256i *>(fields + at),
                         Dtype::pack(magnitude));
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) {
        if constexpr (special) {
          __m256i finite = Words::greater(inf, magnitude[v]);
          nans = Words::add(nans, Words::greater(magnitude[v], inf));
          posInfs = Words::add(posInfs, Words::equal(word[v], inf));
          negInfs = Words::add(negInfs, Words::equal(word[v], minusInf));
          magnitude[v] = _mm256_and_si256(magnitude[v], finite);
          word[v] = _mm256_and_si256(word[v], finite);
        }
        mostSigned = Words::mostSigned(mostSigned, word[v]);
        mostUnsigned = Words::mostUnsigned(mostUnsigned, word[v]);
        least = Words::leastUnsigned(least, Words::sub(magnitude[v], one));
      }
      Dtype::sum(sums, word);
    }
    sums.flush();
  }
  storeExtremes<Words>(mostSigned, mostUnsigned, least, scan);
  sums.store(scan);
  if constexpr (special) {
    scan.nan = countLanes<Words>(nans);
    scan.posInf = countLanes<Words>(posInfs);
    scan.negInf = countLanes<Words>(negInfs);
  }
}

/// How many magnitudes lie in [low, high], patterns of the dtype.
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
      edge.beyond_max += countRange<Dtype>(data, count, first, binEnd);
    if (most >= notFinite && notFinite <= binEnd)
      edge.not_finite += countRange<Dtype>(data, count, notFinite, binEnd);
  };
  auto zero = [&](int format, uint32_t at) {
    at = patternFrom<Dtype>(at);
    partial.edge[format].rounds_to_zero +=
        countRange<Dtype>(data, count, at, at);
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
    size_t from = i / 32 * 32 + Dtype::kOrigin[i % 32];
    partial.countEdges(Dtype::Decode::decode(wordAt<Dtype>(data, from)) &
                       0x7FFFFFFFu);
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
    countAllFields(fields, count, table);
    for (unsigned field = 1; field < Dtype::top; ++field)
      addField(field, table[field]);
    partial.window = bestWindow(table, count, Dtype::top);
    return table[0];
  }
  // Filled up with zeros, which are taken off again.
  size_t whole = (count + kRound - 1) / kRound * kRound;
  uint32_t added = uint32_t(whole - count);
  __builtin_memset(fields + count, 0, added);
  FieldCounts counts = countFields(fields, whole, partial.window);
  for (int i = 0; i < kWindow; ++i)
    addField(unsigned(partial.window + i), counts.place[i]);
  // What is not finite lies above every window.
  uint64_t outliers = counts.place[kWindow] - counts.zeros - notFinite;
  if (outliers)
    forOutliers(fields, count, partial.window, Dtype::top, [&](size_t i) {
      unsigned field = fields[i] + rebias;
      ++partial.fields[field];
      if (isEdgeField(field))
        countEdge(i);
    });
  if (outliers * 8 > count)
    partial.window = -1;
  return counts.zeros - added;
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

template <class Dtype>
static void floatBlock(const void *data, size_t count, Partial &partial) {
  alignas(32) uint8_t fields[kBlock];
  // The tables of fields only pay for themselves with enough elements.
  size_t whole = shortSumCount(count);
  Scan scan;
  if (whole) {
    auto most = [&] {
      uint32_t positive = scan.mostSigned > 0 ? uint32_t(scan.mostSigned) : 0;
      uint32_t negative = scan.mostUnsigned > Dtype::Words::absMask
                              ? scan.mostUnsigned & Dtype::Words::absMask
                              : 0;
      return positive > negative ? positive : negative;
    };
    if (!partial.special)
      scanBlock<Dtype, false>(data, whole, scan, fields);
    if (partial.special || most() >= Dtype::inf) {
      scan = Scan();
      scanBlock<Dtype, true>(data, whole, scan, fields);
    }
    uint64_t notFinite = scan.nan + scan.posInf + scan.negInf;
    partial.special = notFinite != 0;
    uint64_t zeros = countBlockFields<Dtype>(data, whole, fields, most(),
                                             notFinite, partial);
    // Field 0 is zero or subnormal.
    if (scan.least < (1u << Dtype::mantissa) - 1)
      zeros -= countSubnormals<Dtype>(data, whole, partial);
    partial.zero += zeros;
    partial.nan += scan.nan;
    partial.posInf += scan.posInf;
    partial.negInf += scan.negInf;
    widenByScan<Dtype>(scan, zeros, partial);
    if constexpr (Dtype::top == 255 && Dtype::Words::bits == 16)
      if (most() >= kShortSumEnd || scan.least + 1 < kShortSumBegin) {
        __builtin_memset(scan.sums, 0, sizeof(scan.sums));
        __builtin_memset(scan.squares, 0, sizeof(scan.squares));
        sumWide<typename Dtype::Decode>(data, 0, whole, scan.sums,
                                        scan.squares);
      }
  }
  countRest<Dtype>(data, whole, count, scan.sums, scan.squares, partial);
  mpopt_exact_sum_add(&partial.sum, foldLanes(scan.sums));
  mpopt_exact_sum_add(&partial.sumSquares, foldLanes(scan.squares));
}

DtypeKernel mpopt::kernels::avx2Kernel(uint32_t dtype) {
  switch (dtype) {
  case MPOPT_F64:
    return {avx2WideBlock, 8, true};
  case MPOPT_F32:
    return {floatBlock<F32>, 4, true};
  case MPOPT_F16:
    return {floatBlock<F16>, 2, true};
  case MPOPT_BF16:
    return {floatBlock<BF16>, 2, true};
  }
  return {};
}

MPOPT_AVX2_END
