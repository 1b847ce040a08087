//===- Probe.cu - Probes of tensors on a CUDA device
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host's side: slots, launches, and how records come back. The device only
// ever adds to a slot's record. The host copies it from time to time, on a
// stream of its own, and merges into the recorder what is new since the last
// copy; extremes and first steps merge as they are.
//
//===----------------------------------------------------------------------===//

#include "Observe.cuh"
#include "mpopt/Kernels/Cuda.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <memory>
#include <mutex>
#include <vector>

using namespace mpopt::kernels;
using namespace mpopt::kernels::cuda;

namespace {

/// What goes over in one copy: the record between its two versions.
struct Snapshot {
  uint64_t before;
  mpopt_record record;
  uint64_t after;
};
static_assert(sizeof(Snapshot) == offsetof(Slot, call));

/// The probes of one recorder on one device.
struct Group {
  mpopt_recorder *recorder;
  int device;
  std::mutex mutex;
  std::vector<mpopt_cuda_probe *> probes;
  Control *control = nullptr; // on the device
  cudaStream_t copies = nullptr;
  Snapshot *pinned = nullptr;
};

} // namespace

struct mpopt_cuda_probe {
  Group *group;
  int device;
  int blocks;
  uint32_t id, kind;
  Slot *slot = nullptr;
  mpopt_record merged; // as of the last copy
};

static std::mutex groupsMutex;

static std::vector<Group *> &groups() {
  static auto *all = new std::vector<Group *>;
  return *all;
}

namespace {

/// The caller's current device is put back, and so is a state without errors.
class OnDevice {
public:
  explicit OnDevice(int device) {
    cudaGetDevice(&before);
    if (before != device)
      cudaSetDevice(device);
  }
  ~OnDevice() {
    int now = 0;
    cudaGetDevice(&now);
    if (now != before)
      cudaSetDevice(before);
    cudaGetLastError();
  }

private:
  int before = 0;
};

} // namespace

/// What `now` has more than `then`, as a record that can be merged.
static mpopt_record newSince(const mpopt_record &now,
                             const mpopt_record &then) {
  mpopt_record record = now;
  record.calls -= then.calls;
  record.skipped -= then.skipped;
  record.count -= then.count;
  record.nan -= then.nan;
  record.pos_inf -= then.pos_inf;
  record.neg_inf -= then.neg_inf;
  record.zero -= then.zero;
  for (int i = 0; i < MPOPT_BINS; ++i)
    record.histogram[i] -= then.histogram[i];
  for (int i = 0; i < MPOPT_FORMATS; ++i) {
    record.edge[i].beyond_max -= then.edge[i].beyond_max;
    record.edge[i].not_finite -= then.edge[i].not_finite;
    record.edge[i].rounds_to_zero -= then.edge[i].rounds_to_zero;
  }
  auto subtract = [](mpopt_exact_sum &from, const mpopt_exact_sum &what) {
    uint64_t borrow = 0;
    for (int i = 0; i < MPOPT_SUM_LIMBS; ++i) {
      uint64_t first = subtractLimb(from.limb[i], borrow);
      borrow = first | subtractLimb(from.limb[i], what.limb[i]);
    }
    from.lost -= what.lost;
  };
  subtract(record.sum, then.sum);
  subtract(record.sum_squares, then.sum_squares);
  return record;
}

/// Copies a probe's record and merges what is new. `group.mutex` is held.
static void collectProbe(Group &group, mpopt_cuda_probe &probe) {
  OnDevice guard(probe.device);
  // A copy that a launch ran into is taken again; the last chance is the next
  // flush.
  for (int attempt = 0; attempt < 8; ++attempt) {
    if (cudaMemcpyAsync(group.pinned, probe.slot, sizeof(Snapshot),
                        cudaMemcpyDeviceToHost, group.copies) != cudaSuccess ||
        cudaStreamSynchronize(group.copies) != cudaSuccess)
      return;
    if (group.pinned->before == group.pinned->after)
      break;
    if (attempt == 7)
      return;
  }
  const mpopt_record &now = group.pinned->record;
  if (now.calls != probe.merged.calls || now.skipped != probe.merged.skipped) {
    mpopt_record fresh = newSince(now, probe.merged);
    mpopt_recorder_merge(group.recorder, &fresh, nullptr);
    probe.merged = now;
  }
}

/// Groups are never freed, so they may be used after the lock.
static std::vector<Group *> groupsOf(const mpopt_recorder *recorder) {
  std::lock_guard<std::mutex> lock(groupsMutex);
  std::vector<Group *> some;
  for (Group *group : groups())
    if (!recorder || group->recorder == recorder)
      some.push_back(group);
  return some;
}

static void collect(void *recorder, int) {
  for (Group *group : groupsOf(static_cast<mpopt_recorder *>(recorder))) {
    std::lock_guard<std::mutex> lock(group->mutex);
    for (mpopt_cuda_probe *probe : group->probes)
      collectProbe(*group, *probe);
  }
}

/// Before the CUDA runtime's own handler, since that is installed earlier.
static void collectAll() {
  for (Group *group : groupsOf(nullptr)) {
    mpopt_recorder_flush(group->recorder);
    mpopt_recorder_on_flush(group->recorder, nullptr, nullptr);
    mpopt_recorder_on_control(group->recorder, nullptr, nullptr);
  }
}

/// On the group's own stream, so what the device is running takes no notice: it
/// takes effect with the calls that begin on the device from then on.
static void control(void *recorder, const Control *now) {
  for (Group *group : groupsOf(static_cast<mpopt_recorder *>(recorder))) {
    OnDevice guard(group->device);
    // Staged before this returns, since it is not pinned.
    cudaMemcpyAsync(group->control, now, sizeof(Control),
                    cudaMemcpyHostToDevice, group->copies);
  }
}

/// Kept for the process's life: captured graphs may hold its addresses.
static Group *groupOf(mpopt_recorder *recorder) {
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess)
    return nullptr;
  for (Group *group : groupsOf(recorder))
    if (group->device == device)
      return group;
  auto group = std::make_unique<Group>();
  group->recorder = recorder;
  group->device = device;
  if (cudaMalloc(&group->control, sizeof(Control)) != cudaSuccess ||
      cudaStreamCreateWithFlags(&group->copies, cudaStreamNonBlocking) !=
          cudaSuccess ||
      cudaHostAlloc(&group->pinned, sizeof(Snapshot), cudaHostAllocDefault) !=
          cudaSuccess)
    return nullptr;
  {
    std::lock_guard<std::mutex> lock(groupsMutex);
    if (groups().empty())
      std::atexit(collectAll);
    groups().push_back(group.get());
  }
  mpopt_recorder_on_flush(recorder, collect, recorder);
  mpopt_recorder_on_control(recorder, control, recorder);
  // Before the first launch on whichever stream.
  cudaStreamSynchronize(group->copies);
  return group.release();
}

int mpopt_cuda_available(void) {
  int devices = 0;
  cudaFuncAttributes attributes;
  bool usable =
      cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 &&
      cudaFuncGetAttributes(&attributes, observe<DecodeF32>) == cudaSuccess;
  cudaGetLastError();
  return usable;
}

mpopt_cuda_probe *mpopt_cuda_probe_create(mpopt_recorder *recorder, uint32_t id,
                                          uint32_t kind) {
  static std::mutex creating;
  std::lock_guard<std::mutex> turn(creating);
  Group *group = groupOf(recorder);
  auto probe = std::make_unique<mpopt_cuda_probe>();
  int processors = 0;
  if (!group || cudaGetDevice(&probe->device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                             probe->device) != cudaSuccess ||
      cudaMalloc(&probe->slot, sizeof(Slot)) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  probe->blocks = std::min(kBlocksPerProcessor * processors, kMaxBlocks);
  probe->group = group;
  probe->id = id;
  probe->kind = kind;
  mpopt_record_init(&probe->merged, id, kind);
  auto slot = std::make_unique<Slot>();
  std::memset(static_cast<void *>(slot.get()), 0, sizeof(Slot));
  slot->record = probe->merged;
  clearScalars(slot->call);
  if (cudaMemcpy(probe->slot, slot.get(), sizeof(Slot),
                 cudaMemcpyHostToDevice) != cudaSuccess) {
    cudaFree(probe->slot);
    cudaGetLastError();
    return nullptr;
  }
  std::lock_guard<std::mutex> lock(group->mutex);
  group->probes.push_back(probe.get());
  return probe.release();
}

template <class Decode>
static void launch(mpopt_cuda_probe &probe, const void *data,
                   const Shape &shape, cudaStream_t stream) {
  constexpr uint64_t atOnce = kThreads * 16 / sizeof(typename Decode::Word);
  uint64_t blocks = std::clamp<uint64_t>((shape.count + atOnce - 1) / atOnce, 1,
                                         uint64_t(probe.blocks));
  observe<Decode><<<unsigned(blocks), kThreads, 0, stream>>>(
      probe.slot, probe.group->control,
      static_cast<const typename Decode::Word *>(data), shape);
}

static bool launchAs(mpopt_cuda_probe &probe, const mpopt_tensor &tensor,
                     const Shape &shape, cudaStream_t stream) {
  switch (tensor.dtype) {
  case MPOPT_F32:
    launch<DecodeF32>(probe, tensor.data, shape, stream);
    return true;
  case MPOPT_F16:
    launch<DecodeF16>(probe, tensor.data, shape, stream);
    return true;
  case MPOPT_BF16:
    launch<DecodeBF16>(probe, tensor.data, shape, stream);
    return true;
  case MPOPT_F64:
    launch<DecodeF64>(probe, tensor.data, shape, stream);
    return true;
  case MPOPT_F8E4M3FN:
    launch<DecodeE4M3FN>(probe, tensor.data, shape, stream);
    return true;
  case MPOPT_F8E4M3FNUZ:
    launch<DecodeE4M3FNUZ>(probe, tensor.data, shape, stream);
    return true;
  case MPOPT_F8E5M2:
    launch<DecodeE5M2>(probe, tensor.data, shape, stream);
    return true;
  case MPOPT_F8E5M2FNUZ:
    launch<DecodeE5M2FNUZ>(probe, tensor.data, shape, stream);
    return true;
  }
  return false;
}

static bool shapeOf(const mpopt_tensor &tensor, Shape &shape) {
  shape = {1, tensor.dtype, tensor.rank, {}};
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] < 0)
      return false;
    shape.count *= uint64_t(tensor.dims[i]);
    if (i < MPOPT_MAX_DIMS)
      shape.dims[i] = tensor.dims[i];
  }
  return tensor.data || !shape.count;
}

int mpopt_cuda_probe_observe(mpopt_cuda_probe *probe,
                             const mpopt_tensor *tensor, void *stream) {
  Shape shape;
  auto on = static_cast<cudaStream_t>(stream);
  if (!shapeOf(*tensor, shape) || !launchAs(*probe, *tensor, shape, on))
    return 0;
  if (cudaGetLastError() != cudaSuccess)
    return 0;
  // A flush copies, which a capture does not allow.
  cudaStreamCaptureStatus capture;
  if (cudaStreamIsCapturing(on, &capture) == cudaSuccess &&
      capture == cudaStreamCaptureStatusNone)
    mpopt_recorder_flush_if_due(probe->group->recorder);
  return 1;
}

void mpopt_cuda_probe_destroy(mpopt_cuda_probe *probe) {
  Group &group = *probe->group;
  {
    OnDevice guard(probe->device);
    cudaDeviceSynchronize();
    std::lock_guard<std::mutex> lock(group.mutex);
    collectProbe(group, *probe);
    auto &all = group.probes;
    all.erase(std::find(all.begin(), all.end(), probe));
    cudaFree(probe->slot);
  }
  delete probe;
}
