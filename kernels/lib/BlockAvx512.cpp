//===- BlockAvx512.cpp - One block of elements with AVX-512
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Vectors of 64 bytes.
struct Bytes {
  using Vector = __m512i;
  static Vector set(char byte) { return _mm512_set1_epi8(byte); }
  static Vector repeat(__m128i quarter) {
    return _mm512_broadcast_i32x4(quarter);
  }
  static Vector load(const uint8_t *from) { return _mm512_load_si512(from); }
  /// A bit for each field that is less than `range` above `first`, or at it.
  static uint64_t below(Vector field, Vector first, Vector range) {
    return _mm512_cmplt_epu8_mask(_mm512_sub_epi8(field, first), range);
  }
  static Vector placeOf(Vector field, Vector first, Vector last) {
    return _mm512_min_epu8(_mm512_sub_epi8(field, first), last);
  }
  static Vector lookUp(Vector table, Vector place) {
    return _mm512_shuffle_epi8(table, place);
  }
  static void addBits(Vector &high, Vector &low, Vector a, Vector b) {
    // Truth tables of majority and of parity.
    high = _mm512_ternarylogic_epi64(low, a, b, 0xE8);
    low = _mm512_ternarylogic_epi64(low, a, b, 0x96);
  }
  static Vector addBit(Vector to, Vector bits, int bit) {
    return _mm512_add_epi8(
        to, _mm512_and_si512(_mm512_srli_epi16(bits, unsigned(bit)),
                             _mm512_set1_epi8(1)));
  }
  static uint64_t sum(Vector bytes) {
    return uint64_t(_mm512_reduce_add_epi64(
        _mm512_sad_epu8(bytes, _mm512_setzero_si512())));
  }
  static uint64_t count(Vector bits, int bit) {
    __mmask64 set =
        _mm512_test_epi8_mask(bits, _mm512_set1_epi8(char(1 << bit)));
    return uint64_t(__builtin_popcountll(set));
  }
};

constexpr size_t kRound = 16 * 64;
static_assert(kTile % kRound == 0 && kTile / kRound <= 255 && kChain % 32 == 0);

/// Vectors of sixteen floats.
struct Lanes {
  using Floats = __m512;
  using Doubles = __m512d;
  static constexpr int count = 16;
  static Doubles low(Floats value) {
    return _mm512_cvtps_pd(_mm512_castps512_ps256(value));
  }
  static Doubles high(Floats value) {
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(value, 1));
  }
  static Floats addProduct(Floats to, Floats a, Floats b) {
    return _mm512_fmadd_ps(a, b, to);
  }
  static Doubles addProduct(Doubles to, Doubles a, Doubles b) {
    return _mm512_fmadd_pd(a, b, to);
  }
  static void store(double *to, Doubles value) { _mm512_store_pd(to, value); }
};

struct NarrowVector : VectorWords<int16_t, uint16_t, Bytes> {
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

struct FullVector : VectorWords<int32_t, uint32_t, Bytes> {
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
  const __m512i signedMantissa = Vector::set(sign | Dtype::mantissaMask);
  const __m512i mantissaMask = Vector::set(Dtype::mantissaMask);
  __mmask16 powers = 0;
  typename Dtype::Sums sums;
  for (size_t chain = 0; chain < count; chain += kChain) {
    size_t end = count < chain + kChain ? count : chain + kChain;
    for (size_t at = chain; at < end; at += words) {
      const char *from =
          static_cast<const char *>(data) + at * (Dtype::Words::bits / 8);
      _mm_prefetch(from + kAhead, _MM_HINT_T0);
      __m512i word = _mm512_loadu_si512(from);
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
      __m512i before = Vector::sub(magnitude, one);
      least = Vector::leastUnsigned(least, before);
      if constexpr (Dtype::kSeesPowers)
        powers |= _mm512_cmpeq_epi32_mask(
            _mm512_and_si512(before, signedMantissa), mantissaMask);
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
  sums.store(scan.sums, scan.squares);
  scan.powers = !Dtype::kSeesPowers || powers;
}

/// The part that the dtypes share: fields lie in the buffer as elements do in
/// memory.
template <class Dtype> struct Avx512Dtype {
  using FieldBytes = Bytes;
  static constexpr size_t round = kRound;
  template <bool special>
  static void scan(const void *data, size_t count, Scan &scan,
                   uint8_t *fields) {
    scanBlock<Dtype, special>(data, count, scan, fields);
  }
  static void countFields(const uint8_t *fields, size_t count, int window,
                          uint32_t *places) {
    ::countFields<Bytes>(fields, count, window, places);
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

struct F32 : Avx512Dtype<F32>, F32Format {
  using Vector = FullVector;
  using Sums = WideSums<Lanes>;
  static void sum(Sums &sums, __m512i words) {
    sums.add(0, _mm512_castsi512_ps(words));
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

struct F16 : StoreNarrow<10>, Avx512Dtype<F16>, F16Format {
  using Vector = NarrowVector;
  using Sums = ShortSums<Lanes>;
  static void sum(Sums &sums, __m512i words) {
    sums.add(0, _mm512_cvtph_ps(_mm512_castsi512_si256(words)));
    sums.add(0, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(words, 1)));
  }
};

struct BF16 : StoreNarrow<7>, Avx512Dtype<BF16>, BF16Format {
  using Vector = NarrowVector;
  using Sums = ShortSums<Lanes>;
  /// Takes of each sixteen elements those at even places, then those at odd
  /// ones (laneOf): to the upper half of each 32-bit lane, zeros below.
  static void sum(Sums &sums, __m512i words) {
    constexpr __mmask32 upper = 0xAAAAAAAAu;
    const __m512i order =
        _mm512_set_epi16(15, 0, 13, 0, 11, 0, 9, 0, 7, 0, 5, 0, 3, 0, 1, 0, //
                         14, 0, 12, 0, 10, 0, 8, 0, 6, 0, 4, 0, 2, 0, 0, 0);
    const __m512i next = _mm512_add_epi16(order, _mm512_set1_epi16(16));
    sums.add(0, _mm512_castsi512_ps(
                    _mm512_maskz_permutexvar_epi16(upper, order, words)));
    sums.add(0, _mm512_castsi512_ps(
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
