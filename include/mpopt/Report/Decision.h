//===- Decision.h - How a run decides a finding -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A finding is a prediction about tensors. The records of probes are tested
// (lib/Instrument/Confirm/Tests.cpp), and the finding is confirmed if any of
// its tests passes.
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

/// The tests of Decision.def.
enum class Decision {
#define DECISION(name, word, text) name,
#include "mpopt/Report/Decision.def"
};

/// The word of Rules.td and JSON: `near-overflow`.
std::string_view toString(Decision decision);
std::optional<Decision> parseDecision(std::string_view text);

/// One test that decides a finding.
struct Watch {
  Decision test = Decision::None;
  /// The tensor's part in the finding's op: `result`, `divisor` ...
  std::string part = "result";
  /// Empty if the model has no name for it.
  std::string tensor;
  /// The dtype that is judged; the precision may give the tensor another one
  /// than the file.
  std::string dtype;
  /// The other tensor of a test on two.
  std::string against;
  double threshold = 0;
  // For Decision::Domain only.
  double lo = -kInfinity;
  double hi = kInfinity;
  bool open = false; ///< The ends are outside.
  /// For Decision::ChannelRatio only: the axis along which the probe keeps
  /// ranges; -1: none.
  int64_t axis = -1;
  // For Decision::SumError only.
  int64_t terms = 0;
  bool pairwise = false;
  bool oneSign = false; ///< What is added is |x| or x^2: no term is negative.
  // For tests on gradients (looksAtGradient) only.
  /// For Decision::GradientFlush: the tensor by whose values the gradient of
  /// `against` is multiplied; empty: it is only summed.
  std::string factor;
  /// The factor of the loss at which the gradient was judged; 0: that of the
  /// run.
  double scale = 0;
};

/// True if the test is on the gradient of the tensor (and of `against`).
bool looksAtGradient(Decision decision);

} // namespace mpopt

#endif // MPOPT_REPORT_DECISION_H
