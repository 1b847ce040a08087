//===- PatternSize.h - What a regular expression takes ----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_PATTERNSIZE_H
#define MPOPT_TOOLS_MPOPT_PATTERNSIZE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mpopt {

/// About how many states a pattern compiles to: LLVM's compiler writes what
/// `{1,200}` repeats 200 times, and such repeats inside each other multiply.
uint64_t estimatePatternSize(llvm::StringRef pattern);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_PATTERNSIZE_H
