//===- Registry.cpp - Lowerings by operator
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Registry.h"

using namespace mpopt::onnx_import;

Registry::Registry() {
#define MPOPT_FAMILY(Name) register##Name##Lowerings(*this);
#include "mpopt/Dialect/Families.inc"
#undef MPOPT_FAMILY
}

void Registry::add(llvm::StringRef domain, llvm::StringRef type,
                   Lowering lowering) {
  lowerings[domain == "ai.onnx" ? "" : domain][type] = lowering;
}

Lowering Registry::find(llvm::StringRef domain, llvm::StringRef type) const {
  auto it = lowerings.find(domain);
  return it == lowerings.end() ? nullptr : it->second.lookup(type);
}
