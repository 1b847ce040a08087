//===- Spelling.h - Words that are nearly right -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_SPELLING_H
#define MPOPT_SUPPORT_SPELLING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpopt {

/// The edits that may lie between what was typed and what was meant: a letter
/// that is wrong, and one that is missing.
inline constexpr unsigned kMostEdits = 2;

/// The word of `known` that `word` is likely to stand for: the nearest one
/// within `kMostEdits`, else the first that begins with it. Empty if none is
/// near.
llvm::StringRef findNearest(llvm::StringRef word,
                            llvm::ArrayRef<llvm::StringRef> known);

/// `; did you mean 'NAME'?`, or nothing.
std::string suggestNearest(llvm::StringRef word,
                           llvm::ArrayRef<llvm::StringRef> known);

} // namespace mpopt

#endif // MPOPT_SUPPORT_SPELLING_H
