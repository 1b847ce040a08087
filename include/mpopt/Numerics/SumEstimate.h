//===- SumEstimate.h - What a sum typically loses ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_SUMESTIMATE_H
#define MPOPT_NUMERICS_SUMESTIMATE_H

#include "mpopt/Numerics/FloatFormat.h"

namespace mpopt {

/// The typical rounding error of a sum, relative to the sum, if `n` terms of
/// that mean and variance are added one after another, or pairwise: half a unit
/// of each partial sum's size. 0 if all terms are 0. It is no bound; those are
/// in Accumulation.h.
double estimateSumError(const FloatFormat &format, double n, double mean,
                        double variance, bool pairwise);

} // namespace mpopt

#endif // MPOPT_NUMERICS_SUMESTIMATE_H
