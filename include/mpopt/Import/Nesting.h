//===- Nesting.h - Nesting depth of brackets in a text ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_IMPORT_NESTING_H
#define MPOPT_IMPORT_NESTING_H

#include "llvm/ADT/StringRef.h"

namespace mpopt {

/// True if brackets (round, square, curly, pointed), or + - * with no bracket
/// or comma between them, nest deeper than `limit`, outside strings and `//`
/// comments: guards the stack of a recursive parser.
bool exceedsNesting(llvm::StringRef text, unsigned limit);

} // namespace mpopt

#endif // MPOPT_IMPORT_NESTING_H
