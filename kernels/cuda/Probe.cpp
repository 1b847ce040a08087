//===- Probe.cpp - Probes of tensors on a CUDA device
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A probe's call becomes one launch. Outside of a capture the recorder says
// whether the call is recorded and at which step, as for tensors on the CPU; in
// one, the device decides at each replay.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Kernels/Cuda.h"

#include "Group.h"
#include "OnDevice.h"

using namespace mpopt::kernels::cuda;

int mpopt_cuda_available(void) {
  int devices = 0, device = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 ||
      cudaGetDevice(&device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  OnDevice guard(device);
  return loadCount();
}

mpopt_cuda_probe *mpopt_cuda_probe_create(mpopt_recorder *recorder, uint32_t id,
                                          uint32_t kind) {
  int device = 0;
  Group *group = nullptr;
  if (cudaGetDevice(&device) == cudaSuccess)
    group = Group::of(recorder, device);
  else
    cudaGetLastError();
  if (!group)
    return nullptr;
  auto *probe = new mpopt_cuda_probe{recorder, id, kind, nullptr, {}, {}};
  group->add(probe);
  return probe;
}

namespace {

enum class Capture { None, Active, Unknown };

} // namespace

/// Unknown: the default stream, while another one is captured that would wait
/// for it. A launch would spoil that.
static Capture captureOf(cudaStream_t stream) {
  cudaStreamCaptureStatus status;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess)
    return Capture::Unknown;
  return status == cudaStreamCaptureStatusNone ? Capture::None
                                               : Capture::Active;
}

/// The device is the tensor's, whichever was current when the probe was made.
static bool placeAtTensor(mpopt_cuda_probe &probe, const void *data) {
  static std::mutex placing;
  std::lock_guard<std::mutex> lock(placing);
  if (probe.placed)
    return true;
  OnDevice guard(probe.group->device);
  cudaPointerAttributes attributes;
  if (!data || cudaPointerGetAttributes(&attributes, data) != cudaSuccess ||
      attributes.type != cudaMemoryTypeDevice)
    return true;
  if (attributes.device != probe.group->device) {
    Group *group = Group::of(probe.recorder, attributes.device);
    if (!group)
      return false;
    probe.group->remove(&probe);
    group->add(&probe);
  }
  probe.placed = true;
  return true;
}

static void launch(const Launch &launch, cudaStream_t stream) {
  const View &view = launch.view;
  if (view.shape.flags & MPOPT_COUNT_ONLY)
    launchCount(launch, stream);
  else if (!view.dense)
    launchAxes(launch, stream);
  else if (launch.keys)
    launchChannels(launch, stream);
  else
    launchDense(launch, stream);
}

static bool observe(mpopt_cuda_probe &probe, View &view, cudaStream_t stream,
                    bool captured, uint64_t step) {
  Group &group = *probe.group;
  Launch call = {nullptr, {nullptr, step}, {}, nullptr, group.processors};
  if (captured) {
    call.turn = {group.liveControl(), 0};
    if (!call.turn.control)
      return false;
  }
  Track *track = group.trackOf(probe, stream, captured);
  if (!track)
    return false;
  call.slot = track->slot;
  call.keys = group.keysOf(probe, view.shape);
  call.view = view;
  // Channels without memory are left out, and are no failure of the call.
  cudaGetLastError();
  launch(call, stream);
  if (cudaGetLastError() != cudaSuccess)
    return false;
  if (!captured)
    group.countLaunch(*track);
  return true;
}

/// A call that went wrong on its way.
static void countLost(const mpopt_cuda_probe &probe) {
  mpopt_record record;
  mpopt_record_init(&record, probe.id, probe.kind);
  record.skipped = 1;
  mpopt_recorder_merge(probe.recorder, &record, nullptr);
}

int mpopt_cuda_probe_observe(mpopt_cuda_probe *probe,
                             const mpopt_tensor *tensor, void *stream) {
  View view;
  auto on = static_cast<cudaStream_t>(stream);
  if (!viewOf(*tensor, view) ||
      (!probe->placed && !placeAtTensor(*probe, tensor->data)))
    return 0;
  OnDevice guard(probe->group->device);
  Capture capture = captureOf(on);
  uint64_t step = 0;
  if (capture == Capture::None &&
      !mpopt_recorder_begin(probe->recorder, probe->id, probe->kind, &step))
    return 1;
  bool captured = capture == Capture::Active;
  if (capture == Capture::Unknown || !observe(*probe, view, on, captured, step))
    countLost(*probe);
  else if (!captured)
    mpopt_recorder_flush_if_due(probe->recorder);
  return 1;
}

int mpopt_cuda_is_capturing(void *stream) {
  cudaStreamCaptureStatus status;
  cudaError_t error =
      cudaStreamIsCapturing(static_cast<cudaStream_t>(stream), &status);
  cudaGetLastError();
  // Without a driver that this runtime knows nobody can tell.
  return error == cudaSuccess ? status != cudaStreamCaptureStatusNone
                              : error == cudaErrorStreamCaptureImplicit;
}

void mpopt_cuda_probe_destroy(mpopt_cuda_probe *probe) {
  probe->group->remove(probe);
  delete probe;
}
