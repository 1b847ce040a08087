//===- MemoryReport.h - Bytes of a training step ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_REPORT_MEMORYREPORT_H
#define MPOPT_REPORT_MEMORYREPORT_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// Bytes of one rank under one way of sharding.
struct SchemeReport {
  std::string name;
  double parameters = 0;
  /// Put together of shards while a block runs.
  double gathered = 0;
  double masters = 0, gradients = 0;
  /// Nothing if no optimizer is declared.
  std::optional<double> state;
  /// In a step.
  double sent = 0;

  double total() const {
    return parameters + gathered + masters + gradients + state.value_or(0);
  }
};

/// Saved tensors whose names differ in numbers only.
struct SavedReport {
  std::string name;
  std::string dtype;
  unsigned count = 0;
  double bytes = 0;
  /// False for what an op makes beside its results: statistics, copies.
  bool isTensor = true;
};

struct MemoryReport {
  int64_t ranks = 1, passes = 1;
  /// Samples of a pass; 0 if they are not known.
  int64_t samples = 0;
  /// Samples that the model's own shapes have, if these are others.
  std::optional<int64_t> shapedFor;
  std::string optimizer; ///< Empty: none is declared.
  std::vector<SchemeReport> schemes;
  /// The scheme that the configuration asks for.
  std::optional<size_t> chosen;
  /// Weights that are not trained, and tables.
  double constants = 0;
  /// Saved for the backward pass of one pass, the casts of weights with it.
  double activations = 0, weightCasts = 0;
  /// Saved tensors of unknown sizes.
  unsigned unknown = 0;
  /// With checkpointing: what is kept of all blocks, and the most at once.
  /// Nothing if the model has no blocks that repeat.
  struct Checkpointed {
    unsigned blocks = 0;
    std::string first, last;
    double kept = 0, peak = 0;
  };
  std::optional<Checkpointed> checkpointed;
  /// The configuration asks for checkpointing.
  bool checkpoints = false;
  /// Only with a size: what a rank has and needs, and the fewest changes after
  /// which it fits (Train/MemoryFit.h).
  struct Fit {
    double budget = 0, needed = 0;
    std::vector<std::string> changes;
    double changed = 0;
    /// The most samples of a pass, as configured and with checkpointing.
    std::optional<int64_t> most, mostCheckpointed;

    bool fits() const { return needed <= budget; }
  };
  std::optional<Fit> fit;
  /// The largest first.
  std::vector<SavedReport> saved;
};

} // namespace mpopt

#endif // MPOPT_REPORT_MEMORYREPORT_H
