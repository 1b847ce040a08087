//===- OperandErrors.h - The error of scaling operands ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error of storing an operand of a product as codes with scales
// (Precision::operands). Weights are stored here as the product reads them, to
// the bit. Of activations the moments of each group say it: the largest of the
// elements that share a scale is expected where their tails leave half a chance
// of a larger one.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_OPERANDERRORS_H
#define MPOPT_PROPAGATE_OPERANDERRORS_H

#include "mpopt/Dialect/ProductOperands.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include <optional>
#include <vector>

namespace mpopt {

/// Mean squares of numbers and of their errors.
struct NumberAndError {
  double square = 0, error = 0;
};

struct OperandError {
  /// Mean and variance of the error, by group.
  AbstractValue error;
  /// Mean squares along the first contracted axis: one entry for each index, or
  /// one for all.
  std::vector<NumberAndError> along;
  /// The shares of the non-zero elements past the last number, and of those
  /// that are read as 0; the latter of weights only.
  double clipped = 0, flushed = 0;
  /// The share of the groups of weights with one scale that are all zeros.
  double zeroGroups = 0;
  /// The largest magnitude of activations that is read as 0, for each group of
  /// the range.
  std::vector<double> flushAt;
  /// The part of the error's square that clipping causes.
  double byClipping = 0;
};

/// Numbers of a group, of which `count` share a scale.
struct ScaleMember {
  double count, mean, variance;
};
/// The magnitude that the largest of them passes in half of all draws.
double expectedLargest(llvm::ArrayRef<ScaleMember> members);

/// The error's square of normal numbers that are rounded to a float or to a
/// code, and not clipped.
double roundingSquareOf(double mean, double variance,
                        const StorageFormat &format);
/// The same, clipped.
double scalingSquareOf(double mean, double variance,
                       const StorageFormat &format);

/// The gradient of a cross entropy, by the groups of its numbers: the elements
/// of the targets, p - 1, are far larger than the others, p.
struct TargetElements {
  /// The share of targets among the elements, and the mean square of the
  /// others.
  const AbstractValue &share, &rest;
  /// Elements that share a scale hold one target at most: they are the classes
  /// of one position.
  bool ofOnePosition;
};

/// The expected numbers of an operand.
struct ExpectedNumbers {
  const AbstractValue &value;
  /// The share of exact zeros that its moments do not tell of.
  double zero = 0;
  /// The largest magnitude, where it is more than that of the groups.
  double largest = 0;
  /// The range by which a calibration settled the scale of the tensor.
  std::optional<Interval> calibrated = {};
  /// The targets among the elements.
  std::optional<TargetElements> targets = {};
};
/// The error of an operand that is no constant, or whose elements are not read.
OperandError errorOf(const ScaledOperand &operand,
                     const ExpectedNumbers &numbers, TransferContext &ctx);

/// Without an estimate (AbstractValue::hasLikely) if nothing is expected of the
/// operand. `dims`: the groups of a constant that are asked for.
OperandError errorOf(const ScaledOperand &operand, const RangeAnalysis &ranges,
                     llvm::ArrayRef<int64_t> dims = {});

} // namespace mpopt

#endif // MPOPT_PROPAGATE_OPERANDERRORS_H
