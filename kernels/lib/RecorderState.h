//===- RecorderState.h - What a recorder holds ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_RECORDERSTATE_H
#define MPOPT_KERNELS_LIB_RECORDERSTATE_H

#include "RecordWriter.h"
#include "Runs.h"
#include "mpopt/Kernels/Recorder.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace mpopt::kernels {

struct Probe {
  std::mutex mutex;
  mpopt_record record;
  std::vector<mpopt_channel_range> channels;
  uint64_t nextStep = 0;
  bool dirty = false;
  RecordWriter::Place place; // the flusher's
};

/// Ids from here on are looked up in the map alone.
constexpr uint32_t kKnownProbes = 1 << 16;

/// All that a forked child has to begin anew.
struct State {
  std::mutex mutex; // of the map
  std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Probe>> probes;
  /// By kind and id those of small ids, which is nearly all: a call looks one
  /// up and little else.
  std::vector<Probe *> known[MPOPT_KINDS];

  std::mutex flushing; // of what follows
  RecordWriter writer;
  bool opened = false, warned = false;
  int error = 0;
  uint64_t flushes = 0;

  /// True if a run was announced: a run without probe calls leaves a file, too.
  std::atomic<bool> ran{false};

  /// At first long ago: the first call writes, so that a file that cannot be
  /// written is known at once.
  std::atomic<int64_t> lastFlush{INT64_MIN / 2};
};

} // namespace mpopt::kernels

struct mpopt_recorder {
  std::string pattern, runtime;
  uint8_t ledger[32];
  /// Under the registry's mutex: who opened it and did not close it, when it
  /// was last opened, and whether those that close nothing record to it.
  unsigned users = 0;
  uint64_t opened = 0;
  bool followed = false;
  int64_t flushMs;

  std::atomic<mpopt::kernels::State *> state{nullptr};
  /// States before it, in case somebody still reads one.
  std::vector<mpopt::kernels::State *> retired;
  /// Read without a lock, changed under `controlling` so that a listener hears
  /// of changes in their order.
  std::atomic<bool> enabled;
  std::atomic<uint32_t> period;
  std::atomic<uint64_t> step{MPOPT_NEVER};
  mpopt::kernels::Runs runs;
  std::mutex controlling;
  void (*changed)(void *, const mpopt_control *) = nullptr;
  void *changedData = nullptr;

  std::mutex collecting;
  void (*collect)(void *, int) = nullptr;
  void *collectData = nullptr;
};

namespace mpopt::kernels {

/// Writes what changed; `closing` marks the file as ended in order.
int flush(mpopt_recorder &recorder, bool closing);
/// The same if it is time, or `now`, and no other flush is under way.
void flushIfDue(mpopt_recorder &recorder, State &state, bool now);

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_RECORDERSTATE_H
