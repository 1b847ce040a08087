//===- FiniteErrors.h - Errors past first order -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// f(x + d) - f(x) is f'(x) d for errors d that are small beside the length over
// which f' changes. Near a jump (of Shrink, of ThresholdedRelu), beside a step
// that is shorter than the error (a logistic function of large numbers) and at
// the end of a domain (a logarithm of what a rectifier leaves) none is: few
// elements move, and these by far more than the slope says.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_PROPAGATE_FINITEERRORS_H
#define MPOPT_LIB_PROPAGATE_FINITEERRORS_H

#include "mpopt/Numerics/StorageFormat.h"
#include "mpopt/Ranges/Value/Cells.h"
#include "mpopt/Ranges/Value/Expression.h"

#include <optional>

namespace mpopt {

/// The change of f(x) by errors of a normal number x.
struct FiniteChange {
  /// E (f(x + d) - f(x))^2, and to first order E (f'(x) d)^2.
  double square = 0, linear = 0;
  /// The share of the elements that have nearly all of the difference.
  double share = 1;

  /// The square that first order lacks: 0 where that is within a factor 2, as
  /// near as errors themselves are known.
  double excess() const { return square > 2 * linear ? square - linear : 0; }
};

/// The function of one number that `value` is, if no other op goes on with it
/// and its slope is not one number.
class FunctionOfError {
public:
  explicit FunctionOfError(mlir::Value value);

  /// Null if there is no such function.
  mlir::Value variable() const {
    return function ? function->variable() : mlir::Value();
  }
  /// d has the mean square `before`, and that of a rounding of x if `format` is
  /// not null.
  FiniteChange changeOf(const Cell &x, double before,
                        const FloatFormat *format) const;

private:
  std::optional<Expression> function;
};

} // namespace mpopt

#endif // MPOPT_LIB_PROPAGATE_FINITEERRORS_H
