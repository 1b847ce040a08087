//===- Observe.cuh - The kernel that reads a tensor ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One launch: blocks stride over the tensor, each folds its histogram and its
// threads' statistics into the slot's Call, and the last one to come finishes
// the call. Sums are folded in an order that depends on the number of blocks
// only, so a device gives the same bits every time.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_OBSERVE_CUH
#define MPOPT_KERNELS_CUDA_OBSERVE_CUH

#include "Launch.h"
#include "Walk.h"

/// A test runs the same kernels on the CPU (test/Emulated.h).
#ifdef __CUDACC__
#define MPOPT_LAUNCH(kernel, blocks, stream)                                   \
  kernel<<<blocks, kThreads, 0, stream>>>
#endif

namespace mpopt::kernels::cuda {

constexpr int kWarps = kThreads / 32;

struct AddAtomic {
  __device__ void operator()(unsigned long long *counter,
                             unsigned long long times) const {
    atomicAdd(counter, times);
  }
};

/// Looked at first, since nearly all values are within what was seen: from the
/// cache that all processors share, where atomics happen.
struct WidenAtomic {
  __device__ void operator()(ChannelKeys &keys, unsigned long long low,
                             unsigned long long high) const {
    if (low < __ldcg(&keys.min))
      atomicMin(&keys.min, low);
    if (high > __ldcg(&keys.max))
      atomicMax(&keys.max, high);
  }
};

/// Sixteen bytes that are not needed again.
struct LoadVector {
  __device__ Words operator()(const void *from) const {
    uint4 vector = __ldcs(static_cast<const uint4 *>(from));
    return {{vector.x, vector.y, vector.z, vector.w}};
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
template <bool hasRows>
__device__ void foldExtremes(const ThreadStats &stats, Call &call) {
  uint64_t min = minOfWarp(stats.min), max = ~minOfWarp(~stats.max);
  uint64_t nonzero = kNoMinimum;
  unsigned nan = 0, posInf = 0, negInf = 0, zeros = 0;
  if constexpr (hasRows) {
    nonzero = minOfWarp(stats.minNonzero);
    nan = __reduce_add_sync(~0u, stats.nan);
    posInf = __reduce_add_sync(~0u, stats.posInf);
    negInf = __reduce_add_sync(~0u, stats.negInf);
  } else {
    zeros = __reduce_add_sync(~0u, stats.zeros);
  }
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
  if (zeros)
    atomicAdd(&call.zero, zeros);
}

/// The same in all blocks of a launch. Only calls in a graph have to ask.
__device__ inline Decision decideTogether(Slot &slot, const Turn &turn) {
  if (!turn.control)
    return {turn.step, true, true};
  __shared__ unsigned long long packed;
  if (threadIdx.x == 0) {
    // Each word is read at once, while the host may be writing another one.
    Control now = {__ldcg(&turn.control->enabled),
                   __ldcg(&turn.control->period), __ldcg(&turn.control->step)};
    unsigned long long mine = decide(now, __ldcg(slot.next)).packed();
    unsigned long long first = atomicCAS(&slot.call.decision, 0ull, mine);
    packed = first ? first : mine;
  }
  __syncthreads();
  return Decision::of(packed);
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

/// The call into the slot's record, by the last block.
__device__ inline void finish(Slot &slot, const Shape &shape,
                              const Decision &decision, bool direct,
                              bool hasRows) {
  Call &call = slot.call;
  if (threadIdx.x == 0)
    ++slot.begun;
  __threadfence();
  __syncthreads();
  if (hasRows)
    for (int bin = threadIdx.x; bin < MPOPT_BINS; bin += kThreads)
      finishBin(slot, bin);
  double sum = 0, squares = 0;
  if (hasRows)
    for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads) {
      sum += __ldcg(&call.sums[block]);
      squares += __ldcg(&call.squares[block]);
    }
  foldBlock(sum, squares);
  if (threadIdx.x)
    return;
  finishCall(slot, shape, decision, direct, sum, squares);
  __threadfence();
  slot.ended = slot.begun;
}

/// Counts the call for the steps of those that follow in graphs.
__device__ inline void advance(Slot &slot, const Decision &decision) {
  if (threadIdx.x)
    return;
  atomicMax(slot.next, decision.step + 1);
  slot.call.decision = 0;
}

/// `walk(stats, row, edge)` takes the thread's elements.
template <class Kind, class Walk>
__device__ void observe(Slot &slot, const Turn &turn, const Shape &shape,
                        Walk walk) {
  Decision decision = decideTogether(slot, turn);
  Call &call = slot.call;
  if (!decision.turn) {
    if (isLastBlock(call)) {
      if (threadIdx.x == 0)
        ++slot.record.skipped;
      advance(slot, decision);
    }
    return;
  }

  // Edges, too: a mask of the least finite value is at one in all its elements.
  constexpr int rowCount = Kind::hasRows ? kRows + kEdges : 1;
  __shared__ unsigned rows[rowCount][32];
  if constexpr (Kind::hasRows) {
    for (int i = threadIdx.x; i < rowCount * 32; i += kThreads)
      rows[i / 32][i % 32] = 0;
    __syncthreads();
  }
  int lane = threadIdx.x % 32;
  auto row = [&](int index) { atomicAdd(&rows[index][lane], 1u); };
  auto edge = [&](int format, EdgeKind kind) {
    atomicAdd(&rows[kRows + kEdgeKinds * format + kind][lane], 1u);
  };
  typename Kind::Stats taken;
  walk(taken, row, edge);
  ThreadStats stats = Kind::finish(taken);
  if constexpr (Kind::hasRows) {
    __syncthreads();
    for (int index = threadIdx.x; index < rowCount; index += kThreads) {
      uint64_t times = 0;
      // Each thread begins in another bank.
      for (int i = 0; i < 32; ++i)
        times += rows[index][(i + lane) % 32];
      int edge = index - kRows;
      if (times && edge < 0)
        Kind::finishRow(stats, call, index, times, AddAtomic());
      else if (times)
        atomicAdd(&call.edge[edge / kEdgeKinds][edge % kEdgeKinds],
                  static_cast<unsigned long long>(times));
    }
    double sum = stats.sum, squares = stats.squares;
    foldBlock(sum, squares);
    if (threadIdx.x == 0) {
      call.sums[blockIdx.x] = sum;
      call.squares[blockIdx.x] = squares;
    }
  }
  foldExtremes<Kind::hasRows>(stats, call);
  if (!isLastBlock(call))
    return;
  finish(slot, shape, decision, !turn.control, Kind::hasRows);
  advance(slot, decision);
}

__device__ inline uint64_t threadNumber() {
  return uint64_t(blockIdx.x) * kThreads + threadIdx.x;
}

template <class Kernel> bool isLoaded(Kernel kernel) {
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(
                                                kernel)) == cudaSuccess;
}

/// Load{loaded}.run<Kind>() for each kind.
template <class Load> bool loadAll() {
  bool loaded = true;
  for (uint32_t dtype = MPOPT_UNDEFINED; dtype <= MPOPT_F8E5M2FNUZ; ++dtype)
    withKind(dtype, Load{loaded});
  return loaded;
}

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_OBSERVE_CUH
