//===- Dense.cu - Tensors that fill a piece of memory
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Observe.cuh"

using namespace mpopt::kernels::cuda;

namespace {

template <class Kind>
__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    observeDense(Slot *slot, Turn turn, const typename Kind::Word *data,
                 Shape shape) {
  observe<Kind>(*slot, turn, shape, [&](auto &stats, auto row, auto edge) {
    walkDense(
        data, shape.count, threadNumber(), uint64_t(gridDim.x) * kThreads,
        LoadVector(),
        [&](const uint32_t *words, uint64_t) {
          Kind::takeVector(stats, words, row, edge);
        },
        [&](typename Kind::Word word, uint64_t) {
          Kind::takeWord(stats, word, row, edge);
        });
  });
}

struct LaunchDense {
  const Launch &launch;
  cudaStream_t stream;

  template <class Kind> void run() {
    using Word = typename Kind::Word;
    unsigned blocks = blocksFor(launch.view.shape.count, 16 / sizeof(Word),
                                launch.processors, kBlocksPerProcessor);
    MPOPT_LAUNCH(observeDense<Kind>, blocks, stream)(
        launch.slot, launch.turn,
        reinterpret_cast<const Word *>(launch.view.data), launch.view.shape);
  }
};

struct LoadDense {
  bool &loaded;
  template <class Kind> void run() { loaded &= isLoaded(observeDense<Kind>); }
};

} // namespace

void mpopt::kernels::cuda::launchDense(const Launch &launch,
                                       cudaStream_t stream) {
  withKind(launch.view.shape.dtype, LaunchDense{launch, stream});
}

bool mpopt::kernels::cuda::loadDense() { return loadAll<LoadDense>(); }
