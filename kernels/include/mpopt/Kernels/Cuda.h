//===- Cuda.h - Probes of tensors on a CUDA device ---------------*- C++
//-*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C, exported by libmpopt_cuda.so, which is built where nvcc is. A probe
// has a slot of device memory that is taken when the probe is made. Observing a
// tensor is one kernel launch on the caller's stream: no allocation, no copy,
// no wait, so it may be captured into a CUDA graph, where every replay counts
// as a call. Whether and how often a probe records, and the step, are the
// recorder's (Recorder.h): it tells the device of changes, which reach captured
// graphs as well.
//
// Slots are copied to the host and merged into the recorder when it flushes
// (Recorder.h), on a stream of their own.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_H
#define MPOPT_KERNELS_CUDA_H

#include "mpopt/Kernels/Recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpopt_cuda_probe mpopt_cuda_probe;

/// Whether there is a device that this library has code for.
int mpopt_cuda_available(void);

/// A probe on the current device. Null if there is no memory for it.
mpopt_cuda_probe *mpopt_cuda_probe_create(mpopt_recorder *recorder,
                                          uint32_t probe, uint32_t kind);

/// Launches on `stream` (a cudaStream_t). The tensor must be contiguous;
/// channel_axis is not looked at. False if it cannot be launched, which leaves
/// no error behind.
int mpopt_cuda_probe_observe(mpopt_cuda_probe *probe,
                             const mpopt_tensor *tensor, void *stream);

/// Merges what the probe still holds; waits for the device.
void mpopt_cuda_probe_destroy(mpopt_cuda_probe *probe);

#ifdef __cplusplus
}
#endif

#endif // MPOPT_KERNELS_CUDA_H
