//===- Index.h - Advanced indexing ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_INDEX_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_INDEX_H

#include "mpopt/Import/Aten/Lowering.h"

namespace mpopt::aten {

/// `x[i, :, m]`: integer tensors and masks for some dims of `x`.
struct AdvancedIndex {
  /// By dim; null where all of it is taken. A mask of several dims stands at
  /// the first of them, `maskRank` says how many it covers.
  llvm::SmallVector<mlir::Value> indices;
  /// The only index is this mask, over the dims from `maskDim` on.
  mlir::Value mask;
  int64_t maskDim = 0, maskRank = 0;
};

/// Reads the input `indices` for a tensor of known rank; nothing if it is not
/// known well enough. Masks among other indices become positions.
std::optional<AdvancedIndex> findIndex(NodeContext &context, mlir::Value self);

/// The dims that have an index, in order.
llvm::SmallVector<int64_t> indexedDims(const AdvancedIndex &index);

/// [broadcast shape of the indices, number of them]: what mp.gather_nd takes.
mlir::Value makeTuples(NodeContext &context, const AdvancedIndex &index);

/// Positions where the mask holds, one list a dim.
llvm::SmallVector<mlir::Value> nonZero(NodeContext &context, mlir::Value mask,
                                       int64_t rank);

/// As i1.
mlir::Value toMask(NodeContext &context, mlir::Value value);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_INDEX_H
