//===- Relay.h - Between an editor and MLIR's server ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TOOLS_MPOPT_LSP_SERVER_RELAY_H
#define MPOPT_TOOLS_MPOPT_LSP_SERVER_RELAY_H

#include "Documents.h"

#include "llvm/Support/Error.h"

namespace mpopt {

/// Puts `documents` between the editor, on standard input and output, and
/// `serve`, which sees pipes there, in this process. Returns what `serve` does,
/// as soon as the editor was told everything. A thread that waits for the
/// editor is left behind: the caller ends the process, and `documents` lives
/// as long.
llvm::Expected<int> relay(Documents &documents,
                          llvm::function_ref<int()> serve);

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_LSP_SERVER_RELAY_H
