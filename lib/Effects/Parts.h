//===- Parts.h - Parts that an output is joined of --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detectors return boxes in pixels and scores in one tensor. A root mean square
// over both says little of either: the largest error is that of the part where
// it is largest.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_EFFECTS_PARTS_H
#define MPOPT_LIB_EFFECTS_PARTS_H

#include "mpopt/Report/Effect.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mpopt {

/// The values that are joined into the output, behind which elements are only
/// moved; the output itself if it is not joined, or of too many.
llvm::SmallVector<mlir::Value> findParts(mlir::Value output);

/// The block of an output that each of the values is, where a concatenation of
/// them makes it; empty where none does, or a dim is open.
std::vector<EffectSlice> findSlices(mlir::Value output,
                                    llvm::ArrayRef<mlir::Value> blocks);

/// The number of ops that the value depends on.
size_t countOpsBehind(mlir::Value value);

} // namespace mpopt

#endif // MPOPT_LIB_EFFECTS_PARTS_H
