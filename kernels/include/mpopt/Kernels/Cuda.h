//===- Cuda.h - Probes of tensors on a CUDA device -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C, exported by libmpopt_cuda.so, which is built where nvcc is.
// Observing a tensor is one kernel launch on the caller's stream: no copy and
// no wait on it, so it may be captured into a CUDA graph, where every replay
// counts as a call. Device memory is taken when a probe first sees a stream,
// and its first channels; that, too, leaves a capture whole.
//
// The switch, the period and the step of probes are the recorder's
// (Recorder.h): it tells the device of changes, which reach captured graphs as
// well, at the replays that begin on the device after them.
//
// Records are copied to the host and merged into the recorder when it flushes,
// on streams of their own.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_H
#define MPOPT_KERNELS_CUDA_H

#include "mpopt/Kernels/Recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpopt_cuda_probe mpopt_cuda_probe;

/// True if there is a device that this library has code for.
int mpopt_cuda_available(void);

/// A probe on the current device, or the one that its first tensor is on. Null
/// if there is no memory, or no code for the device.
mpopt_cuda_probe *mpopt_cuda_probe_create(mpopt_recorder *recorder,
                                          uint32_t probe, uint32_t kind);

/// Launches on `stream` (a cudaStream_t). Any dtype, strides and channel_axis,
/// as on the CPU. Calls on several streams may run at the same time; graphs
/// that were captured on one stream must not. False, and the call is not
/// counted, if the tensor is malformed, does not lie at a multiple of its
/// element or has more than eight axes that cannot be joined.
int mpopt_cuda_probe_observe(mpopt_cuda_probe *probe,
                             const mpopt_tensor *tensor, void *stream);

/// True if work on the stream is being captured, or a capture forbids any.
int mpopt_cuda_is_capturing(void *stream);

/// Merges what the probe still holds; waits for its calls, but for those of
/// graphs.
void mpopt_cuda_probe_destroy(mpopt_cuda_probe *probe);

#ifdef __cplusplus
}
#endif

#endif // MPOPT_KERNELS_CUDA_H
