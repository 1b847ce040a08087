//===- Decision.h - How a run decides a finding -----------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A finding is a prediction about tensors. What a probe saw of them is tested
// (lib/Instrument/Confirm/Tests.cpp), and the finding is confirmed if any of
// its tests is passed.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_DECISION_H
#define MPOPT_REPORT_DECISION_H

#include "mpopt/Numerics/Infinity.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mpopt {

enum class Decision {
  None,         ///< no run decides it
  FileFact,     ///< every run shows it
  Overflow,     ///< a value is not finite in the dtype
  FlushShare,   ///< a share of the non-zero values is zero in the dtype
  LossOfRange,  ///< a value overflows or flushes to zero
  Zero,         ///< a value is zero in the dtype
  Domain,       ///< a value, rounded to the dtype, is outside [lo, hi]
  NearOverflow, ///< the largest magnitude is within a share of the edge
  NonFinite,    ///< NaN or Inf
  Nan,          ///< NaN
  Cancellation, ///< half an ulp of `against` is a share of the values
  Absorption,   ///< no value is half an ulp of `against`
  IntegerLimit, ///< integers past what the dtype holds
  ChannelRatio, ///< a quarter of the channels is smaller than the largest
  LargeAngle,   ///< the largest magnitude's ulp is past a number
  SumError,     ///< the roundings of adding so many terms like these
  Dead          ///< no magnitude reaches a number
};

/// As Rules.td and JSON have it: `near-overflow`.
std::string_view toString(Decision decision);
std::optional<Decision> parseDecision(std::string_view text);

/// One test that decides a finding.
struct Watch {
  Decision test = Decision::None;
  /// Which part of the finding's op the tensor is: `result`, `divisor` ...
  std::string part = "result";
  /// Empty if the model has no name for it.
  std::string tensor;
  /// As judged; another one than the tensor has in the file, if the precision
  /// says so.
  std::string dtype;
  /// The other tensor of a test on two.
  std::string against;
  double threshold = 0;
  // Of Decision::Domain.
  double lo = -kInfinity;
  double hi = kInfinity;
  bool open = false; ///< The ends are outside.
  /// Of Decision::ChannelRatio: the probe keeps ranges along it.
  int64_t axis = -1;
  // Of Decision::SumError.
  int64_t terms = 0;
  bool pairwise = false;
  bool oneSign = false; ///< What is added is |x| or x^2: no term is negative.
};

} // namespace mpopt

#endif // MPOPT_REPORT_DECISION_H
