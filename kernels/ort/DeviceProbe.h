//===- DeviceProbe.h - The CUDA library, if it is there ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_ORT_DEVICEPROBE_H
#define MPOPT_KERNELS_ORT_DEVICEPROBE_H

#include "mpopt/Kernels/Cuda.h"

namespace mpopt::ort {

/// The functions of libmpopt_cuda.so (Cuda.h).
struct DeviceProbes {
  decltype(&mpopt_cuda_probe_create) create;
  decltype(&mpopt_cuda_probe_observe) observe;
  decltype(&mpopt_cuda_probe_destroy) destroy;
  decltype(&mpopt_cuda_is_capturing) isCapturing;
};

/// Null unless libmpopt_cuda.so lies beside this library. Looked for once.
const DeviceProbes *deviceProbes();

} // namespace mpopt::ort

#endif // MPOPT_KERNELS_ORT_DEVICEPROBE_H
