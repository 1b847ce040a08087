//===- Emulated.h - CUDA's language, on the CPU --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of CUDA that the kernels of cuda/*.cu use; included before them. A
// block's threads are contexts that run one at a time and change only where
// they wait for each other: at a barrier of the block or of a warp. Who is next
// is drawn, so that what needs a barrier and has none goes wrong now and then.
// Blocks run one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_TEST_EMULATED_H
#define MPOPT_KERNELS_TEST_EMULATED_H

#include "../cuda/Slot.h"
#include "FakeCuda.h"

#include <cstring>
#include <utility>

#undef __shared__
#undef __launch_bounds__
// One block at a time.
#define __shared__ static
#define __launch_bounds__(...)

namespace mpopt::kernels::emulated {

struct Index {
  unsigned x;
};

void run(unsigned blocks, unsigned threads, const std::function<void()> &body);
void waitForBlock();
void waitForWarp();
/// A word of a thread of this one's warp.
uint64_t &wordOf(unsigned lane);

/// Stands for `kernel<<<blocks, threads, 0, stream>>>`.
template <class First, class... Rest>
auto launcher(void (*kernel)(First, Rest...), unsigned blocks, unsigned threads,
              cudaStream_t stream) {
  return [=](First first, Rest... rest) {
    const void *slot = nullptr;
    if constexpr (std::is_same_v<First, cuda::Slot *>)
      slot = first;
    fake::launch(stream, slot, [=] {
      run(blocks, threads, [&] { kernel(first, rest...); });
    });
  };
}

} // namespace mpopt::kernels::emulated

#define MPOPT_LAUNCH(kernel, blocks, stream)                                   \
  ::mpopt::kernels::emulated::launcher(kernel, blocks, kThreads, stream)

extern mpopt::kernels::emulated::Index threadIdx, blockIdx, gridDim;

inline void __syncthreads() { mpopt::kernels::emulated::waitForBlock(); }
inline void __threadfence() {}

/// Exchanges values among the warp's threads: each gets that of the lane that
/// `pick` names.
template <class Value, class Pick> Value ofWarp(Value value, Pick pick) {
  using namespace mpopt::kernels::emulated;
  std::memcpy(&wordOf(threadIdx.x % 32), &value, sizeof(value));
  waitForWarp();
  value = pick([](unsigned lane) {
    Value one;
    std::memcpy(&one, &wordOf(lane), sizeof(one));
    return one;
  });
  waitForWarp();
  return value;
}

template <class Value>
Value __shfl_down_sync(unsigned, Value value, unsigned offset) {
  unsigned lane = threadIdx.x % 32;
  return ofWarp(value, [=](auto of) {
    return of(lane + offset < 32 ? lane + offset : lane);
  });
}
template <class Value>
Value __shfl_xor_sync(unsigned, Value value, unsigned mask) {
  unsigned lane = threadIdx.x % 32;
  return ofWarp(value, [=](auto of) { return of(lane ^ mask); });
}
inline unsigned __reduce_add_sync(unsigned, unsigned value) {
  return ofWarp(value, [](auto of) {
    unsigned sum = 0;
    for (unsigned lane = 0; lane < 32; ++lane)
      sum += of(lane);
    return sum;
  });
}

template <class Value> Value __ldcg(const Value *from) { return *from; }
template <class Value> Value __ldcs(const Value *from) { return *from; }

inline unsigned atomicAdd(unsigned *to, unsigned value) {
  return std::exchange(*to, *to + value);
}
inline unsigned long long atomicAdd(unsigned long long *to,
                                    unsigned long long value) {
  return std::exchange(*to, *to + value);
}
inline unsigned long long atomicMin(unsigned long long *to,
                                    unsigned long long value) {
  return std::exchange(*to, value < *to ? value : *to);
}
inline unsigned long long atomicMax(unsigned long long *to,
                                    unsigned long long value) {
  return std::exchange(*to, value > *to ? value : *to);
}
inline unsigned long long atomicCAS(unsigned long long *to,
                                    unsigned long long expected,
                                    unsigned long long value) {
  return std::exchange(*to, *to == expected ? value : *to);
}
inline unsigned atomicInc(unsigned *to, unsigned last) {
  return std::exchange(*to, *to >= last ? 0 : *to + 1);
}

#endif // MPOPT_KERNELS_TEST_EMULATED_H
