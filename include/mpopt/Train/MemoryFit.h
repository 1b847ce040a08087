//===- MemoryFit.h - How a training step fits a memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TRAIN_MEMORYFIT_H
#define MPOPT_TRAIN_MEMORYFIT_H

#include "mpopt/Train/Memory.h"

namespace mpopt {

/// Bytes that are saved for the backward pass of one pass.
struct ActivationBytes {
  double fixed = 0, perSample = 0;

  double of(int64_t samples) const {
    return fixed + perSample * double(samples);
  }
};

/// A training step, apart from what a fit may change.
struct StepMemory {
  llvm::ArrayRef<ParameterShape> parameters;
  const TrainConfig &config;
  double constants = 0;
  ActivationBytes saved;
  /// With checkpointing; nothing if the model has no blocks that repeat.
  std::optional<ActivationBytes> checkpointed;
  int64_t samples = 1; ///< Of a pass.
};

struct MemoryFit {
  double budget = 0;
  /// Bytes of a rank as configured.
  double needed = 0;
  bool fits = false;
  /// The fewest changes that make it fit, in words, and the bytes then. None
  /// if it fits, or if no change that is known does.
  std::vector<std::string> changes;
  double changed = 0;
  /// The most samples of a pass, as configured and with checkpointing; 0: not
  /// one. Nothing where the samples do not change what is saved.
  std::optional<int64_t> most, mostCheckpointed;
};

/// The changes that make a step fit into `budget` bytes of each rank: passes of
/// fewer samples, checkpointing, optimizer state of 8 bits, or several of
/// these; then sharding over more ranks as well. What an allocator and kernels
/// take on top is not in it.
MemoryFit fitMemory(const StepMemory &step, double budget);

/// `24GiB`, `80GB`, `5e9`: bytes. Nothing if it is not positive.
std::optional<double> parseBytes(llvm::StringRef text);

} // namespace mpopt

#endif // MPOPT_TRAIN_MEMORYFIT_H
