//===- View.h - How the device reads a tensor ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics do not depend on the order of elements, but for the last bits of
// sums. So a tensor whose elements fill a piece of memory without gaps, however
// its axes are permuted or reversed, is read as that piece; others are read
// element by element.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_VIEW_H
#define MPOPT_KERNELS_CUDA_VIEW_H

#include "Index.h"
#include "Slot.h"
#include "mpopt/Kernels/Statistics.h"

namespace mpopt::kernels::cuda {

struct View {
  Shape shape;
  bool dense;
  /// Dense: the piece of memory, and `inner` of its channels.
  const char *data;
  uint64_t inner;
  /// Else, from `data` on.
  Axes axes;
};

/// Bytes of an element; 0 if its values are not looked at.
unsigned bytesOf(uint32_t dtype);

/// False for malformed tensors, those that do not lie at a multiple of an
/// element, and those with more than eight axes that cannot be joined.
bool viewOf(const mpopt_tensor &tensor, View &view);

/// For `threads` threads in all.
DenseChannels denseChannels(const View &view, uint64_t threads,
                            ChannelKeys *keys);

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_VIEW_H
