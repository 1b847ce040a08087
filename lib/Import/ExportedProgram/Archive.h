//===- Archive.h - The members of a .pt2 archive ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_ARCHIVE_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_ARCHIVE_H

#include "Document.h"

#include "mpopt/Support/ZipFile.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace mpopt::exported {

/// The bytes of a record that is stored, not packed.
struct Record {
  uint64_t offset = 0; ///< in the archive
  llvm::StringRef bytes;
};

/// An archive whose layout, version and byte order are those that are read. An
/// error is a phrase that continues "the archive ".
class Archive {
public:
  static llvm::Expected<Archive> open(llvm::StringRef bytes);

  /// The name of the program (`model` of `models/model.json`).
  llvm::StringRef model() const { return name; }
  /// The parsed JSON of a member of the archive's folder.
  llvm::Expected<llvm::json::Value> readJson(llvm::StringRef member) const;
  /// The JSON of the program, as text, and the member that it is.
  llvm::StringRef modelMember() const { return program; }
  /// The file of torch.save that has the `weights` or the `constants`; until
  /// PyTorch 2.8 all of them.
  std::string savedMember(llvm::StringRef part) const;
  llvm::Expected<std::string> readModel() const;
  llvm::Expected<Document> readDocument() const;
  bool contains(llvm::StringRef member) const;
  /// Bytes of the whole.
  uint64_t size() const { return length; }
  /// Null if there is no such member, or it is packed.
  std::optional<Record> findRecord(llvm::StringRef member) const;

private:
  Archive() = default;
  llvm::Error checkVersion() const;
  llvm::Error findModel();
  llvm::Error openFolder(llvm::StringRef folder);
  /// The text of JSON of no more values than a model has.
  llvm::Expected<std::string> readBounded(llvm::StringRef member) const;
  llvm::Expected<std::string> readText(llvm::StringRef member,
                                       uint64_t maxSize) const;

  std::vector<ZipMember> members;
  llvm::StringMap<size_t> positions; ///< by name below the archive's folder
  std::string name, program;
  bool isOld = false; ///< the layout before PyTorch 2.8
  uint64_t length = 0;
};

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_ARCHIVE_H
