//===- Printable.h - Names of a model on a terminal -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_PRINTABLE_H
#define MPOPT_SUPPORT_PRINTABLE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpopt {

/// `text` as part of one line: valid UTF-8, with an escape (`\n`, `\x1b`,
/// `\u202e`) for each character that would end the line, steer a terminal or
/// turn the direction of what follows. A model may call a node anything.
std::string printable(llvm::StringRef text);

} // namespace mpopt

#endif // MPOPT_SUPPORT_PRINTABLE_H
