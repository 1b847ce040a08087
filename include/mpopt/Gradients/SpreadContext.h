//===- SpreadContext.h - What a spread function works with ------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TransferContext in which gradients are estimates without bounds: range
// transfer functions work in it as they are, and a spread function replaces
// them where independence of elements is the wrong assumption.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_SPREADCONTEXT_H
#define MPOPT_GRADIENTS_SPREADCONTEXT_H

#include "mpopt/Gradients/LostShare.h"
#include "mpopt/Gradients/Spread.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <optional>

namespace mpopt {

/// A tensor some of whose elements are far larger than the rest: rows that a
/// batch's targets or indices hit. `share` is the probability that an element
/// is hit, `rest` the second moment of the others, both as the mean of a group
/// (of the tensor's groups).
struct Hits {
  AbstractValue share, rest;
};

/// The way of a gradient through narrow formats.
struct Losses {
  /// Elements that are 0 although the exact gradient is not; of those that are
  /// hit, where some are.
  LostShare hit;
  LostShare rest;
  /// The greatest exponent of a loss scale at which nothing on the way
  /// overflows, and the tensor that overflows above it.
  int most = LostShare::kLast;
  mlir::Value limit;
};

/// Weights of so many elements are not read anew for each question.
inline constexpr int64_t kLargeWeights = 1 << 18;

class SpreadContext : public TransferContext {
public:
  /// True if the value depends on the gradient of the loss.
  virtual bool isGradient(mlir::Value value) const = 0;
  /// How the elements of a value vary together.
  virtual const Spread &spread(mlir::Value value) = 0;
  /// The hits of a value; null if all elements are alike.
  virtual const Hits *hits(mlir::Value value) const = 0;
  virtual const Losses &losses(mlir::Value value) = 0;
  /// Samples of a batch.
  virtual double samples() const = 0;
  /// How often each of `count` classes or rows occurs among `indices`; they add
  /// up to 1. Only their mean where they are more than the groups that are
  /// kept.
  virtual std::vector<double> frequencies(mlir::Value indices,
                                          size_t count) = 0;
  /// Steps of training that the weights have seen, 0 if that is not known.
  virtual double stepsDone() const = 0;
  /// The current value of the loss, if it is known.
  virtual std::optional<double> lossValue() const = 0;

  /// True if the current op computes gradients. Of another op only spreads are
  /// asked: its estimates are those of the ranges.
  virtual bool computesGradient() const = 0;

  /// True if large weights are read as a whole, and once more where a forward
  /// value in front of them is known better than by its ranges. Not for
  /// projections of outputs: each check makes them, and factors are near
  /// enough.
  virtual bool refines() const = 0;
  /// True for a forward value that is known better than by its ranges, because
  /// something before it is.
  virtual bool isRefined(mlir::Value value) const = 0;

  /// Gives a result: its groups' estimates (bounds are of no account), and how
  /// they vary together.
  virtual void give(unsigned index, AbstractValue value, Spread spread) = 0;
  /// Gives the latter only: the range transfer function has the estimates.
  virtual void giveSpread(unsigned index, Spread spread) = 0;
  virtual void giveHits(unsigned index, Hits hits) = 0;
  /// Gives what of a result was lost before it is stored.
  virtual void giveLosses(unsigned index, Losses losses) = 0;
  /// Those of the operands that are gradients, of which a result is the sum.
  virtual Losses combineLosses() = 0;
  /// The spread of a result whose axes are those of its operands.
  virtual Spread combineOperands(mlir::OpResult result) = 0;

  //===--------------------------------------------------------------------===//
  // Questions that several ops ask
  //===--------------------------------------------------------------------===//

  Moments moments(mlir::Value value, const Cell &cell) {
    return Moments::of(cell, spread(value));
  }
  /// The estimate for the whole tensor.
  Moments moments(mlir::Value value) {
    return moments(value, of(value).hull());
  }
  /// The number of terms of a sum along those axes of `value`.
  TermCount countTerms(mlir::Value value, llvm::ArrayRef<int64_t> axes);
  /// The same of axes whose roles are given.
  TermCount countTerms(mlir::Value value, const AxisRoles &roles,
                       llvm::ArrayRef<int64_t> axes);
  /// A cell of normal numbers, with the extremes that `count` of them have.
  static Cell normalCell(const Moments &moments, double count);
};

} // namespace mpopt

#endif // MPOPT_GRADIENTS_SPREADCONTEXT_H
