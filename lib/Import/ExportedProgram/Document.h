//===- Document.h - The JSON of a program, in parts -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsed objects take some 5 kB each, of which a node has ten. Nodes and the
// types of values are most of a program, so they stay text until they are read.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_DOCUMENT_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_DOCUMENT_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <memory>
#include <string>
#include <vector>

namespace mpopt::exported {

class Document {
public:
  /// An error is that of the parser.
  static llvm::Expected<Document> parse(std::string text);

  /// Without nodes and types of the main graph, if these are apart.
  const llvm::json::Value &outline() const { return whole; }
  bool isApart() const { return apart; }
  /// The main graph's nodes, and the types of its values by name, as text.
  const std::vector<llvm::StringRef> &nodes() const { return nodeTexts; }
  llvm::StringRef type(llvm::StringRef value) const {
    return types.lookup(value);
  }

private:
  bool takeApart(std::string &outline);

  std::unique_ptr<std::string> text;
  llvm::json::Value whole = nullptr;
  bool apart = false;
  std::vector<llvm::StringRef> nodeTexts;
  llvm::StringMap<llvm::StringRef> types;
};

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_DOCUMENT_H
