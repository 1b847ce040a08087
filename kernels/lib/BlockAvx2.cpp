//===- BlockAvx2.cpp - One block of elements with AVX2
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FP32, FP16 and BF16. Called only where the processor has AVX2, FMA and F16C.
//
//===----------------------------------------------------------------------===//

#include "Partial.h"

#include "Avx2.h"

using namespace mpopt::kernels;

#include "FloatBlock.h"

namespace {

/// Vectors of 32 bytes.
struct Bytes {
  using Vector = __m256i;
  static Vector set(char byte) { return _mm256_set1_epi8(byte); }
  static Vector repeat(__m128i half) {
    return _mm256_broadcastsi128_si256(half);
  }
  static Vector load(const uint8_t *from) {
    return _mm256_load_si256(reinterpret_cast<const Vector *>(from));
  }
  /// A bit for each field that is less than `range` above `first`, or at it.
  static uint64_t below(Vector field, Vector first, Vector range) {
    Vector place = _mm256_sub_epi8(field, first);
    Vector beyond = _mm256_cmpeq_epi8(_mm256_max_epu8(place, range), place);
    return ~uint32_t(_mm256_movemask_epi8(beyond));
  }
  static Vector placeOf(Vector field, Vector first, Vector last) {
    return _mm256_min_epu8(_mm256_sub_epi8(field, first), last);
  }
  static Vector lookUp(Vector table, Vector place) {
    return _mm256_shuffle_epi8(table, place);
  }
  static void addBits(Vector &high, Vector &low, Vector a, Vector b) {
    Vector either = _mm256_xor_si256(low, a);
    high =
        _mm256_or_si256(_mm256_and_si256(low, a), _mm256_and_si256(either, b));
    low = _mm256_xor_si256(either, b);
  }
  static Vector addBit(Vector to, Vector bits, int bit) {
    Vector mask = _mm256_set1_epi8(char(1 << bit));
    return _mm256_sub_epi8(
        to, _mm256_cmpeq_epi8(_mm256_and_si256(bits, mask), mask));
  }
  static uint64_t sum(Vector bytes) {
    Vector sums = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
    return uint64_t(_mm256_extract_epi64(sums, 0)) +
           uint64_t(_mm256_extract_epi64(sums, 1)) +
           uint64_t(_mm256_extract_epi64(sums, 2)) +
           uint64_t(_mm256_extract_epi64(sums, 3));
  }
  static uint64_t count(Vector bits, int bit) {
    // The bit moves to its byte's top, where the mask is taken from; what comes
    // over from the neighbouring byte lands below.
    Vector top = _mm256_sll_epi32(bits, _mm_cvtsi32_si128(7 - bit));
    return uint64_t(__builtin_popcount(unsigned(_mm256_movemask_epi8(top))));
  }
};

/// Bytes that one round of adders takes; a block is a multiple of it.
constexpr size_t kRound = 16 * 32;
static_assert(kTile % kRound == 0 && kTile / kRound <= 255);

/// Vectors of eight floats.
struct Lanes {
  using Floats = __m256;
  using Doubles = __m256d;
  static constexpr int count = 8;
  static Doubles low(Floats value) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(value));
  }
  static Doubles high(Floats value) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));
  }
  static Floats addProduct(Floats to, Floats a, Floats b) {
    return _mm256_fmadd_ps(a, b, to);
  }
  static Doubles addProduct(Doubles to, Doubles a, Doubles b) {
    return _mm256_fmadd_pd(a, b, to);
  }
  static void store(double *to, Doubles value) { _mm256_store_pd(to, value); }
};

/// Elements [0, count), a multiple of 32. With `special` they may be Inf or
/// NaN; without it those spoil the result, and the extremes tell.
template <class Dtype, bool special>
void scanBlock(const void *data, size_t count, Scan &scan, uint8_t *fields) {
  using Words = typename Dtype::Words;
  constexpr int vectors = Words::bits / 8;
  const __m256i absMask = Words::set(Words::absMask);
  const __m256i inf = Words::set(Dtype::inf);
  const __m256i minusInf = Words::set(Dtype::inf | (Words::absMask + 1));
  const __m256i one = Words::set(1), zero = _mm256_setzero_si256();
  __m256i mostSigned = Words::set(Words::absMask + 1), mostUnsigned = zero;
  __m256i least = Words::set(~0u);
  const __m256i signedMantissa =
      Words::set((Words::absMask + 1) | Dtype::mantissaMask);
  const __m256i mantissaMask = Words::set(Dtype::mantissaMask);
  __m256i powers = zero;
  __m256i nans = zero, posInfs = zero, negInfs = zero;
  typename Dtype::Sums sums;

  for (size_t chain = 0; chain < count; chain += kChain) {
    size_t end = count < chain + kChain ? count : chain + kChain;
    for (size_t at = chain; at < end; at += 32) {
      __m256i word[vectors], magnitude[vectors];
      const char *from =
          static_cast<const char *>(data) + at * (Words::bits / 8);
      _mm_prefetch(from + kAhead, _MM_HINT_T0);
      if constexpr (vectors > 2)
        _mm_prefetch(from + kAhead + 64, _MM_HINT_T0);
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
        __m256i before = Words::sub(magnitude[v], one);
        least = Words::leastUnsigned(least, before);
        if constexpr (Dtype::kSeesPowers)
          powers = _mm256_or_si256(
              powers, Words::equal(_mm256_and_si256(before, signedMantissa),
                                   mantissaMask));
      }
      Dtype::sum(sums, word);
    }
    sums.flush();
  }
  storeExtremes<Words>(mostSigned, mostUnsigned, least, scan);
  sums.store(scan.sums, scan.squares);
  scan.powers = !Dtype::kSeesPowers || !_mm256_testz_si256(powers, powers);
  if constexpr (special) {
    scan.nan = countLanes<Words>(nans);
    scan.posInf = countLanes<Words>(posInfs);
    scan.negInf = countLanes<Words>(negInfs);
  }
}

/// The part that the dtypes share. kOrigin says where byte i of 32 packed
/// fields comes from, since packing interleaves the 128-bit halves.
template <class Dtype> struct Avx2Dtype {
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
    return ::countRange<Dtype>(data, count, low, high);
  }
  static size_t origin(size_t i) {
    return i / 32 * 32 + Dtype::kOrigin[i % 32];
  }
};

struct F32 : Avx2Dtype<F32>, F32Format {
  using Sums = WideSums<Lanes>;
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

struct F16 : PackNarrow<10>, Avx2Dtype<F16>, F16Format {
  using Sums = ShortSums<Lanes>;
  static void sum(Sums &sums, const __m256i *words) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      sums.add(0, _mm256_cvtph_ps(_mm256_castsi256_si128(words[v])));
      sums.add(1, _mm256_cvtph_ps(_mm256_extracti128_si256(words[v], 1)));
    }
  }
};

struct BF16 : PackNarrow<7>, Avx2Dtype<BF16>, BF16Format {
  using Sums = ShortSums<Lanes>;
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

} // namespace

DtypeKernel mpopt::kernels::avx2Kernel(uint32_t dtype) {
  switch (dtype) {
  case MPOPT_F64:
    return {avx2WideBlock, 8, true};
  case MPOPT_F32:
    return {floatTile<F32>, 4, true, nullptr, kTile};
  case MPOPT_F16:
    return {floatTile<F16>, 2, true, nullptr, kTile};
  case MPOPT_BF16:
    return {floatTile<BF16>, 2, true, nullptr, kTile};
  }
  return {};
}

MPOPT_AVX2_END
