//===- ArchiveLimits.h - Archives that ask for too much ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that PyTorch's archives of both kinds pass before anything in them is
// read. Errors are phrases that continue "the archive ".
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_ARCHIVELIMITS_H
#define MPOPT_IMPORT_ARCHIVELIMITS_H

#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/ArrayRef.h"

#include <utility>

namespace mpopt {

/// The printable start of a name that comes from a file, in quotes.
std::string quoteName(llvm::StringRef name);

/// An error if there are more members than any model has, one is damaged, or
/// they unpack to far more than they hold.
llvm::Error checkMembers(llvm::ArrayRef<ZipMember> members);

/// An error if two ranges [begin, end) of bytes overlap.
llvm::Error checkOverlaps(std::vector<std::pair<uint64_t, uint64_t>> ranges);

} // namespace mpopt

#endif // MPOPT_IMPORT_ARCHIVELIMITS_H
