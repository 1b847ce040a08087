//===- ChangedDecisions.h - Choices that errors change ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An index or truth value has no derivative, and is right or another one. It
// changes where the errors of two candidates differ by more than the gap
// between them: with a density f of the gap next to 0 and a difference d of the
// errors, in the share f E|d| of all choices. This domain carries that share to
// the ops that choose elements by it. A changed choice puts another element of
// the same distribution in the place of the right one, so that the mean square
// of its error is twice the variance.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_CHANGEDDECISIONS_H
#define MPOPT_PROPAGATE_CHANGEDDECISIONS_H

#include "mpopt/Numerics/Likely.h"
#include "mpopt/Propagate/ErrorMoments.h"

namespace mpopt {

class ChangedDecisions : public Propagation<ChangedDecisions> {
public:
  /// `moments` has been run over the same body.
  ChangedDecisions(const RangeAnalysis &ranges, const ErrorMoments &moments)
      : Propagation(ranges), moments(moments) {}

  /// True if the body has a float whose order or whole part chooses something.
  static bool hasChoices(mlir::Block &body);

  /// The error of a float tensor whose elements are chosen by what errors
  /// change; none for most, and where many runs change no choice at all.
  StepError errorOf(mlir::Value value) const;
  /// True if the worst of several runs counts: of a quantised model, and of one
  /// whose operands are to be quantised.
  bool countsWorstRun(mlir::Value value) const;
  /// The share of the indices, truth values or whole numbers of a tensor that
  /// errors change, of several indices in their order; 0 where none decides
  /// about it.
  double shareOf(mlir::Value value) const;
  /// The tensor that decides about `value` with errors that are not known;
  /// null if there is none.
  mlir::Value unknownBehind(mlir::Value value) const {
    return unknown.lookup(value);
  }

  /// The float tensor whose errors decide about `value`; null if there is none.
  mlir::Value deciderOf(mlir::Value value) const {
    return deciders.lookup(value);
  }

  // The members of a domain.
  void begin(mlir::Value) {}
  void transfer(mlir::Operation *op, OpKind kind);
  bool flow(mlir::Value from, mlir::Value to);
  void skip(mlir::Operation *) {}

private:
  /// Nothing if the errors or the gap are not known.
  std::optional<double> shareChanged(mlir::Operation *op, mlir::Value result);
  std::optional<double> shareOfComparison(mlir::Operation *op) const;
  /// The same of truth values that tell the best along an axis.
  std::optional<double> shareOfOwnOrder(mlir::Value value, double chosen,
                                        int64_t axis) const;
  /// The share of `chosen` elements whose place others take; `inOrder`:
  /// exchanges among themselves count, too.
  std::optional<double> shareOfExtreme(mlir::Value candidates, int64_t axis,
                                       double chosen,
                                       bool inOrder = false) const;
  std::optional<double> shareOfNearest(mlir::Value value, int64_t axis) const;
  std::optional<double> shareOfWhole(mlir::Value value,
                                     mlir::Value integers) const;
  void choose(mlir::Operation *op, mlir::Value result, double share);
  double squareOfChange(mlir::Operation *op, mlir::Value result) const;

  const ErrorMoments &moments;
  /// The share of the elements that are another choice.
  llvm::DenseMap<mlir::Value, double> shares;
  /// The expected number of changes that begin at a value, and of all.
  llvm::DenseMap<mlir::Value, double> changes;
  double expected = 0;
  llvm::DenseMap<mlir::Value, StepError> errors;
  llvm::DenseMap<mlir::Value, mlir::Value> unknown, deciders;
};

/// K (K - 1) times the integral of phi^2 Phi^(K - 2): the density at 0 of the
/// gap between the best two of K draws of a standard normal number.
double densityOfTopGap(double candidates);

/// The best two of several numbers.
struct TopGap {
  /// At 0, of their gap, and the mean square of both where it is.
  double density = 0, square = 0;
};

/// Takes independent normal numbers, `each` of every group. The density is the
/// sum over pairs i, j of the integral of f_i f_j times the product of the
/// other F_k.
TopGap findTopGap(llvm::ArrayRef<Likely> groups, double each);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_CHANGEDDECISIONS_H
