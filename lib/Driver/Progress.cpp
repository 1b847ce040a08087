//===- Progress.cpp - A line that says what takes long --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/Progress.h"

#include "mpopt/Support/Printable.h"

#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

using namespace mpopt;
using Clock = std::chrono::steady_clock;

// Narrower terminals are treated as this wide: a shorter line says nothing.
static constexpr unsigned kLeastColumns = 20;

struct Progress::Line {
  std::mutex mutex;
  std::condition_variable changed;
  std::string text; ///< Empty between steps.
  Clock::time_point start;
  bool shown = false, done = false;
  // Last: it reads what is above.
  std::thread thread{[this] { run(); }};

  void run() {
    std::unique_lock lock(mutex);
    while (!done) {
      changed.wait_for(lock, std::chrono::seconds(1));
      auto passed = Clock::now() - start;
      if (!done && !text.empty() && passed >= std::chrono::seconds(1))
        write(std::chrono::duration_cast<std::chrono::seconds>(passed).count());
    }
  }

  void write(long seconds) {
    std::string time = " ... " + std::to_string(seconds) + " s";
    unsigned columns = llvm::sys::Process::StandardErrColumns();
    columns = std::max(columns ? columns - 1 : 79, kLeastColumns);
    llvm::StringRef head(text);
    head = head.take_front(columns - time.size());
    llvm::errs() << '\r' << head << time << "\033[K";
    llvm::errs().flush();
    shown = true;
  }

  void erase() {
    if (shown)
      llvm::errs() << "\r\033[K";
    llvm::errs().flush();
    shown = false;
  }
};

Progress::Progress(bool quiet) {
  if (!quiet && llvm::sys::Process::StandardErrIsDisplayed())
    line = std::make_unique<Line>();
}

Progress::~Progress() {
  if (!line)
    return;
  {
    std::lock_guard lock(line->mutex);
    line->done = true;
    line->erase();
  }
  line->changed.notify_one();
  line->thread.join();
}

void Progress::show(llvm::StringRef text) {
  if (!line)
    return;
  std::lock_guard lock(line->mutex);
  line->text = printable(text);
  line->start = Clock::now();
}

void Progress::clear() {
  if (!line)
    return;
  std::lock_guard lock(line->mutex);
  line->text.clear();
  line->erase();
}
