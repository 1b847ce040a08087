//===- StorageErrors.h - The error of storing a tensor ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_PROPAGATE_STORAGEERRORS_H
#define MPOPT_PROPAGATE_STORAGEERRORS_H

#include "mpopt/Propagate/NonFinite.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mpopt {

struct FloatFormat;
class TransferContext;

/// Which tensors are rounded, and by how much.
class StorageErrors {
public:
  explicit StorageErrors(const RangeAnalysis &ranges) : ranges(ranges) {}

  /// True if storing the value rounds it: its format is narrower than FP32, and
  /// it is no copy of what that format holds already.
  bool rounds(mlir::Value value);
  /// Mean and variance of what storage changes of the elements of a value that
  /// is rounded, by group. Nothing if it changes none; without an estimate if
  /// it is not known.
  /// `lost`: elements that became 0. `dims`: the groups that are asked for;
  /// only those of constants can be told apart as one likes.
  std::optional<AbstractValue> errorOf(mlir::Value value, NonFinite::Lost lost,
                                       llvm::ArrayRef<int64_t> dims);

private:
  bool fits(mlir::Value value, const FloatFormat &format);
  bool isExact(mlir::Operation *op, const FloatFormat &format);

  const RangeAnalysis &ranges;
  llvm::DenseMap<std::pair<mlir::Value, const FloatFormat *>, bool> known;
};

} // namespace mpopt

#endif // MPOPT_PROPAGATE_STORAGEERRORS_H
