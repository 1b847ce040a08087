//===- GradientOps.h - mpopt::probe_grad for PyTorch ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_TORCH_GRADIENTOPS_H
#define MPOPT_KERNELS_TORCH_GRADIENTOPS_H

#include <cstdint>

namespace mpopt::torch_ops {

/// An id that no probe has records nothing.
inline bool isId(int64_t id) { return id >= 0 && id <= UINT32_MAX; }

/// Gives `probe_grad` and `autocast_operand` their kernels; their schemas have
/// to be registered.
void implementGradientOps();

} // namespace mpopt::torch_ops

#endif // MPOPT_KERNELS_TORCH_GRADIENTOPS_H
