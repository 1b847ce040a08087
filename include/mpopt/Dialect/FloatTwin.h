//===- FloatTwin.h - What the float model says of a quantised one -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_FLOATTWIN_H
#define MPOPT_DIALECT_FLOATTWIN_H

#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// On an op, the name of a rectifier: the float model rectifies the op's
/// result, and this model does not.
inline constexpr llvm::StringLiteral kLostRectifierAttr = "mp.lost_rectifier";

/// On the op that dequantises a constant, on a product with codes in blocks and
/// on codes that a product of codes reads: the mean square of the differences
/// from the float model's numbers.
inline constexpr llvm::StringLiteral kWeightErrorAttr = "mp.weight_error";

/// On the same ops, where no quantisation explains the difference: the float
/// model's tensor, the factor that fits best and the share of the square that
/// no factor gives back ({name = "w", factor = 1.0, rest = 0.0}).
inline constexpr llvm::StringLiteral kForeignConstantAttr =
    "mp.foreign_constant";

} // namespace mpopt

#endif // MPOPT_DIALECT_FLOATTWIN_H
