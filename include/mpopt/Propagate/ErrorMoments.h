//===- ErrorMoments.h - Second moments of errors ----------------*- C++ -*-===//
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
// Rounding to whole numbers or to codes has no derivative, and a small error in
// front of it is mostly gone behind it. Where it crosses the edge of a step it
// becomes a whole step: an error d of values that are spread over steps of
// width s does so in the share |d| / s of them, so that the expected square is
// s |d|, far more than the d^2 of a derivative of 1. A model that is judged by
// its quantisation has no such step in the graph that it is compared with:
// there quantising adds its own error to the one in front of it.
//
// Functions of one number with jumps, or with parts that are shorter than the
// errors in front of them, have such steps, too: what first order lacks is an
// error of their results.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_ERRORMOMENTS_H
#define MPOPT_PROPAGATE_ERRORMOMENTS_H

#include "mpopt/Propagate/Propagation.h"
#include "mpopt/Propagate/QuantizationErrors.h"
#include "mpopt/Propagate/StorageErrors.h"

namespace mpopt {

struct OpMeaning;
namespace mp {
class AttentionOp;
} // namespace mp
struct Unary;

/// The mean square of a tensor's elements, their variance, in all and (where
/// groups are told apart) within a group, and the mean square of their errors.
struct TensorMoments {
  double square = 0, variance = 0, within = 0, error = 0;

  double relative() const { return square > 0 ? error / square : 0; }
};

/// Errors of whole steps.
struct StepError {
  /// The width of a step.
  double width = 0;
  /// The square that they add to the expected one of an element's error, and
  /// the share of the elements that end on another step.
  double square = 0, share = 1;

  /// By the mean square of the errors in front of the step.
  static StepError across(double width, double before);
};

class ErrorMoments : public Propagation<ErrorMoments> {
public:
  explicit ErrorMoments(const RangeAnalysis &ranges)
      : Propagation(ranges), storage(ranges), quantization(ranges) {}
  virtual ~ErrorMoments() = default;
  ErrorMoments(const ErrorMoments &) = delete;
  ErrorMoments &operator=(const ErrorMoments &) = delete;

  /// Sizes and errors of the tensors where both are known.
  const llvm::DenseMap<mlir::Value, TensorMoments> &all() const {
    return known;
  }
  TensorMoments of(mlir::Value value) const { return known.lookup(value); }
  bool isKnown(mlir::Value value) const { return known.count(value); }
  /// The error by steps that the value is rounded to: its maker's, or those of
  /// a quantisation that reads it; or by those of the functions behind it.
  /// None for most values, and where it is not known.
  StepError stepAt(mlir::Value value) const { return steps.lookup(value); }

  // The members of a domain.
  void begin(mlir::Value value);
  void transfer(mlir::Operation *op, OpKind kind);
  bool flow(mlir::Value from, mlir::Value to);
  void skip(mlir::Operation *) {}

protected:
  /// The values that are expected of the tensor before it is stored.
  virtual const AbstractValue &estimate(mlir::Value value) const;
  /// The mean squared error of storing the value; 0 if that rounds nothing.
  virtual std::optional<double> storageError(mlir::Value value);
  /// The mean squared error that operands bring into a result of that size.
  virtual std::optional<double> errorOf(mlir::Operation *op, OpKind kind,
                                        mlir::OpResult result,
                                        const TensorMoments &size);

  /// The square of the error that an operand brings into a sum of its elements,
  /// of that of independent errors.
  virtual double growth(mlir::Operation *, unsigned /*operand*/) const {
    return 1;
  }

  /// The result has its error.
  virtual void divide(mlir::Operation *, OpKind, mlir::OpResult,
                      const TensorMoments & /*size*/) {}
  /// `to` has the error of `from`.
  virtual void adopt(mlir::Value /*from*/, mlir::Value /*to*/) {}

  /// errorOf if of all values that it reads this one alone had an error, of
  /// that square.
  double errorBy(mlir::Value value, double square,
                 llvm::ArrayRef<mlir::Value> read, mlir::Operation *op,
                 OpKind kind, mlir::OpResult result, const TensorMoments &size);
  /// For another walk over the same module.
  void forget();

  /// E f'(x)^2; nothing where x is not known.
  std::optional<double> squaredSlope(const Unary &function,
                                     mlir::Value x) const;

  StorageErrors storage;
  QuantizationErrors quantization;

private:
  const std::optional<TensorMoments> &sizeOf(mlir::Value value);
  double sumOfErrors(mlir::Operation *op) const;
  double errorOfCopy(mlir::Operation *op) const;
  double errorOfSum(mlir::Operation *op, mlir::Value result) const;
  double errorOfProduct(mlir::Operation *op, const TensorMoments &size) const;
  std::optional<double> errorOfFunction(mlir::Operation *op,
                                        const TensorMoments &size);
  double errorOfNormal(mlir::Operation *op, mlir::Value result,
                       const TensorMoments &size) const;
  std::optional<double> errorOfStep(mlir::Operation *op, mlir::Value result,
                                    const TensorMoments &size);
  std::optional<double> errorOfAttention(mp::AttentionOp op,
                                         const TensorMoments &size) const;
  double errorOfOther(mlir::Operation *op, const TensorMoments &size) const;
  StepError stepOf(mlir::Value value, double width) const;
  double withChange(mlir::Value value, double error);
  void give(mlir::Value value, std::optional<double> error);

  llvm::DenseMap<mlir::Value, TensorMoments> known;
  llvm::DenseMap<mlir::Value, std::optional<TensorMoments>> sizes;
  llvm::DenseMap<mlir::Value, StepError> steps;
};

/// The mean square of what a norm divides: of x, of x without the mean of a
/// row, or of a channel.
double spreadSeenBy(const OpMeaning *norm, const TensorMoments &x);

/// E (P (e - sum P e))^2 of errors e with mean square 1, P probabilities over
/// the last axis of that mean square.
double squareThrough(mlir::Value probabilities, double square);

/// The elements of a tensor; an open dim counts as 1.
double countElements(mlir::Value value);
/// The elements of a row of classes or keys.
double countLast(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_ERRORMOMENTS_H
