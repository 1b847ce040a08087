//===- Snapshot.cu - Counts alone, and what the host gets
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Observe.cuh"

using namespace mpopt::kernels::cuda;

namespace {

/// Elements without values to look at.
__global__ void __launch_bounds__(kThreads)
    observeCount(Slot *slot, Turn turn, Shape shape) {
  observe<Integers<uint8_t>>(*slot, turn, shape, [](auto &, auto, auto) {});
}

/// One block a slot. The copy engine promises no order in which it reads, so
/// whether a record is whole can only be told from within a kernel.
__global__ void __launch_bounds__(kThreads)
    copySnapshots(const Source *sources, char *slab) {
  const Source source = sources[blockIdx.x];
  auto *to = reinterpret_cast<Snapshot *>(slab + source.at);
  __shared__ unsigned long long ended, direct;
  if (threadIdx.x == 0) {
    ended = __ldcg(&source.slot->ended);
    direct = __ldcg(&source.slot->direct);
  }
  __threadfence();
  __syncthreads();
  constexpr int words = sizeof(mpopt_record) / 4;
  auto *from = reinterpret_cast<const uint32_t *>(&source.slot->record);
  auto *record = reinterpret_cast<uint32_t *>(&to->record);
  for (int i = threadIdx.x; i < words; i += kThreads)
    record[i] = __ldcg(from + i);
  // These only ever grow wider, so there is no harm in a call's first ones.
  auto *keys = reinterpret_cast<ChannelKeys *>(to + 1);
  for (uint32_t i = threadIdx.x; i < source.channels; i += kThreads)
    keys[i] = {__ldcg(&source.keys[i].min), __ldcg(&source.keys[i].max)};
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    to->whole = __ldcg(&source.slot->begun) == ended;
    to->direct = direct;
  }
}

} // namespace

void mpopt::kernels::cuda::launchCount(const Launch &launch,
                                       cudaStream_t stream) {
  MPOPT_LAUNCH(observeCount, 1, stream)(launch.slot, launch.turn,
                                        launch.view.shape);
}

void mpopt::kernels::cuda::launchSnapshots(const Source *sources,
                                           unsigned count, char *slab,
                                           cudaStream_t stream) {
  MPOPT_LAUNCH(copySnapshots, count, stream)(sources, slab);
}

bool mpopt::kernels::cuda::loadCount() {
  return isLoaded(observeCount) && isLoaded(copySnapshots);
}
