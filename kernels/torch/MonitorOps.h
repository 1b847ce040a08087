//===- MonitorOps.h - What mpopt.monitor asks of PyTorch -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_TORCH_MONITOROPS_H
#define MPOPT_KERNELS_TORCH_MONITOROPS_H

#include <torch/library.h>

namespace mpopt::torch_ops {

/// Gives `ops` the schemas of `observe`, `observe_at`, `norms`, `channels`,
/// `observe_gradients` and `observe_output`, and registers their kernels.
void registerMonitorOps(torch::Library &ops);

} // namespace mpopt::torch_ops

#endif // MPOPT_KERNELS_TORCH_MONITOROPS_H
