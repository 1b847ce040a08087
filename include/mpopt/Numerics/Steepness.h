//===- Steepness.h - How far a function carries an error --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_NUMERICS_STEEPNESS_H
#define MPOPT_NUMERICS_STEEPNESS_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Numerics/Unary.h"

namespace mpopt {

/// |f(a) - f(b)| <= slope |a - b| + jump.
struct Steepness {
  double slope = kInfinity;
  double jump = 0;
};

/// A bound of that form for all a and b in `x`, of the real function. The slope
/// is infinite where `x` reaches out of the domain, where the function jumps or
/// has a vertical tangent in it, and where no bound is known.
Steepness getSteepness(const Unary &unary, const Interval &x);

} // namespace mpopt

#endif // MPOPT_NUMERICS_STEEPNESS_H
