//===- Trace.h - Where NaN and Inf begin ------------------------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_CONFIRM_TRACE_H
#define MPOPT_INSTRUMENT_CONFIRM_TRACE_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

/// By probe.
std::vector<BadValues> classifyBadValues(const ProbePlan &plan,
                                         const RunRecords &runs);

std::optional<FirstBad> findFirstBad(const ProbePlan &plan,
                                     const RunRecords &runs,
                                     llvm::ArrayRef<BadValues> bad);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_TRACE_H
