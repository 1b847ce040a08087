//===- ZipFile.h - Members of a zip archive in memory -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The container of .npz files and of PyTorch's archives. Reads nothing outside
// the bytes that it is given, and unpacks nothing by itself.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ZIPFILE_H
#define MPOPT_SUPPORT_ZIPFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpopt {

struct ZipMember {
  std::string name;
  uint16_t method;       ///< 0 stored, 8 deflated
  uint64_t size;         ///< unpacked, as the directory claims
  uint64_t offset;       ///< of its bytes in the archive
  llvm::StringRef bytes; ///< packed
  llvm::StringRef entry; ///< in the central directory, whole

  bool isStored() const { return method == 0 && size == bytes.size(); }
};

/// The members that the central directory of `zip` lists, zip64 included. An
/// error is a phrase for after the file's name ("is not a zip archive").
llvm::Expected<std::vector<ZipMember>> readZipDirectory(llvm::StringRef zip);

/// Calls `visit` with the unpacked bytes of a member, piece by piece. A size
/// that deflate cannot reach, or that the data does not have, is an error, at
/// the latest after the last piece.
llvm::Error
readZipMember(const ZipMember &member,
              llvm::function_ref<llvm::Error(llvm::StringRef)> visit);

/// All of them, of a member that claims to have `maxSize` at most.
llvm::Expected<std::string> unpackZipMember(const ZipMember &member,
                                            uint64_t maxSize = UINT32_MAX);

} // namespace mpopt

#endif // MPOPT_SUPPORT_ZIPFILE_H
