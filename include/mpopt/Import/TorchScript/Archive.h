//===- Archive.h - Whether an archive may be given to LibTorch --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An archive is data from strangers. LibTorch's loader runs `__setstate__`
// methods in its interpreter, resolves the globals of pickles and recurses into
// what they nest, so all of that is looked at first.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_IMPORT_TORCHSCRIPT_ARCHIVE_H
#define MPOPT_IMPORT_TORCHSCRIPT_ARCHIVE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace mpopt::torchscript {

struct ArchiveFacts {
  /// Offsets [begin, end) in bytes of stored records that hold tensors, sorted.
  /// Empty if loading needs the values (packed parameters of quantised layers).
  std::vector<std::pair<uint64_t, uint64_t>> weights;
  /// Those of `weights` that only the attributes of modules refer to, not code.
  std::vector<std::pair<uint64_t, uint64_t>> attributes;
};

/// Checks that the archive `bytes` is safe to load, and finds the records that
/// LibTorch need not read. The error is a phrase that continues "the archive ".
llvm::Expected<ArchiveFacts> inspectArchive(llvm::StringRef bytes);

/// Walks the opcodes of a pickle without running it: only those that
/// TorchScript's own reader knows, globals of PyTorch's list, bounded nesting.
llvm::Error inspectPickle(llvm::StringRef bytes);

/// An error unless every `__setstate__` in a file of TorchScript source only
/// unpacks its state and packs parameters. Sets `found` if there is any.
llvm::Error inspectSource(llvm::StringRef source, bool &found);

} // namespace mpopt::torchscript

#endif // MPOPT_IMPORT_TORCHSCRIPT_ARCHIVE_H
