//===- Diagnostics.h - Findings as an editor shows them ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_TOOLS_MPOPT_LSP_SERVER_DIAGNOSTICS_H
#define MPOPT_TOOLS_MPOPT_LSP_SERVER_DIAGNOSTICS_H

#include "mpopt/Driver/Options.h"

#include "llvm/Support/JSON.h"

namespace mpopt {

/// Brackets of a text that nest deeper are not given to any parser.
inline constexpr unsigned kMostNesting = 256;

/// Diagnostics of the Language Server Protocol for the modules of `text`, which
/// lines `// -----` separate: one a finding, or one for a module that cannot be
/// checked. The finding's rule is the `code`, its causes are the related
/// information. `uri` and `path` both name the file.
llvm::json::Array diagnose(const Options &options, llvm::StringRef text,
                           llvm::StringRef uri, llvm::StringRef path);

/// The one diagnostic of a text that nests too deep.
llvm::json::Array refuse();

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_LSP_SERVER_DIAGNOSTICS_H
