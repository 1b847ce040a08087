//===- Trace.h - Where NaN and Inf begin ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_TRACE_H
#define MPOPT_INSTRUMENT_CONFIRM_TRACE_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

/// By probe. `holds`: every assumption did, so what is proved finite was.
std::vector<BadValues> classifyBadValues(const ProbePlan &plan,
                                         const RunRecords &runs, bool holds);

/// All places at which NaN or Inf began, the most likely cause of harm first.
std::vector<FirstBad> findBeginnings(const ProbePlan &plan,
                                     const RunRecords &runs,
                                     llvm::ArrayRef<BadValues> bad, bool holds);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_TRACE_H
