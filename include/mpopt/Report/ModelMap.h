//===- ModelMap.h - A model's tensors, for reports that show all --*- C++
//-*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain data, free of IR: the bounds and estimates of every float tensor, with
// the op that computes it. Reports about findings alone do without.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_MODELMAP_H
#define MPOPT_REPORT_MODELMAP_H

#include "mpopt/Report/Finding.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpopt {

/// How many elements have magnitudes in [2^e, 2^(e+1)), for e from `first` on:
/// shares of the non-zero ones, or counts.
struct ExponentCounts {
  int first = 0;
  std::vector<double> counts;

  bool empty() const { return counts.empty(); }
};

/// The observation of a tensor, or of its gradient, in a run.
struct SeenTensor {
  std::string dtype;
  uint64_t count = 0, zero = 0, nan = 0, inf = 0;
  /// The extremes of finite and of non-zero values; 0 if there are none.
  double absMax = 0, minNonZero = 0;
  /// Empty if the record has no histogram.
  ExponentCounts exponents;
};

struct MapTensor {
  std::string name;
  /// As judged, after the precision was applied.
  std::string dtype;
  /// The op that makes the tensor; an input of the model has one without name.
  OpRef op;
  std::optional<SourceLine> location;
  /// The bound of the finite values before they are rounded to the dtype.
  Interval bound;
  /// The stored value may be one.
  bool nan = false, posInf = false, negInf = false;
  /// No non-zero magnitude is below; 0 if that is not known.
  double minNonZero = 0;
  std::optional<Interval> likely;
  /// The expected shares; empty if nothing is expected.
  ExponentCounts exponents;
  std::optional<SeenTensor> seen, seenGradient;
  /// The tensors that the op reads, by their places in the map.
  std::vector<unsigned> operands;
  bool isInput = false, isOutput = false;
};

struct ModelMap {
  /// In the model's order: operands come before what reads them, but for
  /// values that a loop carries.
  std::vector<MapTensor> tensors;
};

} // namespace mpopt

#endif // MPOPT_REPORT_MODELMAP_H
