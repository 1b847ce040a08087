//===- Output.cpp - Files that are whole or not there
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

using namespace mpopt;
using llvm::Error;
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

Error mpopt::writeOutput(StringRef file,
                         llvm::function_ref<void(llvm::raw_ostream &)> write) {
  if (file == "-")
    return writeStdout(write);
  // What is no plain file (/dev/null, a pipe) cannot be replaced by one.
  fs::file_status status;
  bool isSpecial =
      !fs::status(file, status) && status.type() != fs::file_type::regular_file;
  if (isSpecial && status.type() == fs::file_type::directory_file)
    return cannotWrite(file, std::make_error_code(std::errc::is_a_directory));

  llvm::SmallString<128> name(file);
  int descriptor;
  std::error_code code =
      isSpecial ? fs::openFileForWrite(file, descriptor)
                : fs::createUniqueFile(file + ".%%%%%%.tmp", descriptor, name,
                                       fs::OF_None, 0666);
  if (code)
    return cannotWrite(file, code);
  if (!isSpecial)
    llvm::sys::RemoveFileOnSignal(name);
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    write(out);
    out.close();
    code = out.error();
    out.clear_error();
  }
  if (!code && !isSpecial)
    code = fs::rename(name, file);
  if (code && !isSpecial)
    (void)fs::remove(name);
  if (!isSpecial)
    llvm::sys::DontRemoveFileOnSignal(name);
  if (!code || (isSpecial && code == std::errc::broken_pipe))
    return Error::success();
  return cannotWrite(file, code);
}

bool mpopt::wantsColor(StringRef file) {
  std::optional<std::string> noColor = llvm::sys::Process::GetEnv("NO_COLOR");
  if (file != "-" || (noColor && !noColor->empty()))
    return false;
  std::optional<std::string> term = llvm::sys::Process::GetEnv("TERM");
  return llvm::sys::Process::StandardOutIsDisplayed() && term &&
         *term != "dumb";
}

void mpopt::printError(const Twine &text) {
  std::string line = text.str();
  llvm::replace(line, '\n', ' ');
  llvm::errs() << "mpopt: error: " << StringRef(line).rtrim() << '\n';
}
