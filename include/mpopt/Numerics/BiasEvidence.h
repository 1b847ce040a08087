//===- BiasEvidence.h - Biases that tell how large sums are -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch normalisation that was folded into the layer in front of it leaves
// the bias b_n = beta_n - m_n, where m_n is the mean that the layer's sum had
// in training, gain included. Across channels such biases are opposite to the
// means a_n that an estimate expects. If all inputs are expected too large or
// too small by one factor, so are all a_n, and regression says so. With the
// correlation r of a_n and -b_n the factor is
//
//   r |b| / |a|  if b_n is off by the beta_n, which are parameters of their
//   own, |b| / (r |a|)  if the a_n are off, each by itself,
//
// and between the two if both are. An estimate between them is left as it is,
// another one moved to the nearer.
//
// Biases that were merely learnt are small, or have either sign: their
// correlation with the sums is not positive and large.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_NUMERICS_BIASEVIDENCE_H
#define MPOPT_NUMERICS_BIASEVIDENCE_H

#include "llvm/ADT/ArrayRef.h"

namespace mpopt {

/// The factor by which the sums in front of a bias are expected to differ from
/// `means`, their estimate; 1 where the biases say nothing. There is one number
/// for each channel in either list.
double scaleByBias(llvm::ArrayRef<double> means, llvm::ArrayRef<double> biases);

} // namespace mpopt

#endif // MPOPT_NUMERICS_BIASEVIDENCE_H
