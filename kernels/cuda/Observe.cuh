//===- Observe.cuh - The kernel that reads a tensor --------------*- C++
//-*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One launch: blocks stride over the tensor, each folds its histogram and its
// threads' statistics into the slot's Call, and the last one to come finishes
// the call. Sums are folded in an order that depends on the number of blocks
// only, so a device gives the same bits every time.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_OBSERVE_CUH
#define MPOPT_KERNELS_CUDA_OBSERVE_CUH

#include "Tile.h"

namespace mpopt::kernels::cuda {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
/// As many as registers (64 a thread) and shared memory (36 KB) have room for
/// on all processors since 8.0.
constexpr int kBlocksPerProcessor = 4;

struct AddAtomic {
  __device__ void operator()(unsigned long long *counter,
                             unsigned long long times) const {
    atomicAdd(counter, times);
  }
};

__device__ inline double foldWarp(double value) {
  for (int offset = 16; offset; offset /= 2)
    value += __shfl_down_sync(~0u, value, offset);
  return value;
}

/// Both sums over the block, in a fixed order; the result is thread 0's.
__device__ inline void foldBlock(double &sum, double &squares) {
  __shared__ double partial[2][kWarps];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  sum = foldWarp(sum);
  squares = foldWarp(squares);
  if (lane == 0) {
    partial[0][warp] = sum;
    partial[1][warp] = squares;
  }
  __syncthreads();
  if (warp == 0) {
    sum = foldWarp(lane < kWarps ? partial[0][lane] : 0);
    squares = foldWarp(lane < kWarps ? partial[1][lane] : 0);
  }
  __syncthreads();
}

__device__ inline uint64_t minOfWarp(uint64_t key) {
  for (int offset = 16; offset; offset /= 2) {
    uint64_t other =
        __shfl_xor_sync(~0u, static_cast<unsigned long long>(key), offset);
    key = other < key ? other : key;
  }
  return key;
}

/// Counters and extremes of a warp's threads into the call.
__device__ inline void foldExtremes(const ThreadStats &stats, Call &call) {
  uint64_t min = minOfWarp(stats.min), max = ~minOfWarp(~stats.max);
  uint64_t nonzero = minOfWarp(stats.minNonzero);
  unsigned nan = __reduce_add_sync(~0u, stats.nan);
  unsigned posInf = __reduce_add_sync(~0u, stats.posInf);
  unsigned negInf = __reduce_add_sync(~0u, stats.negInf);
  if (threadIdx.x % 32)
    return;
  if (min != kNoMinimum)
    atomicMin(&call.min, min);
  if (max != kNoMaximum)
    atomicMax(&call.max, max);
  if (nonzero != kNoMinimum)
    atomicMin(&call.minNonzero, nonzero);
  if (nan)
    atomicAdd(&call.nan, nan);
  if (posInf)
    atomicAdd(&call.posInf, posInf);
  if (negInf)
    atomicAdd(&call.negInf, negInf);
}

/// FP64: the pattern is the value. Here for the kernel's parameter only.
struct DecodeF64 {
  using Word = uint64_t;
};

template <class Decode, class Row, class Edge>
__device__ void takeWords(ThreadStats &stats, const uint4 &vector, Row row,
                          Edge edge) {
  const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
  if constexpr (sizeof(typename Decode::Word) == 8)
    takeWideVector(stats, words, row, edge);
  else if constexpr (sizeof(typename Decode::Word) == 1)
    takeCodes(words, row);
  else
    takeVector<Decode>(stats, words, row, edge);
}

template <class Decode, class Row, class Edge>
__device__ void takeWord(ThreadStats &stats, typename Decode::Word word,
                         Row row, Edge edge) {
  if constexpr (sizeof(word) == 8) {
    takeElement(stats, word, doubleOf(word), row, edge);
  } else if constexpr (sizeof(word) == 1) {
    row(int(word));
  } else {
    uint32_t bits = Decode::decode(word);
    takeElement(stats, bits, double(floatOf(bits)), row, edge);
  }
}

/// The block's share of the tensor: 16-byte vectors from the first aligned
/// address on, and what lies before and after them one by one.
template <class Decode, class Row, class Edge>
__device__ void takeShare(ThreadStats &stats, const typename Decode::Word *data,
                          uint64_t count, Row row, Edge edge) {
  using Word = typename Decode::Word;
  constexpr uint64_t size = 16 / sizeof(Word);
  uint64_t thread = uint64_t(blockIdx.x) * kThreads + threadIdx.x;
  uint64_t threads = uint64_t(gridDim.x) * kThreads;
  uint64_t misaligned = reinterpret_cast<uintptr_t>(data) % 16 / sizeof(Word);
  uint64_t head = misaligned ? size - misaligned : 0;
  head = head < count ? head : count;
  uint64_t vectors = (count - head) / size, tail = head + vectors * size;
  const uint4 *vector = reinterpret_cast<const uint4 *>(data + head);
  uint64_t i = thread;
  // Two loads on their way at a time.
  for (; i + threads < vectors; i += 2 * threads) {
    uint4 first = __ldcs(vector + i), second = __ldcs(vector + i + threads);
    takeWords<Decode>(stats, first, row, edge);
    takeWords<Decode>(stats, second, row, edge);
  }
  if (i < vectors)
    takeWords<Decode>(stats, __ldcs(vector + i), row, edge);
  if (thread < head)
    takeWord<Decode>(stats, data[thread], row, edge);
  if (thread < count - tail)
    takeWord<Decode>(stats, data[tail + thread], row, edge);
}

/// True in every thread of the block that comes last.
__device__ inline bool isLastBlock(Call &call) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  // Counts to zero again with the last block, for the next launch.
  if (threadIdx.x == 0)
    last = atomicInc(&call.ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  __threadfence();
  return last;
}

template <class Decode>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    observe(Slot *slot, const Control *control,
            const typename Decode::Word *data, Shape shape) {
  // Nobody writes what is read here before every block has its ticket.
  const Control now = *control;
  uint64_t step = stepOf(*slot, now);
  Call &call = slot->call;
  if (!isTurn(now, step)) {
    if (isLastBlock(call) && threadIdx.x == 0)
      ++slot->record.skipped;
    return;
  }

  __shared__ unsigned rows[kRows][32];
  for (int i = threadIdx.x; i < kRows * 32; i += kThreads)
    rows[i / 32][i % 32] = 0;
  __syncthreads();
  int lane = threadIdx.x % 32;
  auto row = [&](int index) { atomicAdd(&rows[index][lane], 1u); };
  auto edge = [&](int format, EdgeKind kind) {
    atomicAdd(&call.edge[format][kind], 1ull);
  };
  ThreadStats stats;
  takeShare<Decode>(stats, data, shape.count, row, edge);
  finishThread<Decode>(stats);
  __syncthreads();

  for (int index = threadIdx.x; index < kRows; index += kThreads) {
    uint64_t times = 0;
    // Each thread begins in another bank.
    for (int i = 0; i < 32; ++i)
      times += rows[index][(i + lane) % 32];
    if (!times)
      continue;
    if constexpr (sizeof(typename Decode::Word) == 1)
      finishCode<Decode>(stats, call, index, times, AddAtomic());
    else
      finishRow(stats, call, index, times, AddAtomic());
  }
  foldExtremes(stats, call);
  double sum = stats.sum, squares = stats.squares;
  foldBlock(sum, squares);
  if (threadIdx.x == 0) {
    call.sums[blockIdx.x] = sum;
    call.squares[blockIdx.x] = squares;
  }
  if (!isLastBlock(call))
    return;

  if (threadIdx.x == 0)
    ++slot->versionBefore;
  __threadfence();
  __syncthreads();
  for (int bin = threadIdx.x; bin < MPOPT_BINS; bin += kThreads)
    finishBin(*slot, bin);
  sum = squares = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads) {
    sum += call.sums[block];
    squares += call.squares[block];
  }
  foldBlock(sum, squares);
  if (threadIdx.x == 0) {
    finishCall(*slot, shape, step, sum, squares);
    __threadfence();
    ++slot->versionAfter;
  }
}

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_OBSERVE_CUH
