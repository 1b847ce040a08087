//===- EinsumSupport.h - Equations of sums of products ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DIALECT_EINSUMSUPPORT_H
#define MPOPT_DIALECT_EINSUMSUPPORT_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mpopt {

/// Labels of each operand and of the result; '.' stands for an ellipsis.
struct EinsumEquation {
  llvm::SmallVector<std::string> operands;
  std::string result;

  /// Parses `ij,jk->ik`; nothing if `text` is malformed.
  static std::optional<EinsumEquation> parse(llvm::StringRef text);
};

} // namespace mpopt

#endif // MPOPT_DIALECT_EINSUMSUPPORT_H
