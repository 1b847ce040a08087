//===- Tally.h - Moments of groups of numbers -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_TALLY_H
#define MPOPT_NUMERICS_TALLY_H

#include "mpopt/Numerics/Interval.h"

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <optional>

namespace mpopt {

/// Numbers that were seen: how many, their sums and extremes.
struct Tally {
  double count = 0, sum = 0, squares = 0;
  Interval hull = Interval::empty();

  void add(double value) {
    ++count;
    sum += value;
    squares += value * value;
    hull = mpopt::hull(hull, value);
  }
  void add(const Tally &other) {
    count += other.count;
    sum += other.sum;
    squares += other.squares;
    hull = mpopt::hull(hull, other.hull);
  }
  double mean() const { return sum / count; }
  double variance() const {
    return std::max(0.0, squares / count - mean() * mean());
  }
};

/// The gain in log-likelihood per number of `seen` by groups: that of normal
/// numbers with the moments of each group in `fitted`, less that of normal
/// numbers with the moments of all. Negative where the groups differ by chance;
/// nothing where numbers are too few to tell.
std::optional<double> gainOfGroups(llvm::ArrayRef<Tally> fitted,
                                   llvm::ArrayRef<Tally> seen);

} // namespace mpopt

#endif // MPOPT_NUMERICS_TALLY_H
