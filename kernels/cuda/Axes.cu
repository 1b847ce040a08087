//===- Axes.cu - Tensors with gaps
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Observe.cuh"

using namespace mpopt::kernels::cuda;

namespace {

template <class Kind>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    observeAxes(Slot *slot, Turn turn, const typename Kind::Word *data,
                Shape shape, Axes axes) {
  observe<Kind>(*slot, turn, shape, [&](auto &stats, auto row, auto edge) {
    walkAxes<Kind>(
        data, shape.count, threadNumber(), uint64_t(gridDim.x) * kThreads, axes,
        [&](typename Kind::Word word, uint64_t) {
          Kind::takeWord(stats, word, row, edge);
        },
        WidenAtomic());
  });
}

struct LaunchAxes {
  const Launch &launch;
  cudaStream_t stream;

  template <class Kind> void run() {
    using Word = typename Kind::Word;
    unsigned blocks = blocksFor(launch.view.shape.count, 1, launch.processors,
                                kBlocksPerProcessor);
    Axes axes = launch.view.axes;
    axes.keys = launch.keys;
    MPOPT_LAUNCH(observeAxes<Kind>, blocks,
                 stream)(launch.slot, launch.turn,
                         reinterpret_cast<const Word *>(launch.view.data),
                         launch.view.shape, axes);
  }
};

struct LoadAxes {
  bool &loaded;
  template <class Kind> void run() { loaded &= isLoaded(observeAxes<Kind>); }
};

} // namespace

void mpopt::kernels::cuda::launchAxes(const Launch &launch,
                                      cudaStream_t stream) {
  withKind(launch.view.shape.dtype, LaunchAxes{launch, stream});
}

bool mpopt::kernels::cuda::loadAxes() { return loadAll<LoadAxes>(); }
