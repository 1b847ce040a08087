//===- InputRanges.h - What is taken for granted about inputs ---*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_RANGES_ANALYSIS_INPUTRANGES_H
#define MPOPT_RANGES_ANALYSIS_INPUTRANGES_H

#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace mpopt {

/// What an integer input that nobody describes may hold.
struct IntegerInput {
  /// Negative indices, which count from the end, included.
  Interval bound;
  /// What one expects to be given, uniformly; nothing where the input may count
  /// anything.
  std::optional<Interval> expected;
  /// `picks one of 30522 rows of w`, `is one of 10 classes`, `all of i64`.
  std::string why;
};

/// From what the input indexes, else from its type.
IntegerInput describeInteger(mlir::BlockArgument input);

/// The value of a function's argument: what `assume` (`mp.assume`, may be null)
/// says, else what its dtype and its users say.
AbstractValue inputRange(mlir::BlockArgument input,
                         mlir::DictionaryAttr assume);

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_INPUTRANGES_H
