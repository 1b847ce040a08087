//===- KernelTwin.h - The CUDA kernel, block by block on the CPU
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A twin of cuda/Observe.cuh with loops in place of blocks and threads, and the
// same functions for the work of a thread. Folds that are shuffles there are
// loops here, which changes the order of sums and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_TEST_KERNELTWIN_H
#define MPOPT_KERNELS_TEST_KERNELTWIN_H

#include "../cuda/View.h"
#include "../cuda/Walk.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

namespace mpopt::kernels::cuda {

inline void addPlain(unsigned long long *counter, uint64_t times) {
  *counter += times;
}

inline void widenPlain(ChannelKeys &keys, unsigned long long low,
                       unsigned long long high) {
  keys.min = std::min(keys.min, low);
  keys.max = std::max(keys.max, high);
}

inline Words loadPlain(const void *from) {
  Words words;
  std::memcpy(&words, from, sizeof(words));
  return words;
}

/// One launch.
class KernelTwin {
public:
  KernelTwin(Slot &slot, Turn turn, const View &view, ChannelKeys *keys,
             uint64_t blocks, uint64_t threads)
      : slot(slot), turn(turn), view(view), keys(keys), blocks(blocks),
        threads(threads) {}

  /// Called before each block: what the rest of the machine does meanwhile.
  std::function<void(uint64_t block)> meanwhile = [](uint64_t) {};

  void run() {
    if (!withKind(view.shape.dtype, *this))
      runBlocks(false, [](uint64_t) {});
  }

  /// For withKind().
  template <class Kind> void run() {
    runBlocks(Kind::hasRows, [&](uint64_t block) { runBlock<Kind>(block); });
  }

private:
  template <class RunBlock> void runBlocks(bool hasRows, RunBlock runBlock) {
    Decision decision = {};
    for (uint64_t block = 0; block < blocks; ++block) {
      meanwhile(block);
      decision = decideTogether();
      if (decision.turn)
        runBlock(block);
    }
    if (decision.turn)
      finish(decision, hasRows);
    else
      ++slot.record.skipped;
    *slot.next = std::max<unsigned long long>(*slot.next, decision.step + 1);
    slot.call.decision = 0;
  }

  Decision decideTogether() {
    if (!turn.control)
      return {turn.step, true, true};
    unsigned long long mine = decide(*turn.control, *slot.next).packed();
    if (!slot.call.decision)
      slot.call.decision = mine;
    return Decision::of(slot.call.decision);
  }

  void finish(const Decision &decision, bool hasRows) {
    ++slot.begun;
    double sum = 0, squares = 0;
    if (hasRows) {
      for (int bin = 0; bin < MPOPT_BINS; ++bin)
        finishBin(slot, bin);
      for (uint64_t block = 0; block < blocks; ++block) {
        sum += slot.call.sums[block];
        squares += slot.call.squares[block];
      }
    }
    finishCall(slot, view.shape, decision, !turn.control, sum, squares);
    slot.ended = slot.begun;
  }

  template <class Kind> void runBlock(uint64_t block) {
    Call &call = slot.call;
    std::vector<uint64_t> rows(kRows);
    auto row = [&](int index) { ++rows.at(size_t(index)); };
    auto edge = [&](int format, EdgeKind kind) { ++call.edge[format][kind]; };
    std::vector<ThreadStats> all(threads);
    for (uint64_t thread = 0; thread < threads; ++thread) {
      typename Kind::Stats taken;
      walk<Kind>(taken, block * threads + thread, row, edge);
      all[thread] = Kind::finish(taken);
    }
    for (int index = 0; index < kRows; ++index)
      if (uint64_t times = rows[size_t(index)])
        Kind::finishRow(all[size_t(index) % threads], call, index, times,
                        addPlain);
    double sum = 0, squares = 0;
    for (const ThreadStats &stats : all) {
      call.min = std::min<uint64_t>(call.min, stats.min);
      call.max = std::max<uint64_t>(call.max, stats.max);
      call.minNonzero = std::min<uint64_t>(call.minNonzero, stats.minNonzero);
      call.nan += stats.nan;
      call.posInf += stats.posInf;
      call.negInf += stats.negInf;
      call.zero += stats.zeros;
      sum += stats.sum;
      squares += stats.squares;
    }
    call.sums[block] = sum;
    call.squares[block] = squares;
  }

  template <class Kind, class Row, class Edge>
  void walk(typename Kind::Stats &stats, uint64_t thread, Row row, Edge edge) {
    using Word = typename Kind::Word;
    const Word *data = reinterpret_cast<const Word *>(view.data);
    uint64_t count = view.shape.count;
    auto takeVector = [&](const uint32_t *words, uint64_t) {
      Kind::takeVector(stats, words, row, edge);
    };
    auto takeWord = [&](Word word, uint64_t) {
      Kind::takeWord(stats, word, row, edge);
    };
    if (!view.dense) {
      Axes axes = view.axes;
      axes.keys = keys;
      walkAxes<Kind>(data, count, thread, blocks * threads, axes, takeWord,
                     widenPlain);
    } else if (keys) {
      walkChannels<Kind>(data, count, thread,
                         denseChannels(view, blocks * threads, keys), loadPlain,
                         takeVector, takeWord, widenPlain);
    } else {
      walkDense(data, count, thread, blocks * threads, loadPlain, takeVector,
                takeWord);
    }
  }

  Slot &slot;
  Turn turn;
  View view;
  ChannelKeys *keys;
  uint64_t blocks, threads;
};

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_TEST_KERNELTWIN_H
