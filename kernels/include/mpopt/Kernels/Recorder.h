//===- Recorder.h - Collects the records of a process in a file ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain C, exported by libmpopt_record.so, which the op libraries of all
// runtimes and the Python package share: so one process has one recorder for
// a ledger and a file, whoever records to it. Every function may be called from
// any thread.
//
// A recorder never stops the model: where its file cannot be written it says so
// once on stderr and goes on in memory.
//
// Environment, read when a recorder is opened:
//   MPOPT_RECORD         path pattern of the file (default "mpopt-%p.mprec");
//                        %p process id, %h host name, %l the ledger's first 8
//                        hex digits, %% a percent sign
//   MPOPT_PROBE_PERIOD   record every n-th call of a probe (default 1)
//   MPOPT_PROBE_DISABLE  set and not "0": start disabled
//   MPOPT_FLUSH_MS       milliseconds between writes of the file (default 250)
//   MPOPT_THREADS        threads for large tensors (default: all)
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_KERNELS_RECORDER_H
#define MPOPT_KERNELS_RECORDER_H

#include "mpopt/Kernels/Statistics.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpopt_recorder mpopt_recorder;

typedef struct mpopt_recorder_status {
  uint64_t probes;  // that were seen
  uint64_t calls;   // recorded
  uint64_t skipped; // by period or while disabled
  uint64_t flushes; // writes of the file
  uint64_t bytes;   // of the file
  int32_t error;    // errno of the first failed write, 0 if none
  int32_t enabled;
  uint32_t period;
  uint32_t reserved;
  char path[1024]; // of the file; empty if there is none
} mpopt_recorder_status;

/// Which calls of all probes are recorded, and which step they belong to.
typedef struct mpopt_control {
  uint32_t enabled; // 0 or 1
  uint32_t period;  // record the steps that are multiples of this; at least 1
  uint64_t step;    // as set; MPOPT_NEVER: nobody did
} mpopt_control;

/// The process's recorder for a ledger, made at the first call and shared
/// afterwards (close it as often). `pattern` null: MPOPT_RECORD. `ledger` is
/// the SHA-256 of the ledger file's bytes, null: zeros. `runtime` names who
/// records
/// ("onnxruntime 1.31.1"), null: empty. The first caller's pattern and runtime
/// count. Null only without memory.
mpopt_recorder *mpopt_recorder_open(const char *pattern,
                                    const uint8_t ledger[32],
                                    const char *runtime);

/// For callers that record for as long as the process lives and close nothing:
/// the recorder of the ledger that was opened last and is open, else the one
/// that they had before, else a new one of MPOPT_RECORD. The answer counts
/// until mpopt_recorder_generation says something else.
mpopt_recorder *mpopt_recorder_follow(const uint8_t ledger[32],
                                      const char *runtime);
/// Changes whenever a recorder is opened or closed. Cheap.
uint64_t mpopt_recorder_generation(void);

/// From now on calls belong to this step; without it, or with MPOPT_NEVER, to
/// the run that was announced; without one a probe's step is the number of its
/// earlier calls, skipped ones included.
void mpopt_recorder_set_step(mpopt_recorder *recorder, uint64_t step);
/// A run of the model begins: 0, 1 and so on. `here`: on this thread, whose
/// calls belong to it until it announces the next; 0: it is not known on which.
/// Calls on threads that announced none belong to the last run if one thread
/// announced all of them; otherwise nobody knows, and each probe counts for
/// itself. Devices hear nothing of it: a captured graph that is replayed is no
/// run that the host sees.
void mpopt_recorder_begin_run(mpopt_recorder *recorder, int here);
void mpopt_recorder_enable(mpopt_recorder *recorder, int enabled);
/// Record the steps that are multiples of `period` (0 counts as 1).
void mpopt_recorder_set_period(mpopt_recorder *recorder, uint32_t period);

/// One call of a probe: counts it, and records the tensor if it is its turn.
void mpopt_recorder_observe(mpopt_recorder *recorder, uint32_t probe,
                            uint32_t kind, const mpopt_tensor *tensor,
                            const mpopt_parallel *parallel);
/// The same, and the root of the sum of the squares of the tensor's elements in
/// the same pass: NaN if one is, Inf if one is and none is NaN. False, and
/// `norm` is left alone, where it is not this call's turn, or the pass did not
/// see all squares (those of FP64 that overflow, element types without values).
int mpopt_recorder_observe_norm(mpopt_recorder *recorder, uint32_t probe,
                                uint32_t kind, const mpopt_tensor *tensor,
                                const mpopt_parallel *parallel, double *norm);

/// The same, and the squares of the tensor's elements by channel
/// (mpopt_add_squares). False, and they are left alone, where it is not this
/// call's turn, or the elements are no floats.
int mpopt_recorder_observe_squares(mpopt_recorder *recorder, uint32_t probe,
                                   uint32_t kind, const mpopt_tensor *tensor,
                                   const mpopt_squares *squares,
                                   const mpopt_parallel *parallel);

/// True, and the call is counted, if the probe's next call is to be left out:
/// for callers to whom it is work to find the tensor. Otherwise they observe
/// it.
int mpopt_recorder_skip(mpopt_recorder *recorder, uint32_t probe,
                        uint32_t kind);

/// For calls that are recorded elsewhere and merged later: counts the call;
/// true, with the step that it belongs to, if it is to be recorded.
int mpopt_recorder_begin(mpopt_recorder *recorder, uint32_t probe,
                         uint32_t kind, uint64_t *step);

/// Adds a record made elsewhere (a device, another recorder). `channels` has
/// record->channels entries or is null. False if it is malformed.
int mpopt_recorder_merge(mpopt_recorder *recorder, const mpopt_record *record,
                         const mpopt_channel_range *channels);

/// A copy of a probe's record as it is now; false if the probe was not seen.
/// `channels` null, or room for `room` entries.
int mpopt_recorder_read(mpopt_recorder *recorder, uint32_t probe, uint32_t kind,
                        mpopt_record *record, mpopt_channel_range *channels,
                        uint32_t room);

/// Called before each flush, so that a device's records can be merged in.
/// `wait`: for calls that are under way, too; somebody asked for this flush, or
/// none will follow. `collect` null removes it.
void mpopt_recorder_on_flush(mpopt_recorder *recorder,
                             void (*collect)(void *data, int wait), void *data);

/// Called at once, and whenever one of the three functions above changed
/// something: for devices that keep a copy. `changed` null removes it. It runs
/// under a lock: it must not change the recorder.
void mpopt_recorder_on_control(mpopt_recorder *recorder,
                               void (*changed)(void *data,
                                               const mpopt_control *now),
                               void *data);

/// Writes what changed. 0 or an errno. Happens by itself every MPOPT_FLUSH_MS
/// while probes run, at once when a probe first sees NaN or Inf, and at exit.
int mpopt_recorder_flush(mpopt_recorder *recorder);
/// The same if the last one is MPOPT_FLUSH_MS ago and none is under way.
void mpopt_recorder_flush_if_due(mpopt_recorder *recorder);

/// Gives one mpopt_recorder_open back and flushes. The file then counts as
/// ended in order, until somebody who still holds the recorder records more.
int mpopt_recorder_close(mpopt_recorder *recorder);

/// Does the work of exit, for processes that end without it (_exit): flushes
/// all recorders, whose files then count as ended in order.
void mpopt_recorder_end(void);

void mpopt_recorder_get_status(mpopt_recorder *recorder,
                               mpopt_recorder_status *status);

/// The recorders that are open or followed, at most `room` of them; returns how
/// many there are.
size_t mpopt_recorder_all(mpopt_recorder **recorders, size_t room);

#ifdef __cplusplus
}
#endif

#endif // MPOPT_KERNELS_RECORDER_H
