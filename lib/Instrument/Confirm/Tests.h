//===- Tests.h - What decides a finding, on what was seen -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_TESTS_H
#define MPOPT_INSTRUMENT_CONFIRM_TESTS_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

enum class Verdict {
  Yes,
  No,
  Unseen, ///< the run did not get there, or not in a dtype that shows it
  Unable  ///< no record of this kind can tell
};

struct TestResult {
  Verdict verdict;
  std::string why = {};
  std::optional<uint64_t> step = {};
};

/// One test. `against` is null unless the test is on two tensors and the other
/// one was seen. `given`: infinities of the tensor are the model's own, not
/// the result of an overflow.
TestResult runTest(const Watch &watch, const ProbeSight &seen,
                   const ProbeSight *against, bool given);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_TESTS_H
