//===- RoundingCover.h - Few nodes that hold most roundings -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor is not rounded where the node that makes it and all that read it
// are in FP32. Which nodes, so that what is left is small enough? That is a
// covering problem; the greedy answer is taken.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPAIR_SEARCH_ROUNDINGCOVER_H
#define MPOPT_LIB_REPAIR_SEARCH_ROUNDINGCOVER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace mpopt {

/// A rounding that goes when all of `nodes` are kept.
struct RoundingSite {
  llvm::SmallVector<unsigned, 4> nodes;
  /// The term that it adds to each sum, by the sum's index.
  llvm::SmallVector<std::pair<unsigned, double>, 2> parts;
};

/// A sum of squared errors, and how large it may be.
struct RoundingSum {
  double value = 0, limit = 0;
};

/// A node, and the index of the site for which it was taken.
using CoveringNode = std::pair<unsigned, size_t>;

/// Adds nodes to `kept` until each sum is within its limit, or no site helps.
/// Each time the site is taken that, with those that its nodes complete, gives
/// most for the price of its nodes. Sites whose nodes are all kept already are
/// ignored. Returns the nodes that were added.
llvm::SmallVector<CoveringNode>
coverRoundings(llvm::ArrayRef<RoundingSite> sites,
               llvm::ArrayRef<RoundingSum> sums,
               const llvm::DenseSet<unsigned> &kept,
               llvm::function_ref<double(unsigned)> price);

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_ROUNDINGCOVER_H
