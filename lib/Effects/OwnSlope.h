//===- OwnSlope.h - Errors as large as the slope is small -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rounding of x is as large as x, and so may be the slope of what reads it:
// a logarithm is steep where roundings are small, a sigmoid flat where they are
// large, and x^2 steepest where they are largest. The mean of a product of both
// squares is not the product of their means.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_OWNSLOPE_H
#define MPOPT_LIB_EFFECTS_OWNSLOPE_H

#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/Expression.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <vector>

namespace mpopt {

/// The functions of one number that a stored tensor goes through before
/// anything else is done with it.
class OwnSlope {
public:
  /// `gradientOf` gives the estimate of the gradient of a value that arrives at
  /// the output; null where none does.
  OwnSlope(mlir::Value value,
           llvm::function_ref<const AbstractValue *(mlir::Value)> gradientOf);

  /// The mean square of slope times rounding error over that of the gradient
  /// times `error`, both with respect to the tensor. 1 if the tensor is not
  /// read by one function of one number, or if more is lost than roundings.
  double factor(const RangeAnalysis &ranges, const AbstractValue &error) const;

  /// A number of a standard normal variable, and its weight.
  using Point = std::pair<double, double>;

private:
  /// E (F'(x) d(x))^2, with d the rounding error of x, where F(x) is
  /// `expected`.
  double meanSquare(const Cell &x, const StorageFormat &format,
                    llvm::ArrayRef<Point> points,
                    const Interval &expected) const;
  double factorOfScale(const RangeAnalysis &ranges, const FloatFormat &format,
                       const AbstractValue &error) const;

  /// The tensor, the result of the last function, and what is divided by it, as
  /// in x / exp(s), a function of s but for x; the latter two may be null.
  mlir::Value value, last, divided;
  std::vector<Expression> functions;
  /// The tensor, and the number by which the result of the first `joined`
  /// functions is multiplied, as functions of one number, as in x / sqrt(|x|);
  /// nothing if there is no such product.
  std::optional<Expression> own, other;
  std::optional<size_t> joined;
  /// Their slope is not the same everywhere.
  bool bends = false;
  /// That of the products or quotients, if the tensor multiplies or divides
  /// other numbers, of which it may be a function: they have its relative
  /// error.
  std::unique_ptr<OwnSlope> scaled;
  /// The gradients at the tensor and behind the functions.
  const AbstractValue *before = nullptr, *behind = nullptr;
};

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_OWNSLOPE_H
