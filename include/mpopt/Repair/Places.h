//===- Places.h - The place of a finding, and its neighbours ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Casts that a precision inserted come and go with fixes, so findings are
// identified by the values in front of them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_REPAIR_PLACES_H
#define MPOPT_REPAIR_PLACES_H

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Hazards/FindingList.h"

#include "llvm/ADT/SetVector.h"

namespace mpopt {

/// The value that identifies the place of a finding: the constant behind casts
/// and views, else the value before inserted casts.
mlir::Value getPlace(mlir::Value value);

/// Adds the ops that read `value`, also through inserted casts and ops that
/// move it, of which at most `depth` are passed.
void addReaders(mlir::Value value, llvm::SetVector<mlir::Operation *> &readers,
                unsigned depth = 8);

/// Adds the op that computes `value`, with those that move it on the way.
void addProducers(mlir::Value value,
                  llvm::SetVector<mlir::Operation *> &producers);

/// The default action of a `keep-fp32`, if its rule plans none itself.
FixAction keepAround(const FindingList::Entry &entry,
                     const Composites &composites);

} // namespace mpopt

#endif // MPOPT_REPAIR_PLACES_H
