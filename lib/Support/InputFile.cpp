//===- InputFile.cpp - The bytes of a file that a user named
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/InputFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpopt;
using llvm::Expected;
using llvm::MemoryBuffer;
using llvm::StringRef;

using Buffer = std::unique_ptr<MemoryBuffer>;

static std::error_code lastError() {
  return std::error_code(errno, std::generic_category());
}

static llvm::Error unreadable(std::error_code code) {
  return llvm::createStringError(code, "cannot be read: " + code.message());
}

static llvm::Error refuse(std::errc code, const llvm::Twine &why) {
  return llvm::createStringError(std::make_error_code(code), why);
}

// A pipe without a writer never ends and never gives a byte. One that was
// opened may be slow: `<(python export.py)`. What had to be read goes to
// `bytes`.
static bool hasWriter(int descriptor, llvm::SmallVectorImpl<char> &bytes) {
  constexpr int kPatience = 2000; // milliseconds
  pollfd poll = {descriptor, POLLIN, 0};
  if (::poll(&poll, 1, kPatience) != 0)
    return true;
  char byte;
  ssize_t got = ::read(descriptor, &byte, 1);
  if (got > 0)
    bytes.push_back(byte);
  // 0 is no writer, an error (EAGAIN) is a silent one.
  return got != 0;
}

static Expected<Buffer> readStream(int descriptor, StringRef path,
                                   llvm::SmallVector<char, 0> bytes,
                                   uint64_t maxBytes) {
  // Bytes of a read: the capacity of a pipe (pipe(7)).
  constexpr size_t kChunk = 1 << 16;
  while (true) {
    size_t size = bytes.size();
    if (size > maxBytes)
      return refuse(std::errc::file_too_large,
                    "gives more than " + llvm::Twine(maxBytes >> 20) +
                        " MiB, which a pipe may not: name a file");
    bytes.resize_for_overwrite(size + kChunk);
    ssize_t got = llvm::sys::RetryAfterSignal(-1, ::read, descriptor,
                                              bytes.data() + size, kChunk);
    if (got < 0)
      return unreadable(lastError());
    bytes.truncate(size + got);
    if (got == 0)
      return std::make_unique<llvm::SmallVectorMemoryBuffer>(
          std::move(bytes), path, /*RequiresNullTerminator=*/false);
  }
}

Expected<Buffer> mpopt::readInputFile(StringRef path, uint64_t maxStreamBytes) {
  bool isStdin = path == "-";
  // Without O_NONBLOCK the open itself would wait for a pipe's writer.
  int descriptor =
      isStdin ? ::dup(STDIN_FILENO)
              : ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return unreadable(lastError());
  llvm::scope_exit close([&] { ::close(descriptor); });
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return unreadable(lastError());

  if (S_ISREG(status.st_mode)) {
    // Standard input may have been read in part: it is not mapped.
    if (isStdin)
      return readStream(descriptor, path, {}, UINT64_MAX);
    auto buffer = MemoryBuffer::getOpenFile(
        llvm::sys::fs::convertFDToNativeFile(descriptor), path,
        uint64_t(status.st_size), /*RequiresNullTerminator=*/false);
    if (std::error_code error = buffer.getError())
      return unreadable(error);
    return std::move(*buffer);
  }
  if (S_ISDIR(status.st_mode))
    return refuse(std::errc::is_a_directory, "is a directory");
  if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode))
    return refuse(std::errc::invalid_argument, "is a device, not a file");
  llvm::SmallVector<char, 0> bytes;
  if (!isStdin) {
    if (!hasWriter(descriptor, bytes))
      return refuse(std::errc::invalid_argument,
                    "is a pipe that nothing writes to");
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  }
  return readStream(descriptor, path, std::move(bytes), maxStreamBytes);
}
