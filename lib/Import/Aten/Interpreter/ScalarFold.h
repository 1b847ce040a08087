//===- ScalarFold.h - Python's arithmetic on what is known ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By the names of ops without their namespace. Nothing where the op is none of
// these or the interpreter would raise.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_INTERPRETER_SCALARFOLD_H
#define MPOPT_LIB_IMPORT_ATEN_INTERPRETER_SCALARFOLD_H

#include "Item.h"

namespace mpopt::aten::fold {

/// The op's result for static numbers; nothing if it is not folded.
std::optional<Item> unary(llvm::StringRef op, const Item &x);
std::optional<Item> binary(llvm::StringRef op, const Item &lhs,
                           const Item &rhs);
/// The same for strings or devices.
std::optional<Item> strings(llvm::StringRef op, const Item &lhs,
                            const Item &rhs);
/// True if two lists of static items are equal; nothing if an item is unknown.
std::optional<bool> equalLists(const Item &lhs, const Item &rhs);

} // namespace mpopt::aten::fold

#endif // MPOPT_LIB_IMPORT_ATEN_INTERPRETER_SCALARFOLD_H
