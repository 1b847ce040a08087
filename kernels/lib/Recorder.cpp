//===- Recorder.cpp - Collects the records of a process in a file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor is read without any lock and merged under the probe's. There is no
// thread behind this: a flush is done by the call that finds the last one too
// long ago, so nothing has to be stopped at exit or started again after a fork.
//
// Recorders are never freed. A runtime may drop its session and open another
// one for the same model, whose records then go on in the same file.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Kernels/Recorder.h"
#include "Observe.h"
#include "Partial.h"
#include "RecorderState.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <pthread.h>

using namespace mpopt::kernels;

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<mpopt_recorder *> recorders;
  /// Changed under the mutex.
  std::atomic<uint64_t> generation{0};
};

} // namespace

static Registry &registry() {
  static Registry *all = new Registry;
  return *all;
}

static uint64_t environmentNumber(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  if (!text || !*text)
    return otherwise;
  char *end;
  unsigned long long number = std::strtoull(text, &end, 10);
  if (!*end && *text >= '0' && *text <= '9')
    return number;
  std::fprintf(stderr, "mpopt: warning: %s=%s is not a number: ignored\n", name,
               text);
  return otherwise;
}

static bool environmentSwitch(const char *name) {
  const char *text = std::getenv(name);
  return text && *text && std::strcmp(text, "0") != 0;
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

void mpopt_recorder_end(void) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (mpopt_recorder *recorder : registry().recorders)
    flush(*recorder, true);
}

static void replaceState(mpopt_recorder &recorder) {
  if (State *old = recorder.state) {
    old->writer.abandon();
    recorder.retired.push_back(old);
  }
  recorder.state = new State;
}

/// The parent goes on with the file and the counts; the child, whose other
/// threads are gone together with the locks that they held, starts from
/// nothing.
static void restartInChild() {
  registry().mutex.unlock();
  for (mpopt_recorder *recorder : registry().recorders) {
    replaceState(*recorder);
    new (&recorder->collecting) std::mutex;
    new (&recorder->controlling) std::mutex;
    recorder->collect = nullptr;
    recorder->changed = nullptr;
  }
}

static void installHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::atexit(mpopt_recorder_end);
    pthread_atfork([] { registry().mutex.lock(); },
                   [] { registry().mutex.unlock(); }, restartInChild);
  });
}

static bool isHeld(const mpopt_recorder &recorder) {
  return recorder.users || recorder.followed;
}

/// Those that are open first, then those that are followed, then the others; of
/// equal ones, and of all that are open, the one that was opened last.
static bool isBetter(const mpopt_recorder &one, const mpopt_recorder &other) {
  if (bool(one.users) != bool(other.users))
    return one.users;
  if (!one.users && one.followed != other.followed)
    return one.followed;
  return one.opened >= other.opened;
}

/// `ledger` null: of an unknown one.
static const uint8_t *nameLedger(const uint8_t *ledger) {
  static const uint8_t unknown[32] = {};
  return ledger ? ledger : unknown;
}

/// The file that a pattern asks for, or the environment.
static std::string namePattern(const char *pattern) {
  const char *text = pattern ? pattern : std::getenv("MPOPT_RECORD");
  return text && *text ? text : "mpopt-%p.mprec";
}

static mpopt_recorder *findRecorder(const char *pattern,
                                    const std::string &named,
                                    const uint8_t *ledger) {
  mpopt_recorder *found = nullptr;
  for (mpopt_recorder *recorder : registry().recorders) {
    if (std::memcmp(recorder->ledger, ledger, 32) != 0)
      continue;
    bool same = recorder->pattern == named;
    // A caller that names no file joins the recorder that the ledger has.
    if (pattern ? same : same || isHeld(*recorder))
      if (!found || isBetter(*recorder, *found))
        found = recorder;
  }
  return found;
}

/// `controlling` is held.
static void tellControl(mpopt_recorder &recorder) {
  if (!recorder.changed)
    return;
  mpopt_control now = {recorder.enabled, recorder.period, recorder.step};
  recorder.changed(recorder.changedData, &now);
}

/// Nothing recorded, settings from the environment.
static void restart(mpopt_recorder &recorder) {
  replaceState(recorder);
  recorder.flushMs = int64_t(environmentNumber("MPOPT_FLUSH_MS", 250));
  std::lock_guard<std::mutex> lock(recorder.controlling);
  recorder.enabled = !environmentSwitch("MPOPT_PROBE_DISABLE");
  recorder.period = uint32_t(
      std::max<uint64_t>(1, environmentNumber("MPOPT_PROBE_PERIOD", 1)));
  recorder.step = MPOPT_NEVER;
  recorder.runs.restart();
  tellControl(recorder);
}

/// Under the registry's mutex.
static mpopt_recorder *makeRecorder(const std::string &pattern,
                                    const uint8_t *ledger,
                                    const char *runtime) {
  auto *recorder = new mpopt_recorder;
  recorder->pattern = pattern;
  recorder->runtime = runtime ? runtime : "";
  std::memcpy(recorder->ledger, ledger, 32);
  restart(*recorder);
  registry().recorders.push_back(recorder);
  return recorder;
}

mpopt_recorder *mpopt_recorder_open(const char *pattern,
                                    const uint8_t ledger[32],
                                    const char *runtime) {
  ledger = nameLedger(ledger);
  std::string named = namePattern(pattern);
  installHandlers();
  std::lock_guard<std::mutex> lock(registry().mutex);
  mpopt_recorder *recorder = findRecorder(pattern, named, ledger);
  if (!recorder) {
    recorder = makeRecorder(named, ledger, runtime);
  } else if (pattern && !recorder->users &&
             (recorder->opened || !recorder->followed)) {
    // Naming the file of a recorder that was closed asks for a new record, also
    // where ops still follow it.
    restart(*recorder);
  }
  ++recorder->users;
  recorder->opened = ++registry().generation;
  return recorder;
}

mpopt_recorder *mpopt_recorder_follow(const uint8_t ledger[32],
                                      const char *runtime) {
  ledger = nameLedger(ledger);
  std::string named = namePattern(nullptr);
  installHandlers();
  std::lock_guard<std::mutex> lock(registry().mutex);
  mpopt_recorder *recorder = findRecorder(nullptr, named, ledger);
  if (!recorder)
    recorder = makeRecorder(named, ledger, runtime);
  for (mpopt_recorder *other : registry().recorders)
    if (std::memcmp(other->ledger, ledger, 32) == 0)
      other->followed = other == recorder;
  return recorder;
}

uint64_t mpopt_recorder_generation(void) { return registry().generation; }

int mpopt_recorder_close(mpopt_recorder *recorder) {
  {
    std::lock_guard<std::mutex> lock(registry().mutex);
    if (!recorder->users)
      return EINVAL;
    --recorder->users;
    ++registry().generation;
  }
  // Even if others hold it: a session that is still there need not run again,
  // and the next write takes the mark back.
  return flush(*recorder, true);
}

size_t mpopt_recorder_all(mpopt_recorder **recorders, size_t room) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  size_t count = 0;
  for (mpopt_recorder *recorder : registry().recorders) {
    if (!isHeld(*recorder))
      continue;
    if (count < room)
      recorders[count] = recorder;
    ++count;
  }
  return count;
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

void mpopt_recorder_set_step(mpopt_recorder *recorder, uint64_t step) {
  std::lock_guard<std::mutex> lock(recorder->controlling);
  recorder->step = step;
  tellControl(*recorder);
}

void mpopt_recorder_begin_run(mpopt_recorder *recorder, int here) {
  recorder->state.load()->ran = true;
  recorder->runs.begin(here != 0);
}

void mpopt_recorder_enable(mpopt_recorder *recorder, int enabled) {
  std::lock_guard<std::mutex> lock(recorder->controlling);
  recorder->enabled = enabled != 0;
  tellControl(*recorder);
}

void mpopt_recorder_set_period(mpopt_recorder *recorder, uint32_t period) {
  std::lock_guard<std::mutex> lock(recorder->controlling);
  recorder->period = std::max(period, 1u);
  tellControl(*recorder);
}

void mpopt_recorder_on_control(mpopt_recorder *recorder,
                               void (*changed)(void *data,
                                               const mpopt_control *now),
                               void *data) {
  std::lock_guard<std::mutex> lock(recorder->controlling);
  recorder->changed = changed;
  recorder->changedData = data;
  tellControl(*recorder);
}

/// Null beyond MPOPT_MAX_PROBES: a model does not have so many.
static Probe *probeOf(State &state, uint32_t id, uint32_t kind) {
  std::lock_guard<std::mutex> lock(state.mutex);
  Probe **known = nullptr;
  if (kind < MPOPT_KINDS && id < kKnownProbes) {
    auto &ofKind = state.known[kind];
    if (id >= ofKind.size())
      ofKind.resize(std::max<size_t>(2 * ofKind.size(), id + 1));
    known = &ofKind[id];
    if (*known)
      return *known;
  }
  auto found = state.probes.find({id, kind});
  if (found != state.probes.end())
    return found->second.get();
  if (state.probes.size() >= MPOPT_MAX_PROBES)
    return nullptr;
  auto probe = std::make_unique<Probe>();
  mpopt_record_init(&probe->record, id, kind);
  Probe *made = (state.probes[{id, kind}] = std::move(probe)).get();
  if (known)
    *known = made;
  return made;
}

static std::vector<mpopt_channel_range> emptyRanges(size_t count) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return std::vector<mpopt_channel_range>(count, {inf, -inf});
}

/// Returns whether it brought the probe's first NaN or Inf.
static bool mergeInto(Probe &probe, const mpopt_record &record,
                      const mpopt_channel_range *channels) {
  std::lock_guard<std::mutex> lock(probe.mutex);
  mpopt_record &into = probe.record;
  bool wasClean =
      into.first_nan_step == MPOPT_NEVER && into.first_inf_step == MPOPT_NEVER;
  if (!into.calls && record.channels)
    probe.channels = emptyRanges(record.channels);
  mpopt_record_merge(&into, &record);
  if (record.channels && into.channels == record.channels)
    mpopt_channels_merge(probe.channels.data(), channels, record.channels);
  probe.dirty = true;
  return wasClean && (into.first_nan_step != MPOPT_NEVER ||
                      into.first_inf_step != MPOPT_NEVER);
}

/// True if the probe's next call is to be recorded; the call is counted if not,
/// or if it `begins`. `step` is what it belongs to. One reading of the controls
/// decides both.
static bool isTurn(mpopt_recorder &recorder, Probe &probe, uint64_t &step,
                   bool begins) {
  std::lock_guard<std::mutex> lock(probe.mutex);
  uint64_t shared = recorder.step;
  if (shared == MPOPT_NEVER)
    shared = recorder.runs.find();
  step = shared != MPOPT_NEVER ? shared : probe.nextStep;
  bool turn = recorder.enabled && step % recorder.period == 0;
  if (!turn) {
    ++probe.record.skipped;
    probe.dirty = true;
  }
  if (!turn || begins)
    ++probe.nextStep;
  if (turn && begins)
    probe.record.flags |= shared != MPOPT_NEVER ? uint32_t(MPOPT_STEPS_SHARED)
                                                : uint32_t(MPOPT_STEPS_COUNTED);
  return turn;
}

int mpopt_recorder_skip(mpopt_recorder *recorder, uint32_t id, uint32_t kind) {
  Probe *probe = probeOf(*recorder->state, id, kind);
  uint64_t step;
  return !probe || !isTurn(*recorder, *probe, step, false);
}

int mpopt_recorder_begin(mpopt_recorder *recorder, uint32_t id, uint32_t kind,
                         uint64_t *step) {
  Probe *probe = probeOf(*recorder->state, id, kind);
  return probe && isTurn(*recorder, *probe, *step, true);
}

/// Returns whether the call was recorded, and what it added in `record`.
static bool observe(mpopt_recorder *recorder, uint32_t id, uint32_t kind,
                    const mpopt_tensor *tensor, const mpopt_parallel *parallel,
                    mpopt_record &record,
                    const mpopt_squares *squares = nullptr) {
  State &state = *recorder->state;
  Probe *probe = probeOf(state, id, kind);
  uint64_t step;
  if (!probe || !isTurn(*recorder, *probe, step, true))
    return false;
  std::vector<mpopt_channel_range> channels;
  if (tensor->dims && tensor->channel_axis >= 0 &&
      uint32_t(tensor->channel_axis) < tensor->rank)
    channels = emptyRanges(size_t(std::clamp<int64_t>(
        tensor->dims[tensor->channel_axis], 0, MPOPT_MAX_CHANNELS)));
  mpopt_record none = {};
  none.probe = id;
  none.kind = kind;
  if (!observeCall(record, channels.empty() ? nullptr : channels.data(), none,
                   *tensor, step, parallel, squares))
    return false;
  bool news = mergeInto(*probe, record, channels.data());
  flushIfDue(*recorder, state, news);
  return true;
}

void mpopt_recorder_observe(mpopt_recorder *recorder, uint32_t id,
                            uint32_t kind, const mpopt_tensor *tensor,
                            const mpopt_parallel *parallel) {
  mpopt_record record;
  observe(recorder, id, kind, tensor, parallel, record);
}

int mpopt_recorder_observe_norm(mpopt_recorder *recorder, uint32_t id,
                                uint32_t kind, const mpopt_tensor *tensor,
                                const mpopt_parallel *parallel, double *norm) {
  mpopt_record record;
  if (!observe(recorder, id, kind, tensor, parallel, record) ||
      !dtypeKernel(tensor->dtype).isFloat || record.sum_squares.lost)
    return false;
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (record.nan)
    *norm = std::numeric_limits<double>::quiet_NaN();
  else if (record.pos_inf || record.neg_inf)
    *norm = inf;
  else
    *norm = std::sqrt(mpopt_exact_sum_value(&record.sum_squares));
  return true;
}

int mpopt_recorder_observe_squares(mpopt_recorder *recorder, uint32_t id,
                                   uint32_t kind, const mpopt_tensor *tensor,
                                   const mpopt_squares *squares,
                                   const mpopt_parallel *parallel) {
  mpopt_record record;
  return observe(recorder, id, kind, tensor, parallel, record, squares) &&
         dtypeKernel(tensor->dtype).isFloat;
}

int mpopt_recorder_merge(mpopt_recorder *recorder, const mpopt_record *record,
                         const mpopt_channel_range *channels) {
  if (record->version != MPOPT_RECORD_VERSION ||
      record->bytes != sizeof(*record) ||
      record->channels > MPOPT_MAX_CHANNELS || (record->channels && !channels))
    return 0;
  Probe *probe = probeOf(*recorder->state, record->probe, record->kind);
  if (!probe)
    return 0;
  mergeInto(*probe, *record, channels);
  return 1;
}

int mpopt_recorder_read(mpopt_recorder *recorder, uint32_t id, uint32_t kind,
                        mpopt_record *record, mpopt_channel_range *channels,
                        uint32_t room) {
  State &state = *recorder->state;
  Probe *probe;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    auto found = state.probes.find({id, kind});
    if (found == state.probes.end())
      return 0;
    probe = found->second.get();
  }
  std::lock_guard<std::mutex> lock(probe->mutex);
  *record = probe->record;
  if (channels)
    std::copy_n(probe->channels.begin(), std::min(room, record->channels),
                channels);
  return 1;
}

void mpopt_recorder_on_flush(mpopt_recorder *recorder,
                             void (*collect)(void *data, int wait),
                             void *data) {
  std::lock_guard<std::mutex> lock(recorder->collecting);
  recorder->collect = collect;
  recorder->collectData = data;
}

void mpopt_recorder_flush_if_due(mpopt_recorder *recorder) {
  flushIfDue(*recorder, *recorder->state, false);
}

int mpopt_recorder_flush(mpopt_recorder *recorder) {
  return flush(*recorder, false);
}

void mpopt_recorder_get_status(mpopt_recorder *recorder,
                               mpopt_recorder_status *status) {
  *status = {};
  State &state = *recorder->state;
  {
    std::lock_guard<std::mutex> lock(state.mutex);
    status->probes = state.probes.size();
    for (auto &entry : state.probes) {
      std::lock_guard<std::mutex> probeLock(entry.second->mutex);
      status->calls += entry.second->record.calls;
      status->skipped += entry.second->record.skipped;
    }
  }
  std::lock_guard<std::mutex> lock(state.flushing);
  status->flushes = state.flushes;
  status->error = state.error;
  status->enabled = recorder->enabled;
  status->period = recorder->period;
  if (state.writer.isOpen()) {
    status->bytes = state.writer.bytes();
    state.writer.path().copy(status->path, sizeof(status->path) - 1);
  }
}
