//===- Registry.cpp - Which op has which lowering -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphImporter.h"

using namespace mpopt::aten;

Registry::Registry() {
  registerElementwise(*this);
  registerActivation(*this);
  registerReduction(*this);
  registerLinear(*this);
  registerNormalization(*this);
  registerPooling(*this);
  registerShape(*this);
  registerIndexing(*this);
  registerCreation(*this);
  registerAttention(*this);
  registerRecurrent(*this);
  registerLoss(*this);
  registerRandom(*this);
  registerQuantized(*this);
  registerResample(*this);
}

Lowering Registry::find(const Node &node, bool &inPlace) const {
  llvm::StringRef name = node.op;
  inPlace = false;
  // `quantized::linear` is not the `linear` of aten: names of other libraries
  // are whole.
  name.consume_front("aten::");
  auto lookUp = [&](llvm::StringRef plain) -> Lowering {
    if (auto exact = lowerings.find((plain + "." + node.overload).str());
        exact != lowerings.end())
      return exact->second;
    return lowerings.lookup(plain);
  };
  if (Lowering own = lookUp(name))
    return own;
  // `add_`; not `__and__`.
  if (!name.ends_with("_") || name.ends_with("__"))
    return nullptr;
  inPlace = true;
  return lookUp(name.drop_back());
}
