//===- InputFile.h - The bytes of a file that a user named
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_INPUTFILE_H
#define MPOPT_SUPPORT_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>

namespace mpopt {

/// Largest input from a pipe, in bytes: the size limit of a protobuf.
constexpr uint64_t kMaxStreamBytes = uint64_t(2) << 30;

/// A regular file is mapped, without a null terminator (for which LLVM would
/// copy a file of whole pages). A pipe is read to its end. Refused, with a text
/// such as `is a directory`: folders; devices, since /dev/zero has no end; a
/// pipe that nobody opened for writing, and more than `maxStreamBytes` from
/// one. `-` is standard input.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readInputFile(llvm::StringRef path, uint64_t maxStreamBytes = kMaxStreamBytes);

} // namespace mpopt

#endif // MPOPT_SUPPORT_INPUTFILE_H
