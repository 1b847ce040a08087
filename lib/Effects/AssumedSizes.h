//===- AssumedSizes.h - Sizes for dims that are open ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many keys share a row of attention, or how many positions are averaged,
// decides how errors add up, and mostly not by much. Where nothing is known
// without a size one is assumed, and said.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_ASSUMEDSIZES_H
#define MPOPT_LIB_EFFECTS_ASSUMEDSIZES_H

#include "mpopt/Dialect/Interfaces/ShapeFacts.h"
#include "mpopt/Effects/OutputEffects.h"
#include "mpopt/Ranges/Analysis/ChangedModule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <vector>

namespace mpopt {

/// A copy of a module whose inputs have static shapes.
struct SizedCopy {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::IRMapping mapping;
  ChangedModule change;
  std::vector<AssumedSize> sizes;
};

/// True if some op adds up, or shares out, as many elements as an open dim has.
bool sizesMatter(mlir::ModuleOp module, const ShapeFacts &facts);

/// Nothing if the inputs have no open dims, or if no sizes fit.
std::optional<SizedCopy> assumeSizes(mlir::ModuleOp module);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_ASSUMEDSIZES_H
