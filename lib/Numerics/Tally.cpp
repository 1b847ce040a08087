//===- Tally.cpp - Moments of groups of numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Numerics/Tally.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mpopt;

std::optional<double> mpopt::gainOfGroups(llvm::ArrayRef<Tally> fitted,
                                          llvm::ArrayRef<Tally> seen) {
  // With fewer elements moments are a matter of chance.
  constexpr double kFewest = 8;
  // Groups that do not vary are no infinite gain.
  constexpr double kLeastVariance = 1e-6;
  Tally all[2];
  for (auto [half, groups] : {std::pair(0, fitted), std::pair(1, seen)})
    for (const Tally &group : groups) {
      if (group.count < kFewest)
        return std::nullopt;
      all[half].add(group);
    }
  // Twice the negative logarithm, less a constant.
  auto surprise = [](const Tally &seen, double mean, double variance) {
    return seen.count * std::log(variance) +
           (seen.squares - 2 * mean * seen.sum + seen.count * mean * mean) /
               variance;
  };
  double variance = all[0].variance();
  if (!(variance > 0) || !std::isfinite(variance))
    return 0;
  double gain = surprise(all[1], all[0].mean(), variance);
  for (auto [own, other] : llvm::zip_equal(fitted, seen))
    gain -= surprise(other, own.mean(),
                     std::max(own.variance(), kLeastVariance * variance));
  return gain / (2 * all[1].count);
}
