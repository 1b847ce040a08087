//===- RunScale.h - The loss scales of a recorded run -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients are recorded as they flow, multiplied by the loss scale of their
// step, and a dynamic scaler changes it between steps. A record adds up all
// steps, so a test holds for it if it holds for the least and for the greatest
// scale, or if too few steps had another one to matter.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_CONFIRM_RUNSCALE_H
#define MPOPT_INSTRUMENT_CONFIRM_RUNSCALE_H

#include "mpopt/Instrument/RunRecords.h"

namespace mpopt::confirming {

struct RunScale {
  /// From the least to the greatest.
  Interval range;
  /// The number for each step; null: `range` is one number.
  const mpopt_record *record = nullptr;

  bool isConstant() const { return range.lo == range.hi; }
  /// The share of steps with a greater scale, and with a smaller one; rather
  /// too great than too small.
  double shareAbove(double scale) const;
  double shareBelow(double scale) const;
  /// "1024", "1024 to 65536".
  std::string str() const;
};

/// The scales of the run: the gradients of the loss that the model gives, since
/// with them the backward pass began; else what the program reported. Nothing
/// if neither is there, or is no positive number throughout.
std::optional<RunScale> findRunScale(const ProbePlan &plan,
                                     const RunRecords &runs);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_RUNSCALE_H
