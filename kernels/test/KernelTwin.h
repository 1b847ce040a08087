//===- KernelTwin.h - The CUDA kernel, block by block on the CPU
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What cuda/Observe.cuh does, with loops in place of blocks and threads and the
// same functions for everything that a thread does. Folds that are shuffles
// there are loops here, which changes the order of sums and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_TEST_KERNELTWIN_H
#define MPOPT_KERNELS_TEST_KERNELTWIN_H

#include "../cuda/Tile.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace mpopt::kernels::cuda {

struct DecodeF64 {
  using Word = uint64_t;
};

inline void addPlain(unsigned long long *counter, uint64_t times) {
  *counter += times;
}

template <class Decode> class KernelTwin {
public:
  using Word = typename Decode::Word;

  KernelTwin(uint64_t blocks, uint64_t threads)
      : blocks(blocks), threads(threads) {}

  void launch(Slot &slot, const Control &control, const void *data,
              const Shape &shape) {
    uint64_t step = stepOf(slot, control);
    if (!isTurn(control, step)) {
      ++slot.record.skipped;
      return;
    }
    for (uint64_t block = 0; block < blocks; ++block)
      runBlock(slot.call, block, static_cast<const Word *>(data), shape.count);
    for (int bin = 0; bin < MPOPT_BINS; ++bin)
      finishBin(slot, bin);
    double sum = 0, squares = 0;
    for (uint64_t block = 0; block < blocks; ++block) {
      sum += slot.call.sums[block];
      squares += slot.call.squares[block];
    }
    finishCall(slot, shape, step, sum, squares);
  }

private:
  void runBlock(Call &call, uint64_t block, const Word *data, uint64_t count) {
    std::vector<uint64_t> rows(kRows);
    auto row = [&](int index) { ++rows.at(size_t(index)); };
    auto edge = [&](int format, EdgeKind kind) { ++call.edge[format][kind]; };
    std::vector<ThreadStats> all(threads);
    for (uint64_t thread = 0; thread < threads; ++thread) {
      takeShare(all[thread], block * threads + thread, data, count, row, edge);
      finishThread<Decode>(all[thread]);
    }
    for (int index = 0; index < kRows; ++index) {
      ThreadStats &stats = all[size_t(index) % threads];
      uint64_t times = rows[size_t(index)];
      if (!times)
        continue;
      if constexpr (sizeof(Word) == 1)
        finishCode<Decode>(stats, call, index, times, addPlain);
      else
        finishRow(stats, call, index, times, addPlain);
    }
    double sum = 0, squares = 0;
    for (const ThreadStats &stats : all) {
      call.min = std::min<uint64_t>(call.min, stats.min);
      call.max = std::max<uint64_t>(call.max, stats.max);
      call.minNonzero = std::min<uint64_t>(call.minNonzero, stats.minNonzero);
      call.nan += stats.nan;
      call.posInf += stats.posInf;
      call.negInf += stats.negInf;
      sum += stats.sum;
      squares += stats.squares;
    }
    call.sums[block] = sum;
    call.squares[block] = squares;
  }

  template <class Row, class Edge>
  void takeShare(ThreadStats &stats, uint64_t thread, const Word *data,
                 uint64_t count, Row row, Edge edge) {
    constexpr uint64_t size = 16 / sizeof(Word);
    uint64_t misaligned = reinterpret_cast<uintptr_t>(data) % 16 / sizeof(Word);
    uint64_t head = std::min(misaligned ? size - misaligned : 0, count);
    uint64_t vectors = (count - head) / size, tail = head + vectors * size;
    for (uint64_t i = thread; i < vectors; i += blocks * threads)
      takeWords(stats, data + head + i * size, row, edge);
    if (thread < head)
      takeWord(stats, data[thread], row, edge);
    if (thread < count - tail)
      takeWord(stats, data[tail + thread], row, edge);
  }

  template <class Row, class Edge>
  void takeWords(ThreadStats &stats, const Word *from, Row row, Edge edge) {
    uint32_t words[4];
    std::memcpy(words, from, sizeof(words));
    if constexpr (sizeof(Word) == 8)
      takeWideVector(stats, words, row, edge);
    else if constexpr (sizeof(Word) == 1)
      takeCodes(words, row);
    else
      takeVector<Decode>(stats, words, row, edge);
  }

  template <class Row, class Edge>
  void takeWord(ThreadStats &stats, Word word, Row row, Edge edge) {
    if constexpr (sizeof(Word) == 8) {
      takeElement(stats, word, doubleOf(word), row, edge);
    } else if constexpr (sizeof(Word) == 1) {
      row(int(word));
    } else {
      uint32_t bits = Decode::decode(word);
      takeElement(stats, bits, double(floatOf(bits)), row, edge);
    }
  }

  uint64_t blocks, threads;
};

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_TEST_KERNELTWIN_H
