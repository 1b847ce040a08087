//===- OneByOne.h - Elements one at a time ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included after the unit's target is set, if it has one: what is here is
// compiled for that.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_LIB_ONEBYONE_H
#define MPOPT_KERNELS_LIB_ONEBYONE_H

#include "Partial.h"

namespace {

/// FP64 and what decodes to FP32 differ in the width of the pattern only.
struct DecodeF64 {
  using Word = uint64_t;
  static uint64_t decode(Word word) { return word; }
};

template <class Bits> struct PatternOf;
template <> struct PatternOf<uint32_t> {
  using Float = float;
  static constexpr uint32_t inf = mpopt::kernels::kInf32;
};
template <> struct PatternOf<uint64_t> {
  using Float = double;
  static constexpr uint64_t inf = mpopt::kernels::kInf64;
};

/// The data may lie at any address.
template <class Word> Word wordAt(const void *data, size_t i) {
  Word word;
  __builtin_memcpy(&word, static_cast<const char *>(data) + i * sizeof(word),
                   sizeof(word));
  return word;
}

template <class Bits> double valueOf(Bits bits) {
  typename PatternOf<Bits>::Float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Elements [from, count), everything but the sums. Calls sum(i, value) for the
/// finite non-zero ones.
template <class Decode, class Sum>
void countElements(const void *data, size_t from, size_t count,
                   mpopt::kernels::Partial &partial, Sum sum) {
  using Word = typename Decode::Word;
  using Bits = decltype(Decode::decode(Word()));
  constexpr Bits inf = PatternOf<Bits>::inf;
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  for (size_t i = from; i < count; ++i) {
    Bits bits = Decode::decode(wordAt<Word>(data, i)), magnitude = bits & ~sign;
    if (magnitude >= inf) {
      ++(magnitude > inf ? partial.nan
         : bits & sign   ? partial.negInf
                         : partial.posInf);
      continue;
    }
    double value = valueOf(bits);
    partial.widen(value, value);
    if (!magnitude) {
      ++partial.zero;
      continue;
    }
    partial.widenNonzero(valueOf(magnitude));
    partial.countMagnitude(magnitude);
    sum(i, value);
  }
}

} // namespace

#endif // MPOPT_KERNELS_LIB_ONEBYONE_H
