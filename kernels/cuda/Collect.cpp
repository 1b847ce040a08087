//===- Collect.cpp - How records come back from the device
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A flush that happens by itself must not make the model wait for the device:
// it merges the copy that an earlier one began, and begins the next. Who asks
// for a flush waits until the device has come to all calls that were launched
// before, as far as the host can know: not those of graphs.
//
//===----------------------------------------------------------------------===//

#include "Group.h"

#include "OnDevice.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace mpopt::kernels;
using namespace mpopt::kernels::cuda;
using Clock = std::chrono::steady_clock;

/// A device that comes to no call for so long hangs.
static constexpr auto kPatience = std::chrono::seconds(30);

/// The difference of `now` and `then`, as a record that can be merged.
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

void Group::onFlush(void *recorder, int wait) {
  for (Group *group : groupsOf(static_cast<mpopt_recorder *>(recorder))) {
    std::lock_guard<std::mutex> lock(group->collecting);
    OnDevice guard(group->device);
    group->collect(wait);
  }
}

/// True if nothing that was launched before is missing.
bool Group::collect(bool wait) {
  uint64_t progress = 0;
  if (pending) {
    cudaError_t state =
        wait ? cudaEventSynchronize(copied) : cudaEventQuery(copied);
    if (state == cudaErrorNotReady)
      return false;
    pending = false;
    if (state != cudaSuccess)
      return false;
    mergeCopy(progress);
  }
  if (!wait) {
    pending = beginCopy(false);
    return false;
  }
  auto last = Clock::now();
  for (bool first = true;; first = false) {
    if (!beginCopy(first) || cudaEventSynchronize(copied) != cudaSuccess)
      return false;
    uint64_t now = 0;
    if (mergeCopy(now))
      return true;
    if (now != progress)
      last = Clock::now();
    else if (Clock::now() - last > kPatience)
      return false;
    progress = now;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

/// Memory that is outgrown is not freed, which would wait for the device; it is
/// less than the new one.
bool Group::makeRoom(size_t sources, uint64_t bytes) {
  auto onHost = [](auto &to, size_t size) {
    return cudaHostAlloc(reinterpret_cast<void **>(&to), size,
                         cudaHostAllocDefault) == cudaSuccess;
  };
  auto onDevice = [](auto &to, size_t size) {
    return cudaMalloc(reinterpret_cast<void **>(&to), size) == cudaSuccess;
  };
  if (sources > roomSources) {
    roomSources = 0;
    size_t more = std::max<size_t>(2 * sources, 64);
    if (!onHost(hostSources, more * sizeof(Source)) ||
        !onDevice(deviceSources, more * sizeof(Source)))
      return false;
    roomSources = more;
  }
  if (bytes > roomBytes) {
    roomBytes = 0;
    uint64_t more = 2 * bytes;
    if (!onHost(hostSlab, more) || !onDevice(deviceSlab, more))
      return false;
    roomBytes = more;
  }
  return true;
}

/// `sets`: what the tracks wait for.
bool Group::beginCopy(bool sets) {
  shots.clear();
  uint64_t bytes = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (mpopt_cuda_probe *probe : probes)
      for (auto &track : probe->tracks) {
        uint32_t channels = probe->keys ? probe->channels : 0;
        shots.push_back(
            {probe, track.get(), {track->slot, probe->keys, channels, bytes}});
        bytes += sizeof(Snapshot) + channels * sizeof(ChannelKeys);
        if (sets)
          track->goal = track->launched;
      }
  }
  if (shots.empty())
    return cudaEventRecord(copied, copies) == cudaSuccess;
  if (!makeRoom(shots.size(), bytes))
    return false;
  for (size_t i = 0; i < shots.size(); ++i)
    hostSources[i] = shots[i].source;
  if (cudaMemcpyAsync(deviceSources, hostSources, shots.size() * sizeof(Source),
                      cudaMemcpyHostToDevice, copies) != cudaSuccess)
    return false;
  launchSnapshots(deviceSources, unsigned(shots.size()), deviceSlab, copies);
  return cudaGetLastError() == cudaSuccess &&
         cudaMemcpyAsync(hostSlab, deviceSlab, bytes, cudaMemcpyDeviceToHost,
                         copies) == cudaSuccess &&
         cudaEventRecord(copied, copies) == cudaSuccess;
}

/// `progress` grows with every call that the device has come to. True if all
/// tracks have what they wait for.
bool Group::mergeCopy(uint64_t &progress) {
  bool complete = true;
  for (const Shot &shot : shots) {
    const auto &now =
        *reinterpret_cast<const Snapshot *>(hostSlab + shot.source.at);
    // A copy that a call ran into is left for the next one.
    if (!now.whole) {
      complete = false;
      continue;
    }
    progress += now.record.calls + now.record.skipped;
    complete &= now.direct >= shot.track->goal;
    mergeTrack(*shot.probe, *shot.track, now, shot.source.channels);
  }
  return complete;
}

void Group::mergeTrack(mpopt_cuda_probe &probe, Track &track,
                       const Snapshot &now, uint32_t channels) {
  mpopt_record &merged = track.merged;
  if (now.record.calls == merged.calls && now.record.skipped == merged.skipped)
    return;
  mpopt_record fresh = newSince(now.record, merged);
  std::vector<mpopt_channel_range> ranges;
  // Without new calls there are no new channels, either.
  if (!fresh.calls || fresh.channels != channels)
    fresh.channels = 0;
  const auto *keys = reinterpret_cast<const ChannelKeys *>(&now + 1);
  for (uint32_t i = 0; i < fresh.channels; ++i)
    // Adding +0 turns -0 into +0.
    ranges.push_back({doubleOf(bitsOfKey(keys[i].min)) + 0.0,
                      doubleOf(bitsOfKey(keys[i].max)) + 0.0});
  mpopt_recorder_merge(probe.recorder, &fresh,
                       ranges.empty() ? nullptr : ranges.data());
  merged = now.record;
}
