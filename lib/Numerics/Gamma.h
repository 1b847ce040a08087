//===- Gamma.h - Positive numbers -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of n squares of normal numbers have a gamma distribution of shape n / 2,
// sums of other positive terms nearly one of their mean and variance.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_NUMERICS_GAMMA_H
#define MPOPT_LIB_NUMERICS_GAMMA_H

namespace mpopt {

/// x with ln P(X < x) = `wanted` for a gamma distribution of that shape and
/// scale 1.
double gammaQuantile(double shape, double wanted);

/// The quantile where a standard normal distribution has z: within 1 % for z in
/// [-3, 3].
double gammaQuantileAt(double shape, double z);

} // namespace mpopt

#endif // MPOPT_LIB_NUMERICS_GAMMA_H
