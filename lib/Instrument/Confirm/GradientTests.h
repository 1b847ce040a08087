//===- GradientTests.h - What decides a finding on gradients ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_GRADIENTTESTS_H
#define MPOPT_INSTRUMENT_CONFIRM_GRADIENTTESTS_H

#include "RunScale.h"
#include "Tests.h"

namespace mpopt::confirming {

/// The records that a test on a gradient looks at; null: not recorded.
struct GradientSights {
  const ProbeSight *gradient = nullptr;
  const ProbeSight *values = nullptr;  ///< of the same tensor
  const ProbeSight *against = nullptr; ///< the gradient of Watch::against
  const ProbeSight *factor = nullptr;  ///< the values of Watch::factor
  const ProbeSight *factorGradient = nullptr; ///< the gradient of that
  /// The loss scales of the run; null: not known.
  const RunScale *scale = nullptr;
  /// The norm of the gradients of all parameters as they were recorded, as a
  /// root mean square over steps; nothing if not all were recorded.
  std::optional<Interval> norm;
  /// The tensor is a parameter, and others had a gradient.
  bool othersLearn = false;
  /// The format that flushes first among those of the run's gradients; null
  /// where there was none.
  const FloatFormat *coarsest = nullptr;
};

/// One test for which looksAtGradient holds.
TestResult runGradientTest(const Watch &watch, const GradientSights &sights);

/// The coarsest format of all gradients.
const FloatFormat *findCoarsest(const RunRecords &runs);

/// The norm of the gradients of all parameters (GradientSights::norm).
std::optional<Interval> findNorm(const ProbePlan &plan, const RunRecords &runs);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_GRADIENTTESTS_H
