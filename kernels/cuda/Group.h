//===- Group.h - The probes of one recorder on one device ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device only ever adds to a slot's record. From time to time all slots of
// the group are copied, by one kernel and one copy on a stream of their own,
// and what is new since the last copy is merged into the recorder; extremes and
// first steps merge as they are.
//
// Nothing is freed while the process lives: captured graphs may hold its
// addresses, and freeing waits for the device. Slots of probes that are gone
// serve later ones.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_CUDA_GROUP_H
#define MPOPT_KERNELS_CUDA_GROUP_H

#include "Launch.h"
#include "mpopt/Kernels/Recorder.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mpopt::kernels::cuda {

class Group;

/// A probe's calls that the device takes one after the other: those on one
/// stream, outside of graphs or in them, since a graph may be replayed on
/// another stream than it was captured on.
struct Track {
  cudaStream_t stream;
  uint64_t thread; // of a stream that each thread has its own of; else 0
  bool captured;
  Slot *slot;
  uint64_t launched = 0; // outside graphs; under Group::mutex
  // Under Group::collecting:
  mpopt_record merged;
  uint64_t goal = 0; // who waits, waits for so many
};

} // namespace mpopt::kernels::cuda

struct mpopt_cuda_probe {
  mpopt_recorder *recorder;
  uint32_t id, kind;
  mpopt::kernels::cuda::Group *group;
  /// True if the group is that of its tensors' device.
  std::atomic<bool> placed{false};
  /// The rest is under Group::mutex.
  std::vector<std::unique_ptr<mpopt::kernels::cuda::Track>> tracks;
  /// Slab of all tracks; made for the number of channels that came first.
  mpopt::kernels::cuda::ChannelKeys *keys = nullptr;
  uint32_t channels = 0;
};

namespace mpopt::kernels::cuda {

class Group {
public:
  /// The recorder's group on a device, made at the first call. Null if the
  /// device has no memory, or this library no code for it.
  static Group *of(mpopt_recorder *recorder, int device);

  const int device;
  int processors = 0;

  void add(mpopt_cuda_probe *probe);
  void remove(mpopt_cuda_probe *probe);

  /// The probe's slot for calls on the stream; null without memory.
  Track *trackOf(mpopt_cuda_probe &probe, cudaStream_t stream, bool captured);
  /// The keys for the call's channels. None, and the call says so, if they
  /// cannot be kept.
  ChannelKeys *keysOf(mpopt_cuda_probe &probe, Shape &shape);
  void countLaunch(Track &track);

  /// For calls that are captured: the controls on the device, which are kept as
  /// the recorder's from now on.
  const Control *liveControl();

private:
  Group(mpopt_recorder *recorder, int device)
      : device(device), recorder(recorder) {}
  bool start();
  static std::vector<Group *> groupsOf(const mpopt_recorder *recorder);
  static void onFlush(void *recorder, int wait);
  static void onControl(void *recorder, const Control *now);
  static void atExit();

  Slot *makeSlot(const mpopt_cuda_probe &probe, Slot *first);
  ChannelKeys *makeKeys(uint32_t channels);
  bool writeOnce(void *to, const void *from, size_t bytes);

  /// `collecting` is held, and the thread is on the device.
  bool collect(bool wait);
  bool beginCopy(bool sets);
  bool mergeCopy(uint64_t &progress);
  bool makeRoom(size_t sources, uint64_t bytes);
  void mergeTrack(mpopt_cuda_probe &probe, Track &track, const Snapshot &now,
                  uint32_t channels);

  mpopt_recorder *const recorder;
  std::mutex mutex;
  std::vector<mpopt_cuda_probe *> probes;
  std::vector<Slot *> spareSlots;
  std::multimap<uint32_t, ChannelKeys *> spareKeys;

  std::mutex controlling;
  Control wanted = {1, 1, MPOPT_NEVER};
  Control *control = nullptr; // on the device
  bool live = false;          // a graph reads it
  cudaStream_t controls = nullptr;

  struct Shot {
    mpopt_cuda_probe *probe;
    Track *track;
    Source source;
  };
  std::mutex collecting;
  std::vector<Shot> shots; // of the copy under way
  bool pending = false;
  cudaStream_t copies = nullptr;
  cudaEvent_t copied = nullptr;
  size_t roomSources = 0;
  uint64_t roomBytes = 0;
  Source *hostSources = nullptr, *deviceSources = nullptr;
  char *hostSlab = nullptr, *deviceSlab = nullptr;
};

} // namespace mpopt::kernels::cuda

#endif // MPOPT_KERNELS_CUDA_GROUP_H
