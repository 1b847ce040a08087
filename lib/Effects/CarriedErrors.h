//===- CarriedErrors.h - Errors that travel forward -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mean squared error of every tensor, its own storage and that of all in
// front of it. Errors of different elements and operands are taken as
// independent of each other and of the values. Then an op's squared errors are
// sums of its operands', each times the expected square of the derivative; a
// product has K (n_a q_b + q_a n_b) for K terms, with n the squared errors and
// q the mean squares. Whatever has no formula here passes relative errors on,
// the squares added. Estimates, no bounds; docs/effect.md has the table.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_CARRIEDERRORS_H
#define MPOPT_LIB_EFFECTS_CARRIEDERRORS_H

#include "mpopt/Propagate/StorageErrors.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

namespace mpopt {

struct OpMeaning;
struct Unary;

/// The mean square of a tensor's elements, their variance, in all and (where
/// groups are told apart) within a group, and the mean square of their errors.
struct Noisy {
  double square = 0, variance = 0, within = 0, error = 0;

  double relative() const { return square > 0 ? error / square : 0; }
};

class CarriedErrors {
public:
  explicit CarriedErrors(const RangeAnalysis &ranges)
      : ranges(ranges), storage(ranges) {}
  virtual ~CarriedErrors() = default;
  CarriedErrors(const CarriedErrors &) = delete;
  CarriedErrors &operator=(const CarriedErrors &) = delete;

  /// Carries errors through a function's body, from its arguments.
  void visit(mlir::Block &body);

  /// Sizes and errors of the tensors where both are known.
  const llvm::DenseMap<mlir::Value, Noisy> &all() const { return known; }

protected:
  /// The values that are expected of the tensor before it is stored.
  virtual const AbstractValue &estimate(mlir::Value value) const;
  /// The mean squared error of storing the value; 0 if that rounds nothing.
  virtual std::optional<double> storageError(mlir::Value value);
  /// The mean squared error that operands bring into a result of that size.
  virtual std::optional<double>
  errorOf(mlir::Operation *op, mlir::OpResult result, const Noisy &size);

  Noisy of(mlir::Value value) const { return known.lookup(value); }
  bool isKnown(mlir::Value value) const { return known.count(value); }
  /// E f'(x)^2; nothing where x is not known.
  std::optional<double> squaredSlope(const Unary &function,
                                     mlir::Value x) const;

  const RangeAnalysis &ranges;
  StorageErrors storage;

private:
  /// Those of an op's operands that are floats.
  llvm::SmallVector<Noisy, 4> operandsOf(mlir::Operation *op) const;
  std::optional<Noisy> sizeOf(mlir::Value value) const;
  double errorOfProduct(mlir::Operation *op, const Noisy &size) const;
  void give(mlir::Value value, std::optional<double> error);
  void visit(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Noisy> known;
};

/// The mean square of what a norm divides: of x, of x without the mean of a
/// row, or of a channel.
double spreadSeenBy(const OpMeaning *norm, const Noisy &x);

/// E (P (e - sum P e))^2 of errors e with mean square 1, P probabilities over
/// the last axis of that mean square.
double squareThrough(mlir::Value probabilities, double square);

/// The elements of a tensor; an open dim counts as 1.
double countElements(mlir::Value value);
/// The elements of a row of classes or keys.
double countLast(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_CARRIEDERRORS_H
