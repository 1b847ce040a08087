//===- Keys.h - Words of our JSON that are ops, too -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys of our JSON that are also names of ops; scripts that look for quoted op
// names skip this file. Other keys are written where they are used.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPORT_KEYS_H
#define MPOPT_REPORT_KEYS_H

#include "llvm/ADT/StringRef.h"

namespace mpopt::keys {

/// Keys and words of reports that several files write or read.
inline constexpr llvm::StringLiteral kCast = "cast";
inline constexpr llvm::StringLiteral kCodes = "codes"; // of integers
inline constexpr llvm::StringLiteral kConstant = "constant";
inline constexpr llvm::StringLiteral kGradient = "gradient";
inline constexpr llvm::StringLiteral kLog = "log"; // of the TorchScript helper
inline constexpr llvm::StringLiteral kLog2 = "log2"; // of a loss scale
inline constexpr llvm::StringLiteral kLossScale = "loss_scale";
inline constexpr llvm::StringLiteral kMax = "max";
inline constexpr llvm::StringLiteral kMin = "min";
inline constexpr llvm::StringLiteral kRange = "range"; // of an assumption
inline constexpr llvm::StringLiteral kShape = "shape";
inline constexpr llvm::StringLiteral kStd = "std";

} // namespace mpopt::keys

#endif // MPOPT_REPORT_KEYS_H
