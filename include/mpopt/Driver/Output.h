//===- Output.h - Files that are written whole or not at all ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_DRIVER_OUTPUT_H
#define MPOPT_DRIVER_OUTPUT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <utility>

namespace mpopt {

/// True if the file is `-`, a device, a pipe or a name of an open file: output
/// to it cannot be undone.
bool isStream(llvm::StringRef file);

/// A temporary file beside the file that it replaces on `keep`, so that a
/// reader never sees half of it and a failure leaves the old content. The next
/// run for the same file removes temporary files that killed runs have left.
class PendingOutput {
public:
  /// Runs `write` on a temporary file for `file`. If `file` is a stream, the
  /// output goes to it at once.
  static llvm::Expected<PendingOutput>
  write(llvm::StringRef file,
        llvm::function_ref<void(llvm::raw_ostream &)> write);
  PendingOutput(PendingOutput &&other)
      : file(std::move(other.file)),
        temporary(std::exchange(other.temporary, {})),
        lock(std::exchange(other.lock, -1)) {}
  PendingOutput &operator=(PendingOutput &&) = delete;
  /// Removes the temporary file unless it was kept.
  ~PendingOutput();

  llvm::Error keep();

  /// Where it is until then; empty for a stream.
  const std::string &path() const { return temporary; }

private:
  PendingOutput(llvm::StringRef file, llvm::StringRef temporary)
      : file(file), temporary(temporary) {}

  std::string file, temporary;
  int lock = -1; ///< says that the temporary file is in use
};

/// Runs `write` on `file` (`-`: standard output) and keeps it.
llvm::Error writeOutput(llvm::StringRef file,
                        llvm::function_ref<void(llvm::raw_ostream &)> write);

/// When text is coloured. `Auto`: on a terminal, unless NO_COLOR is set.
enum class ColorChoice { Auto, Always, Never };

/// True if text for `file` should be coloured.
bool wantsColor(llvm::StringRef file, ColorChoice choice = ColorChoice::Auto);

/// After this warnings are not printed.
void silenceWarnings();

/// Print `mpopt: error: TEXT` and `mpopt: warning: TEXT` to standard error, as
/// one line with unprintable characters escaped.
void printError(const llvm::Twine &text);
void printWarning(const llvm::Twine &text);

} // namespace mpopt

#endif // MPOPT_DRIVER_OUTPUT_H
