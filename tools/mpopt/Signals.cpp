//===- Signals.cpp - Ends that no return value tells
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Model and weights are mapped: where another program cuts such a file short,
// reading it raises SIGBUS. Other crashes are mpopt's own faults. They are
// caught in builds for users only: a debugger or a sanitizer is shown the real
// thing.
//
//===----------------------------------------------------------------------===//

#include "Signals.h"

#include "mpopt/Driver/Actions.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"

#include <csignal>
#include <fcntl.h>
#include <new>
#include <unistd.h>

// Only what POSIX allows in a handler.
[[noreturn]] static void endWith(llvm::StringRef line) {
  ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  (void)written;
  llvm::sys::RunInterruptHandlers();
  ::_exit(mpopt::kFault);
}

static void endWithFault(int signal) {
  endWith(signal == SIGBUS
              ? "mpopt: error: a file became shorter while it was read\n"
              : "mpopt: error: internal error: mpopt crashed on this input; "
                "please report it\n");
}

static void endWithoutMemory() { endWith("mpopt: error: out of memory\n"); }

static void handle(int signal) {
  struct sigaction action = {};
  action.sa_handler = endWithFault;
  // A stack that overflowed cannot run its own handler.
  action.sa_flags = SA_ONSTACK | SA_RESETHAND;
  ::sigaction(signal, &action, nullptr);
}

void mpopt::installSignalHandlers() {
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) < 0)
      // The lowest free number is this one. Read-only: what is written to a
      // closed stream is an error, not lost.
      (void)::open("/dev/null", O_RDONLY);
  std::signal(SIGPIPE, SIG_IGN);
  // LLVM installs its handlers with the first file to remove, and a stack for
  // them; they would replace these.
  llvm::sys::RemoveFileOnSignal("");
  llvm::sys::DontRemoveFileOnSignal("");
  std::set_new_handler(endWithoutMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { endWithoutMemory(); });
  handle(SIGBUS);
#ifdef NDEBUG
  for (int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL})
    handle(signal);
#endif
}
