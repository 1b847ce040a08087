//===- GradientTests.h - What decides a finding on gradients ----*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_CONFIRM_GRADIENTTESTS_H
#define MPOPT_INSTRUMENT_CONFIRM_GRADIENTTESTS_H

#include "Tests.h"

namespace mpopt::confirming {

/// The records that a test on a gradient looks at; null: not recorded.
struct GradientSights {
  const ProbeSight *gradient = nullptr;
  const ProbeSight *values = nullptr;  ///< of the same tensor
  const ProbeSight *against = nullptr; ///< the gradient of Watch::against
  const ProbeSight *factor = nullptr;  ///< the values of Watch::factor
  /// The loss scale that the program said it used.
  std::optional<Interval> scale;
  /// Of the formats of all gradients of the run, the one that flushes first;
  /// null: there was none.
  const FloatFormat *coarsest = nullptr;
};

/// One test for which looksAtGradient holds.
TestResult runGradientTest(const Watch &watch, const GradientSights &sights);

/// The coarsest format of all gradients.
const FloatFormat *findCoarsest(const RunRecords &runs);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_GRADIENTTESTS_H
