//===- Runs.h - Which run of the model a call belongs to -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_KERNELS_LIB_RUNS_H
#define MPOPT_KERNELS_LIB_RUNS_H

#include <atomic>
#include <cstdint>

namespace mpopt::kernels {

/// Numbers the runs of a model: 0, 1 and so on. Any function may be called from
/// any thread.
///
/// No call says that a run has ended, and several can go on at the same time. A
/// thread that announced a run executes that one until it announces another.
/// For any other thread (a pool's, a device's) the run is known only if all of
/// them were announced by one thread: that executes one at a time. It matters
/// because a step that is too late by one puts an op before its own operands.
class Runs {
public:
  /// A run begins. `here`: on this thread, or else nobody knows on which.
  void begin(bool here);
  /// The run that a call on this thread belongs to; MPOPT_NEVER: none was
  /// announced, or it is not known which.
  uint64_t find() const;
  /// As if nothing had been announced.
  void restart();

private:
  std::atomic<uint64_t> last{UINT64_MAX};
  /// The thread that announced all of them: 0 none, `several`, or its number.
  std::atomic<uint64_t> announcer{0};
  static constexpr uint64_t several = UINT64_MAX;
  /// Entries of threads have this age, or are dropped.
  std::atomic<uint64_t> age{0};
};

} // namespace mpopt::kernels

#endif // MPOPT_KERNELS_LIB_RUNS_H
