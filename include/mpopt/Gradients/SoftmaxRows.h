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

#include <vector>

namespace mpopt {

/// The expected sum of squares of a row of `count` probabilities whose logits
/// have that variance.
double collisionsOf(double count, double variance);

/// An element of a row of `count` probabilities, of which rows have the first
/// `lengths` (at least one row, none of length 0); different positions are
/// different rows.
Moments probabilitiesOf(llvm::ArrayRef<double> lengths, double count,
                        double variance);

/// The second moment of y (g - sum y g), where y is an element of a row of
/// `count` whose logits have that variance, of which rows have the first
/// `lengths`, and g varies by 1 within a row.
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

/// The lengths of the rows of a mask that is computed, of which only the share
/// of elements that take part is known: in the last axis of `shape`, of `count`
/// elements. A square one that keeps half of them, the diagonal included, is
/// causal; of another the rows are equally long.
std::vector<double> guessLengths(double share, const MaybeShape &shape,
                                 double count);

/// Elements of each row of a constant mask for which `isLive`; nothing for
/// another value.
std::vector<double> countLive(SpreadContext &ctx, mlir::Value mask,
                              int64_t count,
                              llvm::function_ref<bool(double)> isLive);

} // namespace mpopt

#endif // MPOPT_GRADIENTS_SOFTMAXROWS_H
