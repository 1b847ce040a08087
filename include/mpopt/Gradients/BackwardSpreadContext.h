//===- BackwardSpreadContext.h - Context of gradients' spreads --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A SpreadContext in which gradients are estimates without bounds: range
// transfer functions work in it as they are, and a spread function replaces
// them where independence of elements is the wrong assumption.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_GRADIENTS_BACKWARDSPREADCONTEXT_H
#define MPOPT_GRADIENTS_BACKWARDSPREADCONTEXT_H

#include "mpopt/Gradients/LostShare.h"
#include "mpopt/Ranges/Spread/SpreadContext.h"

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

class BackwardSpreadContext : public SpreadContext {
public:
  static bool classof(const SpreadContext *context) {
    return context->isBackward();
  }
  bool isBackward() const final { return true; }
  bool isGradient(mlir::Value value) const override = 0;
  bool computesGradient() const override = 0;

  /// The hits of a value; null if all elements are alike.
  virtual const Hits *hits(mlir::Value value) const = 0;
  virtual const Losses &losses(mlir::Value value) = 0;
  /// Steps of training that the weights have seen, 0 if that is not known.
  virtual double stepsDone() const = 0;
  /// The current value of the loss, if it is known.
  virtual std::optional<double> lossValue() const = 0;

  /// True if large weights are read as a whole. Not for projections of outputs:
  /// each check makes them, and factors are near enough.
  virtual bool readsAll() const = 0;

  virtual void giveHits(unsigned index, Hits hits) = 0;
  /// Gives what of a result was lost before it is stored.
  virtual void giveLosses(unsigned index, Losses losses) = 0;
  /// Those of the operands that are gradients, of which a result is the sum.
  virtual Losses combineLosses() = 0;
};

} // namespace mpopt

#endif // MPOPT_GRADIENTS_BACKWARDSPREADCONTEXT_H
