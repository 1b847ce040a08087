//===- BlockAvx512.cpp - One block of elements with AVX-512
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// FP32, FP16 and BF16, sixteen lanes of sums in one register and a carry-save
// adder in two instructions. All that is rare is done with AVX2's code.
//
//===----------------------------------------------------------------------===//

#include "Partial.h"

#include "Avx512.h"

using namespace mpopt::kernels;

#include "FloatBlock.h"

namespace {

constexpr size_t kWideRound = 16 * 64;
static_assert(kTile % kWideRound == 0 && kTile / kWideRound <= 255 &&
              kChain % 32 == 0);

/// As BitCounter of Avx2Fields.h.
class WideBitCounter {
public:
  // Written out, so that it is compiled for AVX-512 as what is around it.
  WideBitCounter() {}

  template <class At> void add(At at) {
    __m512i twosA, twosB, foursA, foursB, eightsA, eightsB, sixteens;
    addBits(twosA, ones, at(0), at(1));
    addBits(twosB, ones, at(2), at(3));
    addBits(foursA, twos, twosA, twosB);
    addBits(twosA, ones, at(4), at(5));
    addBits(twosB, ones, at(6), at(7));
    addBits(foursB, twos, twosA, twosB);
    addBits(eightsA, fours, foursA, foursB);
    addBits(twosA, ones, at(8), at(9));
    addBits(twosB, ones, at(10), at(11));
    addBits(foursA, twos, twosA, twosB);
    addBits(twosA, ones, at(12), at(13));
    addBits(twosB, ones, at(14), at(15));
    addBits(foursB, twos, twosA, twosB);
    addBits(eightsB, fours, foursA, foursB);
    addBits(sixteens, eights, eightsA, eightsB);
    const __m512i low = _mm512_set1_epi8(1);
    for (unsigned bit = 0; bit < 8; ++bit)
      rounds[bit] = _mm512_add_epi8(
          rounds[bit], _mm512_and_si512(_mm512_srli_epi16(sixteens, bit), low));
  }

  void totals(uint32_t *total) const {
    for (unsigned bit = 0; bit < 8; ++bit) {
      __m512i sums = _mm512_sad_epu8(rounds[bit], _mm512_setzero_si512());
      total[bit] = uint32_t(16 * uint64_t(_mm512_reduce_add_epi64(sums)) +
                            8 * count(eights, bit) + 4 * count(fours, bit) +
                            2 * count(twos, bit) + count(ones, bit));
    }
  }

private:
  static void addBits(__m512i &high, __m512i &low, __m512i a, __m512i b) {
    // Truth tables of majority and of parity.
    high = _mm512_ternarylogic_epi64(low, a, b, 0xE8);
    low = _mm512_ternarylogic_epi64(low, a, b, 0x96);
  }
  static uint64_t count(__m512i bits, unsigned bit) {
    __mmask64 set =
        _mm512_test_epi8_mask(bits, _mm512_set1_epi8(char(1 << bit)));
    return uint64_t(__builtin_popcountll(set));
  }

  __m512i ones = _mm512_setzero_si512(), twos = ones, fours = ones,
          eights = ones;
  __m512i rounds[8] = {ones, ones, ones, ones, ones, ones, ones, ones};
};

/// As countFields of Avx2Fields.h; `count` is a multiple of kWideRound.
void countWideFields(const uint8_t *fields, size_t count, int window,
                     uint32_t *places) {
  const __m512i first = _mm512_set1_epi8(char(window));
  const __m512i last = _mm512_set1_epi8(kWindow);
  const __m512i lowBits = _mm512_broadcast_i32x4(
      _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
  const __m512i highBits = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128));
  WideBitCounter low, high;
  for (size_t at = 0; at < count; at += kWideRound) {
    __m512i place[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m512i field = _mm512_load_si512(fields + at + 64 * i);
      place[i] = _mm512_min_epu8(_mm512_sub_epi8(field, first), last);
    }
    low.add([&](int i) { return _mm512_shuffle_epi8(lowBits, place[i]); });
    high.add([&](int i) { return _mm512_shuffle_epi8(highBits, place[i]); });
  }
  low.totals(places);
  high.totals(places + 8);
}

/// Element i in lane i mod 16, in double.
class WideSums {
public:
  WideSums() {}
  void add(__m512 value) {
    __m512d first = _mm512_cvtps_pd(_mm512_castps512_ps256(value));
    __m512d second = _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1));
    sums[0] = _mm512_add_pd(sums[0], first);
    sums[1] = _mm512_add_pd(sums[1], second);
    // Squares of 24 bits are exact in double.
    squares[0] = _mm512_fmadd_pd(first, first, squares[0]);
    squares[1] = _mm512_fmadd_pd(second, second, squares[1]);
  }
  void flush() {}
  void store(Scan &scan) const {
    for (int i = 0; i < 2; ++i) {
      _mm512_store_pd(scan.sums + 8 * i, sums[i]);
      _mm512_store_pd(scan.squares + 8 * i, squares[i]);
    }
  }

private:
  __m512d sums[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
  __m512d squares[2] = {sums[0], sums[0]};
};

/// In FP32 over kChain elements, then in double.
class ShortSums {
public:
  ShortSums() {}
  void add(__m512 value) {
    sum = _mm512_add_ps(sum, value);
    square = _mm512_fmadd_ps(value, value, square);
  }
  void flush() {
    widen(wideSums, sum);
    widen(wideSquares, square);
    sum = square = _mm512_setzero_ps();
  }
  void store(Scan &scan) const {
    for (int i = 0; i < 2; ++i) {
      _mm512_store_pd(scan.sums + 8 * i, wideSums[i]);
      _mm512_store_pd(scan.squares + 8 * i, wideSquares[i]);
    }
  }

private:
  static void widen(__m512d *to, __m512 value) {
    to[0] =
        _mm512_add_pd(to[0], _mm512_cvtps_pd(_mm512_castps512_ps256(value)));
    to[1] =
        _mm512_add_pd(to[1], _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1)));
  }
  __m512 sum = _mm512_setzero_ps(), square = _mm512_setzero_ps();
  __m512d wideSums[2] = {_mm512_setzero_pd(), _mm512_setzero_pd()};
  __m512d wideSquares[2] = {wideSums[0], wideSums[0]};
};

/// What a vector of 16-bit or 32-bit words needs.
struct NarrowVector {
  static __m512i set(uint32_t word) { return _mm512_set1_epi16(short(word)); }
  static __m512i sub(__m512i a, __m512i b) { return _mm512_sub_epi16(a, b); }
  static __m512i mostSigned(__m512i a, __m512i b) {
    return _mm512_max_epi16(a, b);
  }
  static __m512i mostUnsigned(__m512i a, __m512i b) {
    return _mm512_max_epu16(a, b);
  }
  static __m512i leastUnsigned(__m512i a, __m512i b) {
    return _mm512_min_epu16(a, b);
  }
  static uint64_t countEqual(__m512i a, __m512i b) {
    return uint64_t(__builtin_popcountll(_mm512_cmpeq_epi16_mask(a, b)));
  }
  static uint64_t countGreater(__m512i a, __m512i b) {
    return uint64_t(__builtin_popcountll(_mm512_cmpgt_epi16_mask(a, b)));
  }
  static uint64_t countBetween(__m512i a, __m512i from, __m512i to) {
    return uint64_t(__builtin_popcount(
        _mm512_mask_cmple_epu16_mask(_mm512_cmpge_epu16_mask(a, from), a, to)));
  }
  /// `a`, zero where the magnitude is not below `end`.
  static __m512i below(__m512i magnitude, __m512i end, __m512i a) {
    return _mm512_maskz_mov_epi16(_mm512_cmplt_epi16_mask(magnitude, end), a);
  }
};

struct FullVector {
  static __m512i set(uint32_t word) { return _mm512_set1_epi32(int(word)); }
  static __m512i sub(__m512i a, __m512i b) { return _mm512_sub_epi32(a, b); }
  static __m512i mostSigned(__m512i a, __m512i b) {
    return _mm512_max_epi32(a, b);
  }
  static __m512i mostUnsigned(__m512i a, __m512i b) {
    return _mm512_max_epu32(a, b);
  }
  static __m512i leastUnsigned(__m512i a, __m512i b) {
    return _mm512_min_epu32(a, b);
  }
  static uint64_t countEqual(__m512i a, __m512i b) {
    return uint64_t(__builtin_popcount(_mm512_cmpeq_epi32_mask(a, b)));
  }
  static uint64_t countGreater(__m512i a, __m512i b) {
    return uint64_t(__builtin_popcount(_mm512_cmpgt_epi32_mask(a, b)));
  }
  static uint64_t countBetween(__m512i a, __m512i from, __m512i to) {
    return uint64_t(__builtin_popcount(
        _mm512_mask_cmple_epu32_mask(_mm512_cmpge_epu32_mask(a, from), a, to)));
  }
  static __m512i below(__m512i magnitude, __m512i end, __m512i a) {
    return _mm512_maskz_mov_epi32(_mm512_cmplt_epi32_mask(magnitude, end), a);
  }
};

/// As scanBlock of BlockAvx2.cpp.
template <class Dtype, bool special>
void scanBlock(const void *data, size_t count, Scan &scan, uint8_t *fields) {
  using Vector = typename Dtype::Vector;
  constexpr uint32_t sign = Dtype::Words::absMask + 1;
  constexpr int words = 512 / Dtype::Words::bits;
  const __m512i absMask = Vector::set(Dtype::Words::absMask);
  const __m512i inf = Vector::set(Dtype::inf), one = Vector::set(1);
  const __m512i minusInf = Vector::set(Dtype::inf | sign);
  __m512i mostSigned = Vector::set(sign), mostUnsigned = _mm512_setzero_si512();
  __m512i least = Vector::set(~0u);
  typename Dtype::Sums sums;
  for (size_t chain = 0; chain < count; chain += kChain) {
    size_t end = count < chain + kChain ? count : chain + kChain;
    for (size_t at = chain; at < end; at += words) {
      __m512i word = _mm512_loadu_si512(static_cast<const char *>(data) +
                                        at * (Dtype::Words::bits / 8));
      __m512i magnitude = _mm512_and_si512(word, absMask);
      Dtype::storeFields(fields + at, magnitude);
      if constexpr (special) {
        scan.nan += Vector::countGreater(magnitude, inf);
        scan.posInf += Vector::countEqual(word, inf);
        scan.negInf += Vector::countEqual(word, minusInf);
        word = Vector::below(magnitude, inf, word);
        magnitude = Vector::below(magnitude, inf, magnitude);
      }
      mostSigned = Vector::mostSigned(mostSigned, word);
      mostUnsigned = Vector::mostUnsigned(mostUnsigned, word);
      least = Vector::leastUnsigned(least, Vector::sub(magnitude, one));
      Dtype::sum(sums, word);
    }
    sums.flush();
  }
  using Half = typename Dtype::Words;
  auto low = [](__m512i v) { return _mm512_castsi512_si256(v); };
  auto high = [](__m512i v) { return _mm512_extracti64x4_epi64(v, 1); };
  storeExtremes<Half>(Half::mostSigned(low(mostSigned), high(mostSigned)),
                      Half::mostUnsigned(low(mostUnsigned), high(mostUnsigned)),
                      Half::leastUnsigned(low(least), high(least)), scan);
  sums.store(scan);
}

/// What the dtypes share: fields lie in the buffer as elements do in memory.
template <class Dtype> struct Avx512Dtype {
  static constexpr size_t round = kWideRound;
  template <bool special>
  static void scan(const void *data, size_t count, Scan &scan,
                   uint8_t *fields) {
    scanBlock<Dtype, special>(data, count, scan, fields);
  }
  static void countFields(const uint8_t *fields, size_t count, int window,
                          uint32_t *places) {
    countWideFields(fields, count, window, places);
  }
  static uint64_t countRange(const void *data, size_t count, uint32_t low,
                             uint32_t high) {
    using Vector = typename Dtype::Vector;
    const __m512i absMask = Vector::set(Dtype::Words::absMask);
    const __m512i from = Vector::set(low), to = Vector::set(high);
    uint64_t found = 0;
    for (size_t byte = 0; byte < count * Dtype::Words::bits / 8; byte += 64)
      found += Vector::countBetween(
          _mm512_and_si512(
              _mm512_loadu_si512(static_cast<const char *>(data) + byte),
              absMask),
          from, to);
    return found;
  }
  static size_t origin(size_t i) { return i; }
};

struct F32 : Avx512Dtype<F32> {
  using Decode = DecodeF32;
  using Words = Full;
  using Vector = FullVector;
  using Sums = WideSums;
  static constexpr unsigned mantissa = 23, top = 255, bias = 127;
  static constexpr uint32_t inf = kInf32;
  static void sum(Sums &sums, __m512i words) {
    sums.add(_mm512_castsi512_ps(words));
  }
  static void storeFields(uint8_t *to, __m512i magnitude) {
    _mm_store_si128(reinterpret_cast<__m128i *>(to),
                    _mm512_cvtepi32_epi8(_mm512_srli_epi32(magnitude, 23)));
  }
};

template <unsigned shift> struct StoreNarrow {
  static void storeFields(uint8_t *to, __m512i magnitude) {
    _mm256_store_si256(
        reinterpret_cast<__m256i *>(to),
        _mm512_cvtepi16_epi8(_mm512_srli_epi16(magnitude, shift)));
  }
};

struct F16 : StoreNarrow<10>, Avx512Dtype<F16> {
  using Decode = DecodeF16;
  using Words = Narrow;
  using Vector = NarrowVector;
  using Sums = ShortSums;
  static constexpr unsigned mantissa = 10, top = 31, bias = 15;
  static constexpr uint32_t inf = 0x7C00;
  static void sum(Sums &sums, __m512i words) {
    sums.add(_mm512_cvtph_ps(_mm512_castsi512_si256(words)));
    sums.add(_mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1)));
  }
};

struct BF16 : StoreNarrow<7>, Avx512Dtype<BF16> {
  using Decode = DecodeBF16;
  using Words = Narrow;
  using Vector = NarrowVector;
  using Sums = ShortSums;
  static constexpr unsigned mantissa = 7, top = 255, bias = 127;
  static constexpr uint32_t inf = 0x7F80;
  /// Of each sixteen elements those at even places, then those at odd ones
  /// (laneOf): to the upper half of each 32-bit lane, zeros below.
  static void sum(Sums &sums, __m512i words) {
    constexpr __mmask32 upper = 0xAAAAAAAAu;
    const __m512i order =
        _mm512_set_epi16(15, 0, 13, 0, 11, 0, 9, 0, 7, 0, 5, 0, 3, 0, 1, 0, //
                         14, 0, 12, 0, 10, 0, 8, 0, 6, 0, 4, 0, 2, 0, 0, 0);
    const __m512i next = _mm512_add_epi16(order, _mm512_set1_epi16(16));
    sums.add(_mm512_castsi512_ps(
        _mm512_maskz_permutexvar_epi16(upper, order, words)));
    sums.add(_mm512_castsi512_ps(
        _mm512_maskz_permutexvar_epi16(upper, next, words)));
  }
};

} // namespace

DtypeKernel mpopt::kernels::avx512Kernel(uint32_t dtype) {
  switch (dtype) {
  case MPOPT_F32:
    return {floatTile<F32>, 4, true, nullptr, kTile};
  case MPOPT_F16:
    return {floatTile<F16>, 2, true, nullptr, kTile};
  case MPOPT_BF16:
    return {floatTile<BF16>, 2, true, nullptr, kTile};
  }
  return {};
}

MPOPT_AVX512_END
