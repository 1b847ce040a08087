//===- SampleGroups.h - Channels of a sample that differ --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_DRIVER_SAMPLEGROUPS_H
#define MPOPT_LIB_DRIVER_SAMPLEGROUPS_H

#include "NpyReader.h"

#include "mpopt/Driver/Npz.h"
#include "mpopt/Numerics/Tally.h"

namespace mpopt {

/// Statistics of an array of samples by the index of each axis but the first.
/// An axis tells elements apart if normal numbers with the moments of its
/// groups, as the first half of the samples has them, are likelier to make the
/// other half than normal numbers with the moments of all: what is so in one
/// sample alone is no fact about the input.
class SampleGroups {
public:
  void begin(const NpyHeader &header);
  /// The next elements.
  void add(llvm::ArrayRef<double> block);
  /// Bounds and moments along the axis that tells most; null if none does.
  std::shared_ptr<const ElementBounds> take() const;

private:
  struct Axis {
    size_t axis;
    uint64_t stride, size;
    /// The tallies of either half of the samples.
    std::vector<Tally> halves[2];
  };

  std::vector<int64_t> shape;
  std::vector<Axis> axes;
  uint64_t next = 0, half = 0;
};

} // namespace mpopt

#endif // MPOPT_LIB_DRIVER_SAMPLEGROUPS_H
