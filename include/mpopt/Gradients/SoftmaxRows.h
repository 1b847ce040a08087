//===- SoftmaxRows.h - Moments of rows of probabilities ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_GRADIENTS_SOFTMAXROWS_H
#define MPOPT_GRADIENTS_SOFTMAXROWS_H

#include "mpopt/Gradients/BackwardSpreadContext.h"
#include "mpopt/Numerics/Masking.h"

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
  /// The variance within rows of what a mask adds to the elements that take
  /// part: a bias may be stored with it.
  double variance = 0;

  bool empty() const { return lengths.empty(); }
  /// Rows that have all of `count` elements.
  static MaskRows whole(double count) { return {{count}, 1 / count}; }
  /// Row i has the first i + 1 of `count` elements. Of many rows those are
  /// taken that `chooseRows` has.
  static MaskRows causal(double rows, double count);
  /// Rows of elements `first` to `last` (included); spans without any are left
  /// out.
  static MaskRows ofSpans(llvm::ArrayRef<std::pair<double, double>> spans);
  /// The rows of two masks at once: no more elements than the shorter ones
  /// have, which they are taken for.
  static MaskRows both(MaskRows lhs, MaskRows rhs);
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

/// The indices of all of `rows` rows, or of many of them those that stand for
/// all, in even distances.
std::vector<double> chooseRows(double rows);

/// The rows of a mask that is computed, of which only the share of elements
/// that take part is known: in the last axis of `shape`, of `count` elements.
/// A square one that keeps half of them, the diagonal included, is causal. The
/// rows of another are equally long; those of a square one are different
/// elements, as those of a window that moves, and each column has as many.
MaskRows guessRows(double share, const MaybeShape &shape, double count);

/// The share of the elements that a cell stands for which are masked, if they
/// are near its ends.
double shareMasked(const Cell &cell);

/// The elements of a mask that take part: scores to which less is added are
/// masked, or those where a condition holds, or where it does not.
enum class LiveElements { AboveMasked, NonZero, Zero };

/// The rows of a constant mask whose last axis has `count` elements; empty for
/// another value. A large mask is read once for all analyses of a context.
MaskRows countLive(SpreadContext &ctx, mlir::Value mask, int64_t count,
                   LiveElements live);

} // namespace mpopt

#endif // MPOPT_GRADIENTS_SOFTMAXROWS_H
