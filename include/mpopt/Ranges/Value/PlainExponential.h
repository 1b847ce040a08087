//===- PlainExponential.h - Exponentials inside of ops ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A softplus or a log-sum-exp is a difference of logarithms that no dtype
// loses; a kernel that computes log(1 + e^x) or log(sum of e^x) as it stands
// has e^x on the way, which leaves FP16 from x = 11.1 on.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_VALUE_PLAINEXPONENTIAL_H
#define MPOPT_RANGES_VALUE_PLAINEXPONENTIAL_H

#include "mpopt/Numerics/Target.h"
#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mlir/IR/Operation.h"

namespace mpopt {

/// The exponentials that a kernel takes of its elements as they are.
struct PlainExponential {
  /// The format in which they are added up.
  const FloatFormat *format;
  /// The factor of an element in the exponent.
  double factor = 1;
  /// How many are added; infinite if that is not known.
  double count = 1;

  /// The largest exponent of a sum of elements within [lo, hi]: of one
  /// exponential that is as large as the sum.
  double largest(double lo, double hi) const;
  double smallest(double lo, double hi) const;
  /// log of the smallest number that is Inf in the format.
  double edge() const;
  /// Where even all exponentials together are 0.
  double floor() const;
};

/// Those of `op` on the target; nothing if its kernel shifts them, or has none.
std::optional<PlainExponential>
findPlainExponential(mlir::Operation *op, const TargetProfile &target);

} // namespace mpopt

#endif // MPOPT_RANGES_VALUE_PLAINEXPONENTIAL_H
