//===- WeightStore.cpp - Bytes of weights, mapped on demand
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Support/WeightStore.h"

#include "mpopt/Support/InputFile.h"

using namespace mpopt;

llvm::Expected<llvm::ArrayRef<char>>
WeightStore::bytes(llvm::StringRef file, int64_t offset, int64_t length) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<llvm::MemoryBuffer> &buffer = files[file];
  if (!buffer) {
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> opened =
        readInputFile(file, /*maxStreamBytes=*/0);
    if (!opened) {
      std::error_code code;
      std::string why;
      llvm::handleAllErrors(opened.takeError(), [&](llvm::ErrorInfoBase &info) {
        code = info.convertToErrorCode();
        why = info.message();
      });
      return llvm::createStringError(code, "weights in '" + file +
                                               "': the file " + why);
    }
    buffer = std::move(*opened);
  }
  uint64_t size = buffer->getBufferSize();
  if (offset < 0 || length < 0 || uint64_t(offset) > size ||
      uint64_t(length) > size - uint64_t(offset))
    return llvm::createStringError(
        std::make_error_code(std::errc::invalid_argument),
        "'" + file + "' is too short: weights end at byte " +
            llvm::Twine(uint64_t(offset) + uint64_t(length)) + " of " +
            llvm::Twine(size));
  return llvm::ArrayRef<char>(buffer->getBufferStart() + offset, length);
}
