//===- Channels.cu - The same with ranges per channel
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Observe.cuh"

using namespace mpopt::kernels::cuda;

namespace {

template <class Kind>
__global__ void __launch_bounds__(kThreads, kBlocksWithChannels)
    observeChannels(Slot *slot, Turn turn, const typename Kind::Word *data,
                    Shape shape, DenseChannels channels) {
  observe<Kind>(*slot, turn, shape, [&](auto &stats, auto row, auto edge) {
    walkChannels<Kind>(
        data, shape.count, threadNumber(), channels, LoadVector(),
        [&](const uint32_t *words, uint64_t) {
          Kind::takeVector(stats, words, row, edge);
        },
        [&](typename Kind::Word word, uint64_t) {
          Kind::takeWord(stats, word, row, edge);
        },
        WidenAtomic());
  });
}

struct LaunchChannels {
  const Launch &launch;
  cudaStream_t stream;

  template <class Kind> void run() {
    using Word = typename Kind::Word;
    unsigned blocks = blocksFor(launch.view.shape.count, 16 / sizeof(Word),
                                launch.processors, kBlocksWithChannels);
    MPOPT_LAUNCH(observeChannels<Kind>, blocks, stream)(
        launch.slot, launch.turn,
        reinterpret_cast<const Word *>(launch.view.data), launch.view.shape,
        denseChannels(launch.view, uint64_t(blocks) * kThreads, launch.keys));
  }
};

struct LoadChannels {
  bool &loaded;
  template <class Kind> void run() {
    loaded &= isLoaded(observeChannels<Kind>);
  }
};

} // namespace

void mpopt::kernels::cuda::launchChannels(const Launch &launch,
                                          cudaStream_t stream) {
  withKind(launch.view.shape.dtype, LaunchChannels{launch, stream});
}

bool mpopt::kernels::cuda::loadChannels() { return loadAll<LoadChannels>(); }
