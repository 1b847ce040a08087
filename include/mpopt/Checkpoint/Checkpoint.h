//===- Checkpoint.h - The tensors of safetensors files ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, dtypes, shapes and places of the tensors of one file, or of the files
// that an index lists. Only headers are held; bytes are read when they are
// asked for, and nothing of a file is run. The format is that of
// huggingface/safetensors: 8 bytes with the length of a JSON header, the
// header, the tensors one after the other.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_CHECKPOINT_CHECKPOINT_H
#define MPOPT_CHECKPOINT_CHECKPOINT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mpopt {

/// The dtype of stored elements: its word in the header, the name of its type
/// in MLIR, the bits of an element.
struct StoredDtype {
  llvm::StringLiteral word, name;
  unsigned bits;

  static const StoredDtype *byWord(llvm::StringRef word);
};

struct StoredTensor {
  std::string name;
  const StoredDtype *dtype = nullptr;
  std::vector<int64_t> dims;
  size_t file = 0;     ///< of Checkpoint::files
  uint64_t offset = 0; ///< in the file
  uint64_t bytes = 0;

  int64_t count() const;
  /// `[128, 64]`.
  std::string shape() const;
};

class Checkpoint {
public:
  /// True if the name is that of a safetensors file or of an index of them.
  static bool isNamed(llvm::StringRef path);
  /// Errors are a phrase, `FILE: TEXT` where it is about a file of an index.
  static llvm::Expected<Checkpoint> read(llvm::StringRef path);

  /// Sorted by name.
  llvm::ArrayRef<StoredTensor> tensors() const { return held; }
  /// Null if there is none.
  const StoredTensor *find(llvm::StringRef name) const;
  /// The files that were read, the configuration beside them included.
  std::vector<std::string> files() const;
  /// Rows and columns of the blocks that share a scale, if the metadata or the
  /// configuration beside the file declares them.
  std::optional<std::pair<int64_t, int64_t>> block() const { return declared; }

  /// Fills `into` with bytes of the tensor, which holds as many from `from` on.
  llvm::Error read(const StoredTensor &tensor, uint64_t from,
                   llvm::MutableArrayRef<char> into) const;

private:
  Checkpoint() = default;
  llvm::Error readIndex(llvm::StringRef path);
  llvm::Error readFile(llvm::StringRef path);
  llvm::Error addTensor(llvm::StringRef name, const llvm::json::Value &value,
                        uint64_t data, uint64_t size);
  llvm::Error checkPlaces(size_t first);
  void readSettings(const llvm::json::Object &settings);
  void readSettingsFile(llvm::StringRef folder, llvm::StringRef file,
                        llvm::StringRef key);

  std::vector<StoredTensor> held;
  std::vector<std::string> shards, settingsFiles;
  std::optional<std::pair<int64_t, int64_t>> declared;
  /// The file that was read last, which stays open.
  struct Open {
    Open(size_t file, llvm::sys::fs::file_t descriptor)
        : file(file), descriptor(descriptor) {}
    Open(const Open &) = delete;
    size_t file;
    llvm::sys::fs::file_t descriptor;
    ~Open() { (void)llvm::sys::fs::closeFile(descriptor); }
  };
  mutable std::unique_ptr<Open> open;
};

} // namespace mpopt

#endif // MPOPT_CHECKPOINT_CHECKPOINT_H
