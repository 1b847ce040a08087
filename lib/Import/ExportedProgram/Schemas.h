//===- Schemas.h - The arguments of PyTorch's operators ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program leaves out arguments that have their default value, and says
// nothing of those that an operator changes in place. The table is written by
// scripts/generate-aten-schemas.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_SCHEMAS_H
#define MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_SCHEMAS_H

#include "mpopt/Import/Aten/Graph.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace mpopt::exported {

struct SchemaArgument {
  llvm::StringRef name;
  bool isWritten = false; ///< changed in place
  bool isShared = false;  ///< a result may be a view of it
  std::optional<aten::Constant> byDefault;
};

/// The arguments of an operator of aten by its name and overload
/// (`add.Tensor`), `default` where it has only one. Nothing if it is unknown.
std::optional<std::vector<SchemaArgument>> findSchema(llvm::StringRef op);

} // namespace mpopt::exported

#endif // MPOPT_LIB_IMPORT_EXPORTEDPROGRAM_SCHEMAS_H
