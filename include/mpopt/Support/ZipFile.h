//===- ZipFile.h - Members of a zip archive in memory -----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What .npz files and PyTorch's archives are. Reads nothing outside the bytes
// that it is given, and unpacks nothing by itself.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ZIPFILE_H
#define MPOPT_SUPPORT_ZIPFILE_H

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

/// The unpacked bytes of a member. A size that deflate cannot reach, or that
/// the data does not have, is an error.
llvm::Expected<std::string> unpackZipMember(const ZipMember &member);

} // namespace mpopt

#endif // MPOPT_SUPPORT_ZIPFILE_H
