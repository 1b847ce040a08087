//===- HeavyTerms.h - Sums that a few terms decide --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The extremes of y_n = sum_k w_kn x_k are k sigma from the mean if many terms
// take part. A few features that are far larger than the rest (as in trained
// residual streams and normalisations of them), or few terms altogether, do not
// have that tail: a term ends at its own extremes. With the m largest terms
// taken by their extremes and the rest as normal,
//
//   reach <= min over m of  sum_{i<=m} |w_i| h_i + k sqrt(sum_{i>m} w_i^2 v_i),
//
// where h_i is half the distance between the extremes of x_i: for random signs
// that is the tail up to a constant (Montgomery-Smith, The distribution of
// Rademacher sums, Proc. AMS 109(2), 1990).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_HEAVYTERMS_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_HEAVYTERMS_H

#include "mpopt/Ranges/Weights/Kernels/Linear.h"

namespace mpopt {

/// That minimum for each channel, over the few inputs that have most of the
/// variance; empty if no input stands out. `extreme` is k.
std::vector<double> reachOfHeavyTerms(const LinearRequest &request,
                                      const LinearSums &sums, double extreme);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_HEAVYTERMS_H
