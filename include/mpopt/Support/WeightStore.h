//===- WeightStore.h - Bytes of weights, mapped on demand
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_SUPPORT_WEIGHTSTORE_H
#define MPOPT_SUPPORT_WEIGHTSTORE_H

#include "mpopt/Support/Memo.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <mutex>

namespace mpopt {

/// Files that hold weights, each mapped read-only when first asked for and
/// kept mapped. May be called from several threads.
class WeightStore {
public:
  /// `length` bytes from `offset` of `file`. An error names the file and says
  /// whether it is missing or too short.
  llvm::Expected<llvm::ArrayRef<char>> bytes(llvm::StringRef file,
                                             int64_t offset, int64_t length);

  /// Results computed from the bytes, or from others that live as long.
  Memo memo;

private:
  std::mutex mutex;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files;
};

} // namespace mpopt

#endif // MPOPT_SUPPORT_WEIGHTSTORE_H
