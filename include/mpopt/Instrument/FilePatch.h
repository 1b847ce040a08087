//===- FilePatch.h - A change to a file that can be taken back --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Probes are added to a model as edits of its bytes: pieces that are put in or
// left out, and a tail. Weights are copied, never parsed, and what `--strip`
// gives back is the original byte for byte, since the tail records how to undo
// each edit.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_INSTRUMENT_FILEPATCH_H
#define MPOPT_INSTRUMENT_FILEPATCH_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mpopt {

/// `removed` bytes are replaced by `inserted`.
struct Edit {
  uint64_t removed;
  std::string inserted;
};

/// The inverse of a patch. Its text form is stored in the tail of the file.
struct Undo {
  /// `inserted` bytes at `offset` of the patched file stand for `original`.
  struct Piece {
    uint64_t offset;
    uint64_t inserted;
    std::string original;
  };
  std::vector<Piece> pieces;
  /// Where the tail begins, in the patched file.
  uint64_t bodySize = 0;
  /// SHA-256 of the original bytes.
  uint64_t originalSize = 0;
  std::string originalSha256;

  /// JSON, of ASCII characters. Longer than `kMaxText` it could not be decoded.
  std::string encode() const;
  static constexpr size_t kMaxText = 4 << 20;
  static llvm::Expected<Undo> decode(llvm::StringRef text);
};

class FilePatch {
public:
  /// Edits must not overlap. They may be added in any order; what is inserted
  /// at one place stays in the order in which it was added.
  void add(uint64_t offset, uint64_t removed, std::string inserted) {
    edits.insert({offset, {removed, std::move(inserted)}});
  }

  /// The edits that restore `original` from the patched bytes.
  Undo makeUndo(llvm::StringRef original) const;

  /// The edited bytes, without a tail.
  void apply(llvm::StringRef original, llvm::raw_ostream &os) const;

private:
  std::multimap<uint64_t, Edit> edits;
};

/// Writes the original of `patched`. Fails, before anything is written, if the
/// file was changed after it was patched.
llvm::Error revert(llvm::StringRef patched, const Undo &undo,
                   llvm::function_ref<llvm::Error(llvm::StringRef)> write);

/// 64 lower-case hex digits.
std::string sha256(llvm::StringRef bytes);

} // namespace mpopt

#endif // MPOPT_INSTRUMENT_FILEPATCH_H
