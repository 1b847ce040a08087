//===- InputRanges.h - What is taken for granted about inputs ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_ANALYSIS_INPUTRANGES_H
#define MPOPT_RANGES_ANALYSIS_INPUTRANGES_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Numerics/Interval.h"
#include "mpopt/Ranges/Value/AbstractValue.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mpopt {

/// A key of `mp.assume` (RangeAnalysis.h): the input is a mask of zeros and
/// ones (unit).
inline constexpr llvm::StringLiteral kMaskKey = "mask";
/// Another: the floats are whole numbers, as those of a mask are (unit).
inline constexpr llvm::StringLiteral kIntegralKey = "integral";
/// Beside `lo_elements` and `hi_elements`, of their shape: the moments of the
/// elements that a bound is for.
inline constexpr llvm::StringLiteral kMeanElementsKey = "mean_elements",
                                     kStdElementsKey = "std_elements";

/// Samples of a float input, a dense f32 tensor: with one axis more than the
/// input in front, or one behind the other along the input's first axis.
inline constexpr llvm::StringLiteral kSamplesKey = "samples";

/// The values that an undescribed integer input may hold.
struct IntegerInput {
  /// The possible values, with the negative indices that count from the end.
  Interval bound;
  /// The expected values, equally probable; nothing where the input may count
  /// anything.
  std::optional<Interval> expected;
  /// The reason: `picks one of 30522 rows of w`, `is one of 10 classes`, `all
  /// of i64`.
  std::string why;
  /// 0 or 1; expected is the one that masks nothing.
  bool isMask = false;
};

/// The values by the tensor that the input indexes, else by its use as a mask,
/// else by its type.
IntegerInput describeInteger(mlir::BlockArgument input);

/// `mp.assume` of a function's argument; null without it, and for other values.
mlir::DictionaryAttr getAssumption(mlir::Value input);

/// The value of a function's argument as `assume` (may be null) describes it,
/// else by its dtype and its users.
AbstractValue inputRange(mlir::BlockArgument input,
                         mlir::DictionaryAttr assume);

/// The elements of the integer inputs that are assumed to hold one number;
/// nothing if none is.
std::optional<ShapeFacts> findAssumedElements(mlir::FunctionOpInterface);

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_INPUTRANGES_H
