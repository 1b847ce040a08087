//===- Payload.h - Parameters, buffers and constants ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PAYLOAD_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PAYLOAD_H

#include "Archive.h"
#include "Fields.h"

#include "mpopt/Import/Aten/Graph.h"
#include "mpopt/Import/UnpackBudget.h"

#include <map>
#include <string>
#include <vector>

namespace mpopt::exported {

/// The tensors of an archive, by their path in the module. Those that lie
/// densely are referred to by their place; others are gathered.
class Payload {
public:
  /// `isMapped`: the archive is a file to which weights can refer.
  Payload(const Archive &archive, bool isMapped, Damage &damage);

  /// Null if the archive has none of that name.
  const aten::Tensor *find(llvm::StringRef name) const;
  /// Names of tensors whose elements are pickled, which is never read.
  const std::vector<std::string> &unread() const { return pickled; }

private:
  void readPart(llvm::StringRef part);
  void readConfig(llvm::StringRef folder, llvm::StringRef config);
  void readSaved(llvm::StringRef member);
  void readTensor(llvm::StringRef folder, llvm::StringRef name,
                  const llvm::json::Object &meta);
  int64_t memoryOf(llvm::StringRef record);
  void place(aten::Tensor &tensor, const Record &record, int64_t first);

  const Archive &archive;
  bool isMapped;
  Damage &damage;
  UnpackBudget budget;
  std::map<std::string, aten::Tensor, std::less<>> tensors;
  std::map<std::string, int64_t> memory; ///< by record
  std::vector<std::string> pickled;
};

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_PAYLOAD_H
