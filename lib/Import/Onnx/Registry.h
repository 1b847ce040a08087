//===- Registry.h - Lowerings by operator
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_REGISTRY_H
#define MPOPT_LIB_IMPORT_ONNX_REGISTRY_H

#include "mpopt/Import/Onnx/Lowering.h"

#include "llvm/ADT/StringMap.h"

namespace mpopt::onnx_import {

/// All families' lowerings. A later one of the same name replaces an earlier.
class Registry final : public LoweringRegistry {
public:
  Registry();

  using LoweringRegistry::add;
  void add(llvm::StringRef domain, llvm::StringRef type,
           Lowering lowering) override;

  /// Null if there is none; `domain` is normalised.
  Lowering find(llvm::StringRef domain, llvm::StringRef type) const;

private:
  llvm::StringMap<llvm::StringMap<Lowering>> lowerings;
};

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_REGISTRY_H
