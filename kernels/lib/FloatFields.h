//===- FloatFields.h - What a block's exponent fields tell ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most of a block's elements are counted by their fields alone. Values in a bin
// with a format's edge, subnormals and fields outside the window take a second
// look at the block.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_FLOATFIELDS_H
#define MPOPT_KERNELS_LIB_FLOATFIELDS_H

#include "Avx2Fields.h"
#include "OneByOne.h"
#include "VectorWords.h"

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

/// True if the format tests of an FP32 exponent field need single elements.
static bool isEdgeField(unsigned field) {
  constexpr uint8_t edges[] = {127 + 127, 127 + 15, 127 + 8,
                               127 - 10,  127 - 17, 127 - 25};
  for (uint8_t edge : edges)
    if (edge == field)
      return true;
  return false;
}

/// True if only a value that is exactly 2^(field - 127) is at the edge.
static bool isPowerField(unsigned field) {
  return field < 127 && isEdgeField(field);
}

/// Windows are counted down from the largest magnitude. A table counts what
/// lies below so many of them, unless it is few.
constexpr int kWindows = 3;

/// Counts the fields of a block's finite normal values, of which none is a
/// power of two unless there are `powers`. Returns how many are 0.
template <class Dtype>
static uint64_t
countBlockFields(const void *data, size_t count, uint8_t *fields, uint32_t most,
                 uint64_t notFinite, bool powers, Partial &partial) {
  constexpr unsigned rebias = 127 - Dtype::bias;
  auto countEdge = [&](size_t i) {
    uint32_t bits = Dtype::Decode::decode(
        wordAt<typename Dtype::Decode::Word>(data, Dtype::origin(i)));
    partial.countEdges(bits & 0x7FFFFFFFu);
  };
  auto addField = [&](unsigned field, uint64_t times) {
    partial.fields[field + rebias] += times;
    if (!times || !isEdgeField(field + rebias) ||
        (!powers && isPowerField(field + rebias)))
      return;
    if (times * 32 < count)
      forField(fields, count, uint8_t(field), countEdge);
    else
      countEdgeField<Dtype>(data, count, field + rebias, most, partial);
  };
  // No field is above that of the largest finite magnitude.
  const int top = int(most >> Dtype::mantissa);
  // Filled up with what is above every window.
  size_t whole = (count + Dtype::round - 1) / Dtype::round * Dtype::round;
  __builtin_memset(fields + count, 0xFF, whole - count);
  // Those from `begin` on are counted; `below` are the others, zeros too.
  int begin = top + 1;
  uint64_t below = count - notFinite, zeros = 0, few = count / 64;
  for (int i = 0; i < kWindows && below > few && begin > 1; ++i) {
    int end = begin;
    begin = end > kWindow ? end - kWindow : 1;
    uint32_t places[kWindow + 1];
    Dtype::countFields(fields, whole, begin, places);
    for (int field = begin; field < end; ++field) {
      below -= places[field - begin];
      addField(unsigned(field), places[field - begin]);
    }
    if (!i && below > few)
      zeros = countZeros(fields, count);
    // The rest is zeros, or lies far down.
    if (zeros == below || (i && below - zeros > count / 4))
      break;
  }
  if (begin == 1 || zeros == below)
    return below;
  if (below - zeros > few) {
    uint32_t table[256] = {};
    countAllFields(fields, count, table);
    for (int field = 1; field < begin; ++field)
      if (table[field])
        addField(unsigned(field), table[field]);
    return table[0];
  }
  // Zeros are looked at, too, if they are few.
  forFields<typename Dtype::FieldBytes>(fields, whole, zeros ? 1 : 0, begin,
                                        [&](size_t i) {
                                          if (!fields[i]) {
                                            ++zeros;
                                            return;
                                          }
                                          unsigned field = fields[i] + rebias;
                                          ++partial.fields[field];
                                          if (isEdgeField(field))
                                            countEdge(i);
                                        });
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
          Dtype::Decode::decode(wordAt<Word>(data, i) & Words::absMask));
    }
  }
  return found;
}

#endif // MPOPT_KERNELS_LIB_FLOATFIELDS_H
