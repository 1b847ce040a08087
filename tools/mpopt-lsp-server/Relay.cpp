//===- Relay.cpp - Between an editor and MLIR's server
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Relay.h"

#include "llvm/Support/LSP/Transport.h"
#include "llvm/Support/thread.h"

#include <cerrno>
#include <cstdio>
#include <unistd.h>

using namespace mpopt;

/// Parsers and rules recurse, which a thread's own stack may be too small for.
static constexpr std::optional<unsigned> kStackBytes = 64 << 20;

namespace {
/// Reads messages and hands them on, until there are no more.
struct Direction {
  FILE *from, *to;

  template <typename F> void run(F translate) {
    llvm::lsp::JSONTransportInputOverFile input(from);
    while (!input.isEndOfInput() && !input.hasError()) {
      std::string message;
      if (failed(input.readMessage(message)))
        continue;
      std::optional<std::string> translated = translate(std::move(message));
      if (!translated)
        continue;
      fprintf(to, "Content-Length: %zu\r\n\r\n", translated->size());
      fwrite(translated->data(), 1, translated->size(), to);
      fflush(to);
    }
    fclose(to);
  }
};
} // namespace

llvm::Expected<int> mpopt::relay(Documents &documents,
                                 llvm::function_ref<int()> serve) {
  int toServer[2], fromServer[2];
  int editorIn = dup(STDIN_FILENO), editorOut = dup(STDOUT_FILENO);
  if (editorIn < 0 || editorOut < 0 || pipe(toServer) || pipe(fromServer) ||
      dup2(toServer[0], STDIN_FILENO) < 0 ||
      dup2(fromServer[1], STDOUT_FILENO) < 0)
    return llvm::createStringError(
        std::error_code(errno, std::generic_category()),
        "no pipe to MLIR's server");
  // The ends that the server has under other numbers.
  close(toServer[0]);
  close(fromServer[1]);

  Direction forth{fdopen(editorIn, "rb"), fdopen(toServer[1], "wb")};
  Direction back{fdopen(fromServer[0], "rb"), fdopen(editorOut, "wb")};
  llvm::thread editor(kStackBytes, [forth, &documents]() mutable {
    forth.run([&](std::string message) {
      return documents.fromEditor(std::move(message));
    });
  });
  editor.detach();
  llvm::thread server(kStackBytes, [back, &documents]() mutable {
    back.run([&](std::string message) -> std::optional<std::string> {
      return documents.fromServer(std::move(message));
    });
  });
  int result = serve();
  // The last end of the pipe: the thread sees that there is no more.
  close(STDOUT_FILENO);
  server.join();
  return result;
}
