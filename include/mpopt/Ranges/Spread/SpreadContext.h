//===- SpreadContext.h - Context of a spread function -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A TransferContext that knows how elements vary together. The range analysis
// calls spread functions after the transfer function of an op in the forward
// part of a module, the gradient analysis those of its backward part
// (mpopt/Gradients/BackwardSpreadContext.h).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_SPREAD_SPREADCONTEXT_H
#define MPOPT_RANGES_SPREAD_SPREADCONTEXT_H

#include "mpopt/Ranges/Spread/Spread.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <utility>
#include <vector>

namespace mlir {
class FunctionOpInterface;
} // namespace mlir

namespace mpopt {

class SpreadContext : public TransferContext {
public:
  /// How the elements of a value vary together.
  virtual const Spread &spread(mlir::Value value) = 0;
  /// Samples of a batch.
  virtual double samples() const = 0;

  /// Those of a vision transformer's 197 positions and 20 groups of channels.
  /// Norms, whose slope is that of a position, tell gradients of few positions
  /// apart.
  static constexpr size_t kMostJoint = 4096;

  /// The groups of positions and channels together that a result which asks
  /// for them may have.
  virtual size_t mostJoint() const { return groupLimit().joint; }

  /// True if the value depends on the gradient of the loss.
  virtual bool isGradient(mlir::Value value) const { return false; }
  /// True if the current op computes gradients.
  virtual bool computesGradient() const { return false; }
  /// True for a context in which gradients are estimated.
  virtual bool isBackward() const { return false; }

  /// Gives a result: its groups' estimates (bounds are of no account), and how
  /// they vary together.
  virtual void give(unsigned index, AbstractValue value, Spread spread) = 0;
  /// Gives the latter only: the range transfer function has the estimates.
  virtual void giveSpread(unsigned index, Spread spread) = 0;

  //===--------------------------------------------------------------------===//
  // Questions that several ops ask
  //===--------------------------------------------------------------------===//

  /// The spread of a result of the current op whose axes are those of its
  /// operands, aligned as for broadcasting: a mixture of theirs, weighted by
  /// variance.
  Spread combineOperands(mlir::OpResult result);
  /// The spread of an argument of a function: samples lie along its leading
  /// axis. Class numbers and tokens have a position along every other axis.
  static Spread spreadOfArgument(mlir::BlockArgument argument, double samples);
  /// The samples of a batch by the leading dim of the function's arguments; 1
  /// if it is unknown.
  static double countSamples(mlir::FunctionOpInterface function);

  /// How often each of `count` classes or rows occurs among `indices`; they add
  /// up to 1. Only their mean where they are more than the groups that are
  /// kept.
  std::vector<double> frequencies(mlir::Value indices, size_t count);
  /// The chance that two of `indices` name the same of `count` rows.
  static double coincidence(mlir::Value indices, size_t count);

  /// True for an op of the forward part none of whose operands is correlated:
  /// its results are not either, and moments need not be read.
  bool isUncorrelated();

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

private:
  void
  mixCorrelations(llvm::ArrayRef<std::pair<mlir::Value, const Spread *>> parts,
                  Spread &mixed);
};

} // namespace mpopt

#endif // MPOPT_RANGES_SPREAD_SPREADCONTEXT_H
