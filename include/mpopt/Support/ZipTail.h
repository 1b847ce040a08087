//===- ZipTail.h - More members for a zip archive ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The archive's bytes stay as they are: new members and a directory of their
// own follow them. A reader looks for the last directory, so members that it
// leaves out, or that have a new one of their name, are gone for it.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_SUPPORT_ZIPTAIL_H
#define MPOPT_SUPPORT_ZIPTAIL_H

#include "mpopt/Support/ZipFile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpopt {

class ZipTail {
public:
  /// `members` are of an archive of `size` bytes, which the tail is to follow.
  ZipTail(std::vector<ZipMember> members, uint64_t size)
      : members(std::move(members)), size(size) {}

  /// Replaces the member of that name, if there is one. Its bytes begin at a
  /// multiple of 64, as PyTorch wants those of tensors to.
  void add(std::string name, llvm::StringRef bytes);

  /// The bytes to append.
  std::string finish();

private:
  std::vector<ZipMember> members;
  uint64_t size;
  std::string tail;
  std::vector<std::string> added, entries;
};

} // namespace mpopt

#endif // MPOPT_SUPPORT_ZIPTAIL_H
