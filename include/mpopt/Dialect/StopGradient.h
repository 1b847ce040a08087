//===- StopGradient.h - Values that end the gradient ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_STOPGRADIENT_H
#define MPOPT_DIALECT_STOPGRADIENT_H

#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// On an mp.identity: no gradient passes it (PyTorch's `detach`).
inline constexpr llvm::StringLiteral kStopsGradientAttr = "mp.stops_gradient";

} // namespace mpopt

#endif // MPOPT_DIALECT_STOPGRADIENT_H
