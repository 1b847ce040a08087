//===- VectorWords.h - Vectors of 16-bit and 32-bit words -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of 32 or 64 bytes, in the terms that compilers for any of them have.
// Included after the unit's target is set.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_VECTORWORDS_H
#define MPOPT_KERNELS_LIB_VECTORWORDS_H

namespace {

/// `Of::Vector` is what the intrinsics take.
template <class SignedWord, class UnsignedWord, class Of> struct VectorWords {
  using Signed = SignedWord;
  using Word = UnsignedWord;
  using Vector = typename Of::Vector;
  static constexpr unsigned bits = 8 * sizeof(SignedWord);
  static constexpr uint32_t absMask = Word(~Word(0)) >> 1;

  static Vector set(uint32_t word) { return Vector(Words{} + Word(word)); }
  static Vector add(Vector a, Vector b) { return Vector(Words(a) + Words(b)); }
  static Vector sub(Vector a, Vector b) { return Vector(Words(a) - Words(b)); }
  /// All bits of a word where it holds.
  static Vector greater(Vector a, Vector b) {
    return Vector(Numbers(a) > Numbers(b));
  }
  static Vector equal(Vector a, Vector b) {
    return Vector(Words(a) == Words(b));
  }
  static Vector mostSigned(Vector a, Vector b) {
    return Vector(Numbers(a) > Numbers(b) ? Numbers(a) : Numbers(b));
  }
  static Vector mostUnsigned(Vector a, Vector b) {
    return Vector(Words(a) > Words(b) ? Words(a) : Words(b));
  }
  static Vector leastUnsigned(Vector a, Vector b) {
    return Vector(Words(a) < Words(b) ? Words(a) : Words(b));
  }

private:
  typedef Signed Numbers __attribute__((vector_size(sizeof(Vector))));
  typedef Word Words __attribute__((vector_size(sizeof(Vector))));
};

struct Avx2 {
  using Vector = __m256i;
};
using Narrow = VectorWords<int16_t, uint16_t, Avx2>;
using Full = VectorWords<int32_t, uint32_t, Avx2>;

__m256i vectorAt(const void *data, size_t byte) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(
      static_cast<const char *>(data) + byte));
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

/// Sum of lanes that counted down from zero.
template <class Words> uint64_t countLanes(__m256i lanes) {
  using Word = typename Words::Signed;
  alignas(32) Word lane[32 / sizeof(Word)];
  _mm256_store_si256(reinterpret_cast<__m256i *>(lane), lanes);
  int64_t count = 0;
  for (Word one : lane)
    count -= one;
  return uint64_t(count);
}

} // namespace

#endif // MPOPT_KERNELS_LIB_VECTORWORDS_H
