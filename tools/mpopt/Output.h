//===- Output.h - Files that are whole or not there
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_OUTPUT_H
#define MPOPT_TOOLS_MPOPT_OUTPUT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mpopt {

/// Runs `write` on `file` (`-`: standard output). A file is written under
/// another name and renamed at the end, so that a reader never sees half of it
/// and a failure leaves what was there.
llvm::Error writeOutput(llvm::StringRef file,
                        llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Whether text for standard output should be coloured: it is a terminal, and
/// NO_COLOR is not set.
bool wantsColor(llvm::StringRef file);

/// `mpopt: error: TEXT`, one line whatever is in `text`.
void printError(const llvm::Twine &text);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_OUTPUT_H
