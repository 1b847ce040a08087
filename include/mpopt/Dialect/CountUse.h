//===- CountUse.h - The meaning of numbers to compute with ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_COUNTUSE_H
#define MPOPT_DIALECT_COUNTUSE_H

#include "mpopt/Numerics/Interval.h"

#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace mpopt {

/// The meaning of an integer that indexes nothing.
struct CountUse {
  /// The numbers that it usually is, equally probable. Others are allowed.
  Interval usual;
  /// `a position or time step, taken for 0 to 999: the argument of a sine`.
  std::string what;
};

/// The meaning of `input` by its use, through casts, constant factors and ops
/// that move elements: a length that is compared with a row of numbers, or a
/// position or time step of which the sine or cosine is taken.
std::optional<CountUse> findCountUse(mlir::Value input);

} // namespace mpopt

#endif // MPOPT_DIALECT_COUNTUSE_H
