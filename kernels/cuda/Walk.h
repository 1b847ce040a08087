//===- Walk.h - Which elements a thread takes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same on the device and in its twin, which differ in how they load and how
// they widen a channel: `widen(ChannelKeys &, low, high)`.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_WALK_H
#define MPOPT_KERNELS_CUDA_WALK_H

#include "Index.h"
#include "Kinds.h"

namespace mpopt::kernels::cuda {

struct Words {
  uint32_t word[4];
};

/// A piece of memory: every `stride`-th vector of sixteen bytes from the first
/// aligned address on, and of what lies before and after them an element, for
/// the first threads of all. takeVector(words, i) and takeWord(word, i) get the
/// number of the (first) element.
template <class Word, class Load, class TakeVector, class TakeWord>
MPOPT_HD void walkDense(const Word *data, uint64_t count, uint64_t thread,
                        uint64_t stride, Load load, TakeVector takeVector,
                        TakeWord takeWord) {
  constexpr uint64_t size = 16 / sizeof(Word);
  uint64_t misaligned = reinterpret_cast<uintptr_t>(data) % 16 / sizeof(Word);
  uint64_t head = misaligned ? size - misaligned : 0;
  head = head < count ? head : count;
  uint64_t vectors = (count - head) / size, tail = head + vectors * size;
  uint64_t i = thread < stride ? thread : vectors;
  // Two loads on their way at a time.
  for (; i + stride < vectors; i += 2 * stride) {
    Words first = load(data + head + i * size);
    Words second = load(data + head + (i + stride) * size);
    takeVector(first.word, head + i * size);
    takeVector(second.word, head + (i + stride) * size);
  }
  if (i < vectors)
    takeVector(load(data + head + i * size).word, head + i * size);
  if (thread < head)
    takeWord(data[thread], thread);
  if (thread < count - tail)
    takeWord(data[tail + thread], tail + thread);
}

/// Smallest and largest finite values at each place of a vector.
template <class Kind> struct ChannelRun {
  using Order = typename Kind::Order;
  using Word = typename Kind::Word;
  static constexpr int size = 16 / sizeof(Word);
  Order low[size], high[size];
  /// The first element of the first vector; no vector yet if `any` is false.
  uint64_t first = 0;
  bool any = false;

  MPOPT_HD ChannelRun() { clear(); }

  MPOPT_HD void clear() {
    MPOPT_UNROLL
    for (int i = 0; i < size; ++i) {
      low[i] = Kind::most;
      high[i] = Kind::least;
    }
    any = false;
  }

  MPOPT_HD void take(const uint32_t *words, uint64_t element) {
    first = any ? first : element;
    any = true;
    MPOPT_UNROLL
    for (int i = 0; i < size; ++i) {
      Order order;
      if (!Kind::order(wordAt<Word>(words, i), order))
        continue;
      low[i] = order < low[i] ? order : low[i];
      high[i] = order > high[i] ? order : high[i];
    }
  }

  /// Neighbours of one channel together.
  template <class Widen>
  MPOPT_HD void flush(const DenseChannels &channels, Widen widen) {
    if (!any)
      return;
    uint64_t round = channels.inner.quotient(first);
    uint64_t within = first - round * channels.inner.divisor;
    uint64_t channel =
        round - channels.count.quotient(round) * channels.count.divisor;
    Order least = Kind::most, most = Kind::least;
    MPOPT_UNROLL
    for (int i = 0; i < size; ++i) {
      least = low[i] < least ? low[i] : least;
      most = high[i] > most ? high[i] : most;
      ++within;
      if (within < channels.inner.divisor && i + 1 < size)
        continue;
      if (least <= most)
        widen(channels.keys[channel], Kind::keyOf(least), Kind::keyOf(most));
      within = 0;
      channel = channel + 1 < channels.count.divisor ? channel + 1 : 0;
      least = Kind::most;
      most = Kind::least;
    }
    clear();
  }
};

/// The channel of one element.
template <class Kind, class Widen>
MPOPT_HD void widenChannel(typename Kind::Word word, ChannelKeys &keys,
                           Widen widen) {
  typename Kind::Order order;
  if (Kind::order(word, order))
    widen(keys, Kind::keyOf(order), Kind::keyOf(order));
}

/// takeWord(word, i) for the elements of a dense tensor, with its channels.
template <class Kind, class Load, class TakeVector, class TakeWord, class Widen>
MPOPT_HD void walkChannels(const typename Kind::Word *data, uint64_t count,
                           uint64_t thread, const DenseChannels &channels,
                           Load load, TakeVector takeVector, TakeWord takeWord,
                           Widen widen) {
  ChannelRun<Kind> run;
  auto vector = [&](const uint32_t *words, uint64_t element) {
    takeVector(words, element);
    run.take(words, element);
    if (!channels.steady)
      run.flush(channels, widen);
  };
  auto word = [&](typename Kind::Word word, uint64_t element) {
    takeWord(word, element);
    uint64_t round = channels.inner.quotient(element);
    uint64_t channel =
        round - channels.count.quotient(round) * channels.count.divisor;
    widenChannel<Kind>(word, channels.keys[channel], widen);
  };
  walkDense(data, count, thread, channels.stride, load, vector, word);
  run.flush(channels, widen);
}

/// A tensor with gaps, element by element.
template <class Kind, class TakeWord, class Widen>
MPOPT_HD void walkAxes(const typename Kind::Word *data, uint64_t count,
                       uint64_t thread, uint64_t threads, const Axes &axes,
                       TakeWord takeWord, Widen widen) {
  // Four loads on their way at a time.
  constexpr int ahead = 4;
  for (uint64_t i = thread; i < count; i += ahead * threads) {
    typename Kind::Word words[ahead];
    uint64_t channels[ahead];
    MPOPT_UNROLL
    for (int k = 0; k < ahead; ++k)
      if (i + k * threads < count)
        words[k] = data[axes.offsetOf(i + k * threads, channels[k])];
    MPOPT_UNROLL
    for (int k = 0; k < ahead; ++k) {
      if (i + k * threads >= count)
        break;
      takeWord(words[k], i + k * threads);
      if (axes.keys)
        widenChannel<Kind>(words[k], axes.keys[channels[k]], widen);
    }
  }
}

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_WALK_H
