//===- Group.cpp - The probes of one recorder on one device
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Group.h"

#include "OnDevice.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace mpopt::kernels::cuda;

static std::mutex groupsMutex;
static pid_t process; // a forked child has no device

static std::vector<Group *> &groups() {
  static auto *all = new std::vector<Group *>;
  return *all;
}

/// Groups are never freed, so they may be used after the lock.
std::vector<Group *> Group::groupsOf(const mpopt_recorder *recorder) {
  std::lock_guard<std::mutex> lock(groupsMutex);
  std::vector<Group *> some;
  for (Group *group : groups())
    if (!recorder || group->recorder == recorder)
      some.push_back(group);
  return some;
}

Group *Group::of(mpopt_recorder *recorder, int device) {
  static std::mutex making;
  std::lock_guard<std::mutex> turn(making);
  for (Group *group : groupsOf(recorder))
    if (group->device == device)
      return group;
  OnDevice guard(device);
  std::unique_ptr<Group> group(new Group(recorder, device));
  if (!group->start())
    return nullptr;
  {
    std::lock_guard<std::mutex> lock(groupsMutex);
    // Before the CUDA runtime's own handler, since that is installed earlier.
    if (groups().empty()) {
      process = getpid();
      std::atexit(atExit);
    }
    groups().push_back(group.get());
  }
  mpopt_recorder_on_flush(recorder, onFlush, recorder);
  mpopt_recorder_on_control(recorder, onControl, recorder);
  return group.release();
}

bool Group::start() {
  int least = 0, most = 0;
  return cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount,
                                device) == cudaSuccess &&
         loadDense() && loadChannels() && loadAxes() && loadCount() &&
         cudaDeviceGetStreamPriorityRange(&least, &most) == cudaSuccess &&
         cudaMalloc(reinterpret_cast<void **>(&control), sizeof(Control)) ==
             cudaSuccess &&
         cudaStreamCreateWithPriority(&controls, cudaStreamNonBlocking, most) ==
             cudaSuccess &&
         cudaStreamCreateWithPriority(&copies, cudaStreamNonBlocking, most) ==
             cudaSuccess &&
         cudaEventCreateWithFlags(&copied, cudaEventDisableTiming) ==
             cudaSuccess;
}

/// Graphs may still run whose calls nobody counted.
void Group::atExit() {
  if (getpid() != process)
    return;
  for (Group *group : groupsOf(nullptr)) {
    if (group->live) {
      OnDevice guard(group->device);
      cudaDeviceSynchronize();
    }
    mpopt_recorder_flush(group->recorder);
  }
  for (Group *group : groupsOf(nullptr)) {
    mpopt_recorder_on_flush(group->recorder, nullptr, nullptr);
    mpopt_recorder_on_control(group->recorder, nullptr, nullptr);
  }
}

//===----------------------------------------------------------------------===//
// Controls
//===----------------------------------------------------------------------===//

/// On a stream of its own: what the device is running takes no notice, and what
/// it begins from then on reads it.
void Group::onControl(void *recorder, const Control *now) {
  for (Group *group : groupsOf(static_cast<mpopt_recorder *>(recorder))) {
    std::lock_guard<std::mutex> lock(group->controlling);
    group->wanted = *now;
    if (!group->live)
      continue;
    OnDevice guard(group->device);
    // Not pinned, so it may be read later: from where only newer ones come.
    cudaMemcpyAsync(group->control, &group->wanted, sizeof(Control),
                    cudaMemcpyHostToDevice, group->controls);
  }
}

const Control *Group::liveControl() {
  std::lock_guard<std::mutex> lock(controlling);
  if (live)
    return control;
  if (cudaMemcpyAsync(control, &wanted, sizeof(Control), cudaMemcpyHostToDevice,
                      controls) != cudaSuccess ||
      cudaStreamSynchronize(controls) != cudaSuccess)
    return nullptr;
  live = true;
  return control;
}

//===----------------------------------------------------------------------===//
// Probes and their memory
//===----------------------------------------------------------------------===//

void Group::add(mpopt_cuda_probe *probe) {
  std::lock_guard<std::mutex> lock(mutex);
  probe->group = this;
  probes.push_back(probe);
}

void Group::remove(mpopt_cuda_probe *probe) {
  OnDevice guard(device);
  std::lock_guard<std::mutex> turn(collecting);
  bool complete = probe->tracks.empty() || collect(true);
  std::lock_guard<std::mutex> lock(mutex);
  probes.erase(std::find(probes.begin(), probes.end(), probe));
  // Memory that the device may still write to is not reused: a graph may be
  // replayed for ever.
  bool captured = false;
  for (auto &track : probe->tracks) {
    captured |= track->captured;
    if (complete && !track->captured)
      spareSlots.push_back(track->slot);
  }
  if (complete && !captured && probe->keys)
    spareKeys.emplace(probe->channels, probe->keys);
  probe->tracks.clear();
  probe->keys = nullptr;
  probe->channels = 0;
}

/// For memory that nobody uses yet: not the caller's stream, and not the
/// default one, which would wait for all others.
bool Group::writeOnce(void *to, const void *from, size_t bytes) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, controls) ==
             cudaSuccess &&
         cudaStreamSynchronize(controls) == cudaSuccess;
}

Slot *Group::makeSlot(const mpopt_cuda_probe &probe, Slot *first) {
  Slot *slot = nullptr;
  if (!spareSlots.empty()) {
    slot = spareSlots.back();
    spareSlots.pop_back();
  } else if (cudaMalloc(reinterpret_cast<void **>(&slot), sizeof(Slot)) !=
             cudaSuccess) {
    return nullptr;
  }
  auto fresh = std::make_unique<Slot>();
  std::memset(static_cast<void *>(fresh.get()), 0, sizeof(Slot));
  mpopt_record_init(&fresh->record, probe.id, probe.kind);
  clearScalars(fresh->call);
  // An address, not an access: the slot is the device's.
  char *steps = reinterpret_cast<char *>(first ? first : slot);
  fresh->next =
      reinterpret_cast<unsigned long long *>(steps + offsetof(Slot, ownNext));
  return writeOnce(slot, fresh.get(), sizeof(Slot)) ? slot : nullptr;
}

/// One handle stands for a stream of each thread.
static uint64_t ownerOf(cudaStream_t stream) {
  static std::atomic<uint64_t> threads{0};
  thread_local uint64_t thread = ++threads;
  return stream == cudaStreamPerThread ? thread : 0;
}

Track *Group::trackOf(mpopt_cuda_probe &probe, cudaStream_t stream,
                      bool captured) {
  uint64_t thread = ownerOf(stream);
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &track : probe.tracks)
    if (track->stream == stream && track->thread == thread &&
        track->captured == captured)
      return track.get();
  Slot *first = probe.tracks.empty() ? nullptr : probe.tracks[0]->slot;
  Slot *slot = makeSlot(probe, first);
  if (!slot)
    return nullptr;
  auto track = std::make_unique<Track>();
  track->stream = stream;
  track->thread = thread;
  track->captured = captured;
  track->slot = slot;
  mpopt_record_init(&track->merged, probe.id, probe.kind);
  probe.tracks.push_back(std::move(track));
  return probe.tracks.back().get();
}

ChannelKeys *Group::makeKeys(uint32_t channels) {
  ChannelKeys *keys = nullptr;
  size_t bytes = channels * sizeof(ChannelKeys);
  if (auto spare = spareKeys.find(channels); spare != spareKeys.end()) {
    keys = spare->second;
    spareKeys.erase(spare);
  } else if (cudaMalloc(reinterpret_cast<void **>(&keys), bytes) !=
             cudaSuccess) {
    return nullptr;
  }
  std::vector<ChannelKeys> none(channels, {kNoMinimum, kNoMaximum});
  return writeOnce(keys, none.data(), bytes) ? keys : nullptr;
}

ChannelKeys *Group::keysOf(mpopt_cuda_probe &probe, Shape &shape) {
  if (!shape.channels)
    return nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (!probe.channels) {
    probe.channels = shape.channels;
    probe.keys = makeKeys(shape.channels);
  }
  if (probe.keys && probe.channels == shape.channels)
    return probe.keys;
  shape.flags |= MPOPT_CHANNELS_DROPPED;
  return nullptr;
}

void Group::countLaunch(Track &track) {
  std::lock_guard<std::mutex> lock(mutex);
  ++track.launched;
}
