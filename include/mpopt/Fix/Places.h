//===- Places.h - Where a finding is, and what is around it --------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Casts that a precision brought come and go with fixes, so findings are told
// by the values in front of them.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_FIX_PLACES_H
#define MPOPT_FIX_PLACES_H

#include "mpopt/Dialect/Match.h"
#include "mpopt/Hazards/FindingList.h"

#include "llvm/ADT/SetVector.h"

namespace mpopt {

/// Where a finding is: a constant however it is moved, else before casts.
mlir::Value getPlace(mlir::Value value);

/// Ops that compute with `value`, through inserted casts and ops that move it.
void addReaders(mlir::Value value, llvm::SetVector<mlir::Operation *> &readers,
                unsigned depth = 8);

/// The op that computes `value`, with those that move it on the way.
void addProducers(mlir::Value value,
                  llvm::SetVector<mlir::Operation *> &producers);

/// Members of composites, by the composite's number.
using IdiomMembers =
    llvm::DenseMap<int64_t, llvm::SmallVector<mlir::Operation *>>;
IdiomMembers findMembers(mlir::ModuleOp module);

/// What a `keep-fp32` is tried on if its rule says no more.
FixAction keepAround(const FindingList::Entry &entry,
                     const IdiomMembers &members);

} // namespace mpopt

#endif // MPOPT_FIX_PLACES_H
