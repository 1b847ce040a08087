//===- SoftmaxRows.h - Moments of rows of probabilities ---------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_SOFTMAXROWS_H
#define MPOPT_GRADIENTS_SOFTMAXROWS_H

#include "mpopt/Gradients/BackwardSpreadContext.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <utility>
#include <vector>

namespace mpopt {

/// The expected sum of squares of a row of `count` probabilities whose logits
/// have that variance.
double collisionsOf(double count, double variance);

/// The elements that take part in the rows of a mask.
struct MaskRows {
  /// How many each row has; none is 0. Empty: nothing is known.
  std::vector<double> lengths;
  /// The chance that two different rows pick the same element, if each picks
  /// evenly among its own: 1 / n of rows that share all of n elements.
  double meeting = 0;

  bool empty() const { return lengths.empty(); }
  /// Rows of their first elements: a row without any is left out.
  static MaskRows ofFirst(std::vector<double> lengths);
  /// Rows of elements `first` to `last` (included); spans without any are left
  /// out.
  static MaskRows ofSpans(llvm::ArrayRef<std::pair<double, double>> spans);
};

/// An element of a row of `count` probabilities whose logits have that variance
/// (at least one row); different positions are different rows.
Moments probabilitiesOf(const MaskRows &rows, double count, double variance);
/// The expected product of two elements of one of these rows: the squares of a
/// row and these add up to 1.
double productInRow(const Moments &probability, double count);

/// The second moment of y (g - sum y g), where y is an element of a row of
/// `count` whose logits have that variance, of which rows have `lengths`
/// elements, and g varies by 1 within a row.
double logitSquare(llvm::ArrayRef<double> lengths, double count,
                   double variance);
/// The variance of logits that makes that expected sum of squares.
double logitVariance(double count, double collisions);

/// The value in front of casts and identities.
mlir::Value skipCopies(mlir::Value value);

/// The indices of all of `rows` rows, or of many of them those that stand for
/// all, in even distances.
std::vector<double> chooseRows(double rows);

/// The lengths of those of `rows` causal rows of at most `count` elements: of
/// row i the first i + 1.
std::vector<double> causalLengths(double rows, double count);

/// The rows of a mask that is computed, of which only the share of elements
/// that take part is known: in the last axis of `shape`, of `count` elements.
/// A square one that keeps half of them, the diagonal included, is causal. The
/// rows of another are equally long; those of a square one are different
/// elements, as those of a window that moves, and each column has as many.
MaskRows guessRows(double share, const MaybeShape &shape, double count);

/// The elements of each row of a constant mask for which `isLive`; empty for
/// another value.
MaskRows countLive(SpreadContext &ctx, mlir::Value mask, int64_t count,
                   llvm::function_ref<bool(double)> isLive);

} // namespace mpopt

#endif // MPOPT_GRADIENTS_SOFTMAXROWS_H
