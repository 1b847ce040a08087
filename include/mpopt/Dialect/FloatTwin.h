//===- FloatTwin.h - What the float model says of a quantised one -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_FLOATTWIN_H
#define MPOPT_DIALECT_FLOATTWIN_H

#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// On an op, the name of a rectifier: the float model rectifies the op's
/// result, and this model does not.
inline constexpr llvm::StringLiteral kLostRectifierAttr = "mp.lost_rectifier";

/// On the op that dequantises a constant: the mean square of its differences
/// from the float model's weights.
inline constexpr llvm::StringLiteral kWeightErrorAttr = "mp.weight_error";

} // namespace mpopt

#endif // MPOPT_DIALECT_FLOATTWIN_H
