//===- Options.h - What the user asked for
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line, parsed and checked as far as it can be without a model.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_OPTIONS_H
#define MPOPT_TOOLS_MPOPT_OPTIONS_H

#include "mpopt/Driver/Options.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mpopt {

/// The error is one line.
llvm::Expected<Options> parseOptions(int argc, char **argv);

/// Prints `--help TOPIC`, all of it for an empty topic.
llvm::Error printHelp(llvm::raw_ostream &os, llvm::StringRef topic);

/// Prints the script by which `shell` (bash, zsh, fish) completes options.
void printCompletion(llvm::raw_ostream &os, llvm::StringRef shell);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_OPTIONS_H
