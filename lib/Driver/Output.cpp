//===- Output.cpp - Files that are whole or not there
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Driver/Output.h"

#include "mpopt/Support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

#include <climits>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpopt;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
namespace fs = llvm::sys::fs;

static Error cannotWrite(StringRef file, std::error_code code) {
  return llvm::createStringError("cannot write '" + file.str() +
                                 "': " + code.message());
}

static Error writeStdout(llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::raw_fd_ostream &out = llvm::outs();
  write(out);
  out.flush();
  if (std::error_code code = out.error()) {
    out.clear_error();
    // The reader went away (`mpopt ... | head`): its choice.
    if (code == std::errc::broken_pipe)
      return Error::success();
    return cannotWrite("standard output", code);
  }
  return Error::success();
}

/// True for names under which systems offer open files: renaming something to
/// one would replace the name.
static bool namesOpenFile(StringRef file) {
  return file.starts_with("/dev/std") || file.starts_with("/dev/fd/") ||
         file.starts_with("/proc/");
}

bool mpopt::isStream(StringRef file) {
  fs::file_status status;
  return file == "-" || namesOpenFile(file) ||
         (!fs::status(file, status) &&
          status.type() != fs::file_type::regular_file &&
          status.type() != fs::file_type::directory_file);
}

static std::error_code
fill(int descriptor, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  write(out);
  out.close();
  std::error_code code = out.error();
  out.clear_error();
  return code;
}

static Error writeStream(StringRef file,
                         llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (file == "-")
    return writeStdout(write);
  int descriptor;
  std::error_code code = fs::openFileForWrite(
      file, descriptor, fs::CD_OpenExisting, fs::OF_Append);
  if (!code)
    code = fill(descriptor, write);
  if (!code || code == std::errc::broken_pipe)
    return Error::success();
  return cannotWrite(file, code);
}

// A file is written beside its place first, under a name that is no longer than
// names can be.
static constexpr StringRef kUnique = "%%%%%%", kEnding = ".tmp";

static std::string makePrefix(StringRef file) {
  return (llvm::sys::path::filename(file).take_front(200) + ".").str();
}

/// Removes the temporary files of killed runs: no process holds their locks.
static void removeStale(StringRef folder, StringRef prefix) {
  std::error_code code;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, code), end;
       !code && entry != end; entry.increment(code)) {
    StringRef unique = llvm::sys::path::filename(entry->path());
    if (!unique.consume_front(prefix) || !unique.consume_back(kEnding) ||
        unique.size() != kUnique.size() ||
        !llvm::all_of(unique, llvm::isHexDigit))
      continue;
    // A pipe of that name would wait for its writer.
    int descriptor = ::open(entry->path().c_str(),
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
      continue;
    struct stat status;
    if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
        ::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      ::unlink(entry->path().c_str());
    ::close(descriptor);
  }
}

/// Creates a file beside `file`, of which `lock` is a descriptor that holds its
/// lock.
static std::error_code createBeside(StringRef file, int &descriptor, int &lock,
                                    llvm::SmallString<128> &temporary) {
  StringRef folder = llvm::sys::path::parent_path(file);
  std::string prefix = makePrefix(file);
  removeStale(folder, prefix);
  llvm::SmallString<128> pattern(folder);
  llvm::sys::path::append(pattern, prefix + kUnique + kEnding);
  while (true) {
    if (std::error_code code = fs::createUniqueFile(
            pattern, descriptor, temporary, fs::OF_None, 0666))
      return code;
    lock = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    struct stat status;
    // Another run may have taken it for stale before it was locked.
    if (lock < 0 || ::flock(lock, LOCK_EX) != 0 ||
        ::fstat(lock, &status) != 0 || status.st_nlink > 0)
      return {};
    ::close(lock);
    ::close(descriptor);
  }
}

/// The file that a name stands for through links, which may not be there yet.
static std::string followLinks(StringRef file) {
  llvm::SmallString<128> path(file);
  constexpr int kMostLinks = 40; // as many as Linux follows
  char target[PATH_MAX];
  for (int link = 0; link < kMostLinks; ++link) {
    ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length < 0)
      break;
    StringRef to(target, size_t(length));
    if (llvm::sys::path::is_absolute(to))
      path.clear();
    else
      llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, to);
  }
  return path.str().str();
}

Expected<PendingOutput>
PendingOutput::write(StringRef name,
                     llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (isStream(name)) {
    if (Error error = writeStream(name, write))
      return std::move(error);
    return PendingOutput("", "");
  }
  std::string file = followLinks(name);
  fs::file_status status;
  std::error_code code = fs::status(file, status);
  if (!code && status.type() == fs::file_type::directory_file)
    code = std::make_error_code(std::errc::is_a_directory);
  else if (code == std::errc::no_such_file_or_directory)
    code = {};
  int descriptor, lock;
  llvm::SmallString<128> temporary;
  if (!code)
    code = createBeside(file, descriptor, lock, temporary);
  if (code)
    return cannotWrite(name, code);
  llvm::sys::RemoveFileOnSignal(temporary);
  PendingOutput made(file, temporary);
  made.lock = lock;
  if (std::error_code code = fill(descriptor, write))
    return cannotWrite(name, code);
  return made;
}

PendingOutput::~PendingOutput() {
  if (lock >= 0)
    ::close(lock);
  if (temporary.empty())
    return;
  (void)fs::remove(temporary);
  llvm::sys::DontRemoveFileOnSignal(temporary);
}

Error PendingOutput::keep() {
  if (temporary.empty())
    return Error::success();
  if (std::error_code code = fs::rename(temporary, file))
    return cannotWrite(file, code);
  llvm::sys::DontRemoveFileOnSignal(temporary);
  temporary.clear();
  return Error::success();
}

Error mpopt::writeOutput(StringRef file,
                         llvm::function_ref<void(llvm::raw_ostream &)> write) {
  Expected<PendingOutput> pending = PendingOutput::write(file, write);
  return pending ? pending->keep() : pending.takeError();
}

bool mpopt::wantsColor(StringRef file, ColorChoice choice) {
  if (choice != ColorChoice::Auto)
    return choice == ColorChoice::Always;
  if (file != "-" ||
      !llvm::sys::Process::GetEnv("NO_COLOR").value_or("").empty())
    return false;
  std::string forced = llvm::sys::Process::GetEnv("FORCE_COLOR").value_or("0");
  if (!forced.empty() && forced != "0")
    return true;
  std::optional<std::string> term = llvm::sys::Process::GetEnv("TERM");
  return llvm::sys::Process::StandardOutIsDisplayed() && term &&
         *term != "dumb";
}

/// The text with its middle left out if it is long: it may repeat an argument
/// or a name in a file of any length.
static std::string abridge(StringRef text) {
  // Lists of correct values have a thousand characters; with the prefix of the
  // line less than 2,000 in all, the limit of test/fuzz/fuzz_readers.py.
  constexpr size_t kHead = 1500, kTail = 400;
  std::string head = printable(text.take_front(kHead + kTail));
  if (text.size() <= kHead + kTail && head.size() <= kHead + kTail)
    return head;
  std::string tail = printable(text.take_back(kTail));
  return head.substr(0, kHead) + " ... " + tail.substr(tail.size() - kTail);
}

// Space at the end of the text, such as a parser's newline, is not printed.
static void printLine(StringRef kind, const Twine &text) {
  llvm::errs() << "mpopt: " << kind << ": "
               << abridge(StringRef(text.str()).rtrim()) << '\n';
}

void mpopt::printError(const Twine &text) { printLine("error", text); }

static bool warningsAreSilent = false;

void mpopt::silenceWarnings() { warningsAreSilent = true; }

void mpopt::printWarning(const Twine &text) {
  if (!warningsAreSilent)
    printLine("warning", text);
}
