//===- Observe.h - A PyTorch tensor into the record ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_TORCH_OBSERVE_H
#define MPOPT_KERNELS_TORCH_OBSERVE_H

#include "mpopt/Kernels/Recorder.h"

#include <ATen/core/Tensor.h>

#include <string_view>

namespace mpopt::torch_ops {

/// The recorder of a ledger that was opened last; `ledger` is 64 hex digits,
/// anything else counts as an unknown ledger.
mpopt_recorder *findRecorder(std::string_view ledger);

/// The quantity that a probe records.
struct Target {
  mpopt_recorder *recorder = nullptr;
  uint32_t probe = 0;
  uint32_t kind = 0;
  /// -1: no ranges by channel.
  int32_t channelAxis = -1;
};

/// Records a tensor of any device and layout; of those without plain elements
/// (quantised, sparse, complex) the count alone.
void observe(const Target &target, const at::Tensor &tensor);
/// The same, and its norm, which the pass over it gives, too. False where that
/// did not see all of it, or was not made (mpopt_recorder_observe_norm), and
/// away from the processor.
bool observeWithNorm(const Target &target, const at::Tensor &tensor,
                     double &norm);
/// The same with the squares of a tensor's elements, which are added to `sums`
/// by index of an axis: each has as many as that is long. False where they were
/// not, for tensors without plain float elements, too.
bool observeWithSquares(const Target &target, const at::Tensor &tensor,
                        int64_t axis, double *sums);
/// The squares alone.
bool addSquares(const at::Tensor &tensor, int64_t axis, double *sums);

} // namespace mpopt::torch_ops

#endif // MPOPT_KERNELS_TORCH_OBSERVE_H
