//===- Losses.h - A second look at elements that are lost -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass counts; which elements they are is looked up afterwards, at few: in
// the block of the first one, and at the head of each channel that may be lost.
// A weight that holds Inf or NaN, which is broken anyway, is read again whole.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_RANGES_WEIGHTS_KERNELS_LOSSES_H
#define MPOPT_LIB_RANGES_WEIGHTS_KERNELS_LOSSES_H

#include "Reader.h"

#include "mpopt/Ranges/Weights/Kernels/Summary.h"

namespace mpopt::kernels {

/// A few elements, with those that are not finite.
class Elements {
public:
  explicit Elements(const WeightReader &reader) : reader(reader) {}

  /// Calls `use` with the values from `begin` on until it returns true;
  /// returns the index where it does, else -1.
  int64_t find(uint64_t begin, uint64_t end,
               llvm::function_ref<bool(double)> use) const;

private:
  // Elements that are decoded at a time, on the stack.
  static constexpr uint64_t kRead = 64;

  const WeightReader &reader;
};

/// The counts one by one, for weights that are not all finite.
WeightStats recount(const SummaryRequest &request, const Elements &elements);

/// Completes counts with the channels that are lost whole.
void findLostChannels(const SummaryRequest &request, const Elements &elements,
                      WeightStats &stats);

} // namespace mpopt::kernels

#endif // MPOPT_LIB_RANGES_WEIGHTS_KERNELS_LOSSES_H
