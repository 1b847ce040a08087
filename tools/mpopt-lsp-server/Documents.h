//===- Documents.h - The files that an editor has open ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's server knows hover, definitions and completion, and has no place for
// findings of others. So it is given every message of the editor, of which the
// texts are kept here, and what it publishes about a text gets findings added.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_TOOLS_MPOPT_LSP_SERVER_DOCUMENTS_H
#define MPOPT_TOOLS_MPOPT_LSP_SERVER_DOCUMENTS_H

#include "mpopt/Driver/Options.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

#include <functional>
#include <mutex>

namespace mpopt {

/// Both members that take a message may be called from threads of their own.
class Documents {
public:
  /// `getOptions` is asked when a text is checked.
  explicit Documents(std::function<Options()> getOptions)
      : getOptions(std::move(getOptions)) {}

  /// The message that MLIR's server is given for one of the editor; none for
  /// what is no message of the protocol.
  std::optional<std::string> fromEditor(std::string message);

  /// The message that the editor is given for one of MLIR's server.
  std::string fromServer(std::string message);

private:
  struct Document {
    int64_t version = 0;
    std::string text;
    /// MLIR's server was given an empty text instead.
    bool refused = false;
  };

  /// Keeps the text; true if it was replaced.
  bool keep(llvm::StringRef path, int64_t version, std::string &text);

  std::function<Options()> getOptions;
  std::mutex mutex;
  /// By path.
  llvm::StringMap<Document> open;
};

} // namespace mpopt

#endif // MPOPT_TOOLS_MPOPT_LSP_SERVER_DOCUMENTS_H
