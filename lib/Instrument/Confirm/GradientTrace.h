//===- GradientTrace.h - Where NaN of gradients begins ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_GRADIENTTRACE_H
#define MPOPT_INSTRUMENT_CONFIRM_GRADIENTTRACE_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

/// `values`: what is known of the tensors themselves, by probe.
RecordedGradients traceGradients(const ProbePlan &plan, const RunRecords &runs,
                                 llvm::ArrayRef<BadValues> values);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_GRADIENTTRACE_H
