//===- Scales.h - The power of two that fits a format best ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_INSTRUMENT_CONFIRM_SCALES_H
#define MPOPT_INSTRUMENT_CONFIRM_SCALES_H

#include "mpopt/Instrument/Confirm.h"

namespace mpopt::confirming {

/// Nothing for a tensor without a finite non-zero float, or without a
/// histogram.
std::optional<TensorScales> findScales(int64_t probe, const ProbeSight &seen);

} // namespace mpopt::confirming

#endif // MPOPT_INSTRUMENT_CONFIRM_SCALES_H
