//===- SharedSums.h - Passes over weights that were made before -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_SHAREDSUMS_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_SHAREDSUMS_H

#include "mpopt/Ranges/Weights/Kernels/Convolution.h"
#include "mpopt/Ranges/Weights/Kernels/Linear.h"
#include "mpopt/Ranges/Weights/Kernels/Summary.h"
#include "mpopt/Support/Memo.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

/// A memo of sums, and how it may be used.
struct SharedSums {
  Memo *memo = nullptr;
  /// The sums of a nearly equal box may be used: bounds are widened to hold,
  /// the estimate is the other's. This is for a trial, whose boxes differ from
  /// those of the original module by a few roundings.
  bool nearly = false;
};

/// The same as without `shared`, or (if `nearly`) bounds at most 5 % wider.
LinearSums linearSums(const LinearRequest &request, const SharedSums &shared);
LinearSums convolutionSums(const ConvolutionRequest &request,
                           const SharedSums &shared);

/// Keeps the losses of a large weight that has been summarised.
void keepLosses(const SummaryRequest &request, const WeightStats &losses,
                Memo &memo);
/// Those kept, whatever groups the summary was of; else they are counted.
WeightStats weightLosses(const SummaryRequest &request, Memo *memo);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_SHAREDSUMS_H
