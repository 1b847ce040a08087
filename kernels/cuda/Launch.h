//===- Launch.h - The kernels, as the host launches them -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only functions here that need a device's compiler: the host's side
// (Probe.cpp) is plain C++, which a test links with a device of its own.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_LAUNCH_H
#define MPOPT_KERNELS_CUDA_LAUNCH_H

#include "View.h"

#include <cuda_runtime_api.h>

namespace mpopt::kernels::cuda {

constexpr int kThreads = 256;
/// As many as registers (64 a thread) and shared memory (38 KB) have room for
/// on processors of 8.0, 9.0 and 10.0.
constexpr int kBlocksPerProcessor = 4;
/// With channels: up to 128 registers a thread.
constexpr int kBlocksWithChannels = 2;

struct Launch {
  Slot *slot;
  Turn turn;
  View view;
  ChannelKeys *keys; // null: no channels to look at
  int processors;
};

/// One kernel on the stream; its error is left for cudaGetLastError.
void launchDense(const Launch &launch, cudaStream_t stream);
void launchChannels(const Launch &launch, cudaStream_t stream);
void launchAxes(const Launch &launch, cudaStream_t stream);
void launchCount(const Launch &launch, cudaStream_t stream);

/// Loads the kernels to the current device, which a capture may not be able to.
/// False if there is no code for it.
bool loadDense();
bool loadChannels();
bool loadAxes();
bool loadCount();

/// The parts of a slot to copy.
struct Source {
  const Slot *slot;
  const ChannelKeys *keys;
  uint32_t channels;
  uint64_t at; // in the slab: a Snapshot, then ChannelKeys[channels]
};
void launchSnapshots(const Source *sources, unsigned count, char *slab,
                     cudaStream_t stream);

/// Blocks for so many elements, of which a thread takes `atOnce` at a time.
inline unsigned blocksFor(uint64_t count, uint64_t atOnce, int processors,
                          int blocksPerProcessor) {
  uint64_t share = kThreads * atOnce;
  uint64_t needed = count / share + (count % share != 0);
  uint64_t most = uint64_t(processors) * uint64_t(blocksPerProcessor);
  most = most < kMaxBlocks ? most : kMaxBlocks;
  return unsigned(needed < 1 ? 1 : needed < most ? needed : most);
}

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_LAUNCH_H
