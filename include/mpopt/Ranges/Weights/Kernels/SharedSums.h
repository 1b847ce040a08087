//===- SharedSums.h - Passes over weights that were made before -*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_WEIGHTS_KERNELS_SHAREDSUMS_H
#define MPOPT_RANGES_WEIGHTS_KERNELS_SHAREDSUMS_H

#include "mpopt/Ranges/Weights/Kernels/Convolution.h"
#include "mpopt/Ranges/Weights/Kernels/Linear.h"
#include "mpopt/Support/Memo.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpopt {

/// A memo, and how it may be used.
struct SharedSums {
  Memo *memo = nullptr;
  /// Sums of a box that this one nearly is do: bounds are widened to hold, the
  /// estimate is the other's. For a trial, whose boxes differ from those of the
  /// module as it is by a few roundings.
  bool nearly = false;
};

/// The same as without `shared`, or (if `nearly`) bounds at most 5 % wider.
LinearSums linearSums(const LinearRequest &request, unsigned jobs,
                      const SharedSums &shared);
LinearSums convolutionSums(const ConvolutionRequest &request, unsigned jobs,
                           const SharedSums &shared);

} // namespace mpopt

#endif // MPOPT_RANGES_WEIGHTS_KERNELS_SHAREDSUMS_H
