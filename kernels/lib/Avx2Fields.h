//===- Avx2Fields.h - Counting exponent fields with AVX2 -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor values crowd in few exponents. A window of fifteen fields is counted
// 32 bytes at a time: a table look-up turns each byte into a bit of its own,
// and carry-save adders sum the bits of sixteen vectors before anything is
// added up (the positional population count of W. Mula, N. Kurz, D. Lemire,
// "Faster population counts using AVX2 instructions"). What is outside the
// window takes the sixteenth place: the next window down has it, or a table.
//
// Included by one unit, after Avx2.h.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_AVX2FIELDS_H
#define MPOPT_KERNELS_LIB_AVX2FIELDS_H

namespace {

constexpr int kWindow = 15;
/// How often each of the eight bits was set in the bytes given to it, by the
/// vectors of `Bytes`.
template <class Bytes> class BitCounter {
  using Vector = typename Bytes::Vector;

public:
  // Written out, so that it is compiled for the target as what is around it.
  BitCounter() {}

  /// Sixteen vectors: at(i) gives the i-th one.
  template <class At> void add(At at) {
    Vector twosA, twosB, foursA, foursB, eightsA, eightsB, sixteens;
    Bytes::addBits(twosA, ones, at(0), at(1));
    Bytes::addBits(twosB, ones, at(2), at(3));
    Bytes::addBits(foursA, twos, twosA, twosB);
    Bytes::addBits(twosA, ones, at(4), at(5));
    Bytes::addBits(twosB, ones, at(6), at(7));
    Bytes::addBits(foursB, twos, twosA, twosB);
    Bytes::addBits(eightsA, fours, foursA, foursB);
    Bytes::addBits(twosA, ones, at(8), at(9));
    Bytes::addBits(twosB, ones, at(10), at(11));
    Bytes::addBits(foursA, twos, twosA, twosB);
    Bytes::addBits(twosA, ones, at(12), at(13));
    Bytes::addBits(twosB, ones, at(14), at(15));
    Bytes::addBits(foursB, twos, twosA, twosB);
    Bytes::addBits(eightsB, fours, foursA, foursB);
    Bytes::addBits(sixteens, eights, eightsA, eightsB);
    for (int bit = 0; bit < 8; ++bit)
      rounds[bit] = Bytes::addBit(rounds[bit], sixteens, bit);
  }

  void totals(uint32_t *total) const {
    for (int bit = 0; bit < 8; ++bit)
      total[bit] = uint32_t(
          16 * Bytes::sum(rounds[bit]) + 8 * Bytes::count(eights, bit) +
          4 * Bytes::count(fours, bit) + 2 * Bytes::count(twos, bit) +
          Bytes::count(ones, bit));
  }

private:
  Vector ones = Bytes::set(0), twos = ones, fours = ones, eights = ones;
  Vector rounds[8] = {ones, ones, ones, ones, ones, ones, ones, ones};
};

/// How often each of the fields from `window` on occurs; the last of the
/// sixteen places has all others, zeros too. `count` is a multiple of sixteen
/// vectors.
template <class Bytes>
void countFields(const uint8_t *fields, size_t count, int window,
                 uint32_t *places) {
  using Vector = typename Bytes::Vector;
  const Vector first = Bytes::set(char(window)), last = Bytes::set(kWindow);
  const Vector lowBits = Bytes::repeat(
      _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
  const Vector highBits = Bytes::repeat(
      _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128));
  BitCounter<Bytes> low, high;
  for (size_t at = 0; at < count; at += 16 * sizeof(Vector)) {
    Vector place[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i)
      place[i] = Bytes::placeOf(Bytes::load(fields + at + sizeof(Vector) * i),
                                first, last);
    low.add([&](int i) { return Bytes::lookUp(lowBits, place[i]); });
    high.add([&](int i) { return Bytes::lookUp(highBits, place[i]); });
  }
  low.totals(places);
  high.totals(places + 8);
}

/// `count` is a multiple of 32.
inline uint64_t countZeros(const uint8_t *fields, size_t count) {
  uint64_t zeros = 0;
  for (size_t at = 0; at < count; at += 32) {
    __m256i field =
        _mm256_load_si256(reinterpret_cast<const __m256i *>(fields + at));
    __m256i isZero = _mm256_cmpeq_epi8(field, _mm256_setzero_si256());
    zeros +=
        uint64_t(__builtin_popcount(unsigned(_mm256_movemask_epi8(isZero))));
  }
  return zeros;
}

/// Calls found(i) for each field in [begin, end). `count` is a multiple of the
/// vector.
template <class Bytes, class Found>
void forFields(const uint8_t *fields, size_t count, int begin, int end,
               Found found) {
  using Vector = typename Bytes::Vector;
  const Vector first = Bytes::set(char(begin));
  const Vector range = Bytes::set(char(end - begin));
  for (size_t at = 0; at < count; at += sizeof(Vector)) {
    uint64_t rest = Bytes::below(Bytes::load(fields + at), first, range);
    for (; rest; rest &= rest - 1)
      found(at + size_t(__builtin_ctzll(rest)));
  }
}

/// Calls found(i) for each field with that value.
template <class Found>
inline void forField(const uint8_t *fields, size_t count, uint8_t value,
                     Found found) {
  const __m256i wanted = _mm256_set1_epi8(char(value));
  for (size_t at = 0; at < count; at += 32) {
    __m256i field =
        _mm256_load_si256(reinterpret_cast<const __m256i *>(fields + at));
    uint32_t hits =
        uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(field, wanted)));
    for (; hits; hits &= hits - 1)
      found(at + size_t(__builtin_ctz(hits)));
  }
}

/// The table of all fields of a block, for when windows do not hold them.
inline void countAllFields(const uint8_t *fields, size_t count,
                           uint32_t *table) {
  uint32_t copies[3][256] = {};
  for (size_t at = 0; at < count; at += 8) {
    uint64_t eight;
    __builtin_memcpy(&eight, fields + at, 8);
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j)
      ++(j % 4 ? copies[j % 4 - 1] : table)[eight >> (8 * j) & 0xFF];
  }
  for (int field = 0; field < 256; ++field)
    table[field] += copies[0][field] + copies[1][field] + copies[2][field];
}

} // namespace

#endif // MPOPT_KERNELS_LIB_AVX2FIELDS_H
