//===- Effort.h - How much an analysis may cost -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_RANGES_ANALYSIS_EFFORT_H
#define MPOPT_RANGES_ANALYSIS_EFFORT_H

#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// Set on a module (unit): bounds may cost ten times as much, and boxes of
/// inputs are split.
inline constexpr llvm::StringLiteral kHighEffortAttr = "mp.high_effort";

} // namespace mpopt

#endif // MPOPT_RANGES_ANALYSIS_EFFORT_H
