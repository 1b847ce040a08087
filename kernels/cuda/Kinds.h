//===- Kinds.h - Floats and integers, as the kernel sees them ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kind has:
//   Word              an element in memory
//   Stats             what a thread gathers
//   hasRows           whether it counts in rows of a histogram
//   takeVector()      sixteen bytes
//   takeWord()        one element
//   finish()          a thread's Stats as ThreadStats
//   finishRow()       one row of a block's histogram into the call
//   Order, order()    of a finite element: integers ordered as the values
//   keyOf(Order)      the same as a key (Slot.h)
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_KINDS_H
#define MPOPT_KERNELS_CUDA_KINDS_H

#include "Tile.h"

namespace mpopt::kernels::cuda {

/// Element i of a vector.
template <class Word> MPOPT_HD Word wordAt(const uint32_t *words, int i) {
  constexpr int size = int(sizeof(Word));
  if constexpr (size == 8)
    return Word(words[2 * i] | uint64_t(words[2 * i + 1]) << 32);
  else
    return Word(words[i * size / 4] >> (8 * (i * size % 4)));
}

/// FP64: the pattern is the value.
struct DecodeF64 {
  using Word = uint64_t;
  static MPOPT_HD uint64_t decode(Word word) { return word; }
};

/// Patterns of FP32 and FP64 as ordered numbers.
template <class Bits> MPOPT_HD Bits orderOf(Bits bits) {
  constexpr Bits sign = Bits(1) << (sizeof(Bits) * 8 - 1);
  return bits & sign ? Bits(~bits) : Bits(bits | sign);
}

template <class DecodeWord> struct Floats {
  using Decode = DecodeWord;
  using Word = typename Decode::Word;
  using Stats = ThreadStats;
  static constexpr bool hasRows = true;

  template <class Row, class Edge>
  static MPOPT_HD void takeVector(Stats &stats, const uint32_t *words, Row row,
                                  Edge edge) {
    if constexpr (sizeof(Word) == 8)
      takeWideVector(stats, words, row, edge);
    else if constexpr (sizeof(Word) == 1)
      takeCodes(words, row);
    else
      cuda::takeVector<Decode>(stats, words, row, edge);
  }

  template <class Row, class Edge>
  static MPOPT_HD void takeWord(Stats &stats, Word word, Row row, Edge edge) {
    if constexpr (sizeof(Word) == 8) {
      takeElement(stats, word, doubleOf(word), row, edge);
    } else if constexpr (sizeof(Word) == 1) {
      row(int(word));
    } else {
      uint32_t bits = Decode::decode(word);
      takeElement(stats, bits, double(floatOf(bits)), row, edge);
    }
  }

  static MPOPT_HD ThreadStats finish(Stats &stats) {
    finishThread<Decode>(stats);
    return stats;
  }

  template <class Add>
  static MPOPT_HD void finishRow(ThreadStats &stats, Call &call, int row,
                                 uint64_t times, Add add) {
    if constexpr (sizeof(Word) == 1)
      finishCode<Decode>(stats, call, row, times, add);
    else
      cuda::finishRow(stats, call, row, times, add);
  }

  using Order = decltype(Decode::decode(Word()));
  static constexpr Order least = 0, most = Order(~Order(0));
  static MPOPT_HD bool order(Word word, Order &order) {
    constexpr Order inf = sizeof(Order) == 4 ? Order(kInf32) : Order(kInf64);
    Order bits = Decode::decode(word);
    order = orderOf(bits);
    return (bits & (most >> 1)) < inf;
  }
  static MPOPT_HD uint64_t keyOf(Order order) {
    if constexpr (sizeof(Order) == 8)
      return order;
    else
      return cuda::keyOf(
          bitsOf(double(floatOf(order >> 31 ? order & 0x7FFFFFFFu : ~order))));
  }
};

/// `Integer` is the dtype's own.
template <class Integer> struct Integers {
  using Word = Integer;
  using Order = Integer;
  static constexpr bool isSigned = Integer(-1) < Integer(0);
  static constexpr Order least =
      isSigned ? Order(uint64_t(1) << (8 * sizeof(Order) - 1)) : Order(0);
  static constexpr Order most = Order(~least);
  /// Those of 8 bits: a row is a code.
  static constexpr bool hasRows = sizeof(Integer) == 1;

  struct Stats {
    Integer low = most, high = least;
    uint32_t zeros = 0;
  };

  template <class Row, class Edge>
  static MPOPT_HD void takeWord(Stats &stats, Word word, Row row, Edge) {
    if constexpr (hasRows) {
      row(int(uint8_t(word)));
      return;
    }
    stats.low = word < stats.low ? word : stats.low;
    stats.high = word > stats.high ? word : stats.high;
    stats.zeros += word == 0;
  }

  template <class Row, class Edge>
  static MPOPT_HD void takeVector(Stats &stats, const uint32_t *words, Row row,
                                  Edge edge) {
    if constexpr (hasRows) {
      takeCodes(words, row);
      return;
    }
    MPOPT_UNROLL
    for (int i = 0; i < int(16 / sizeof(Word)); ++i)
      takeWord(stats, wordAt<Word>(words, i), row, edge);
  }

  static MPOPT_HD ThreadStats finish(const Stats &stats) {
    ThreadStats all;
    all.zeros = stats.zeros;
    if (stats.low <= stats.high) {
      all.min = keyOf(stats.low);
      all.max = keyOf(stats.high);
    }
    return all;
  }

  template <class Add>
  static MPOPT_HD void finishRow(ThreadStats &stats, Call &call, int code,
                                 uint64_t times, Add add) {
    Word word = Word(code);
    widen(stats, bitsOf(double(word)));
    add(&call.histogram[int(word) - int(least)], times);
    if (!word)
      add(&call.zero, times);
  }

  static MPOPT_HD bool order(Word word, Order &order) {
    order = word;
    return true;
  }
  /// Rounded to nearest, as everywhere in a record.
  static MPOPT_HD uint64_t keyOf(Order order) {
    return cuda::keyOf(bitsOf(double(order)));
  }
};

/// Calls work.template run<Kind>() with the kind of a dtype; false if its
/// values are not looked at.
template <class Work> bool withKind(uint32_t dtype, Work &&work) {
  switch (dtype) {
  case MPOPT_F32:
    return work.template run<Floats<DecodeF32>>(), true;
  case MPOPT_F16:
    return work.template run<Floats<DecodeF16>>(), true;
  case MPOPT_BF16:
    return work.template run<Floats<DecodeBF16>>(), true;
  case MPOPT_F64:
    return work.template run<Floats<DecodeF64>>(), true;
  case MPOPT_F8E4M3FN:
    return work.template run<Floats<DecodeE4M3FN>>(), true;
  case MPOPT_F8E4M3FNUZ:
    return work.template run<Floats<DecodeE4M3FNUZ>>(), true;
  case MPOPT_F8E5M2:
    return work.template run<Floats<DecodeE5M2>>(), true;
  case MPOPT_F8E5M2FNUZ:
    return work.template run<Floats<DecodeE5M2FNUZ>>(), true;
  case MPOPT_I8:
    return work.template run<Integers<int8_t>>(), true;
  case MPOPT_U8:
  case MPOPT_BOOL:
    return work.template run<Integers<uint8_t>>(), true;
  case MPOPT_I16:
    return work.template run<Integers<int16_t>>(), true;
  case MPOPT_U16:
    return work.template run<Integers<uint16_t>>(), true;
  case MPOPT_I32:
    return work.template run<Integers<int32_t>>(), true;
  case MPOPT_U32:
    return work.template run<Integers<uint32_t>>(), true;
  case MPOPT_I64:
    return work.template run<Integers<int64_t>>(), true;
  case MPOPT_U64:
    return work.template run<Integers<uint64_t>>(), true;
  }
  return false;
}

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_KINDS_H
