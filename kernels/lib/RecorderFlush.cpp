//===- RecorderFlush.cpp - Brings a recorder's records to its file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RecorderState.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace mpopt::kernels;

static int64_t nowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch())
      .count();
}

static void warn(State &state, int error) {
  if (!state.error)
    state.error = error;
  if (state.warned)
    return;
  state.warned = true;
  const char *why = error == EEXIST ? "it exists and is not a record file"
                                    : std::strerror(error);
  std::fprintf(stderr,
               "mpopt: warning: cannot write %s: %s; the model runs on, its "
               "probes are not saved\n",
               state.writer.path().c_str(), why);
}

static int openFile(mpopt_recorder &recorder, State &state) {
  if (state.opened)
    return state.writer.isOpen() ? 0 : state.error;
  state.opened = true;
  int error =
      state.writer.open(recorder.pattern, recorder.ledger, recorder.runtime);
  if (error)
    warn(state, error);
  return error;
}

static int writeProbe(State &state, Probe &probe) {
  mpopt_record record;
  std::vector<mpopt_channel_range> channels;
  {
    std::lock_guard<std::mutex> lock(probe.mutex);
    // Calls that were only skipped count, too: a probe that was never recorded
    // is not one that never ran.
    if (!probe.dirty || (!probe.record.calls && !probe.record.skipped))
      return 0;
    record = probe.record;
    channels = probe.channels;
    probe.dirty = false;
  }
  channels.resize(record.channels);
  int error = state.writer.write(probe.place, record, channels.data());
  if (error) {
    std::lock_guard<std::mutex> lock(probe.mutex);
    probe.dirty = true;
  }
  return error;
}

/// `state.flushing` is held.
static int flushLocked(mpopt_recorder &recorder, State &state, bool wait,
                       bool closing) {
  {
    std::lock_guard<std::mutex> lock(recorder.collecting);
    if (recorder.collect)
      recorder.collect(recorder.collectData, wait);
  }
  state.lastFlush = nowMs();
  std::vector<Probe *> probes;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    for (auto &entry : state.probes)
      probes.push_back(entry.second.get());
  }
  if (probes.empty() && !state.ran)
    return 0;
  NoFileSizeSignal guard;
  if (int error = openFile(recorder, state))
    return error;
  int error = state.writer.setClosed(false);
  for (Probe *probe : probes) {
    if (error)
      break;
    error = writeProbe(state, *probe);
  }
  if (!error && closing)
    error = state.writer.setClosed(true);
  ++state.flushes;
  if (error)
    warn(state, error);
  return error;
}

int mpopt::kernels::flush(mpopt_recorder &recorder, bool closing) {
  State &state = *recorder.state;
  std::lock_guard<std::mutex> lock(state.flushing);
  return flushLocked(recorder, state, true, closing);
}

/// Not worth waiting for a flush that is under way.
void mpopt::kernels::flushIfDue(mpopt_recorder &recorder, State &state,
                                bool now) {
  if (!now && nowMs() - state.lastFlush < recorder.flushMs)
    return;
  std::unique_lock<std::mutex> lock(state.flushing, std::try_to_lock);
  if (lock)
    flushLocked(recorder, state, false, false);
}
