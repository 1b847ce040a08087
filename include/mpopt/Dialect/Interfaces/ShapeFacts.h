//===- ShapeFacts.h - Known elements of small integer tensors ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exported graphs compute shapes with ops (Shape, Gather, Concat, Reshape). To
// infer the shapes that they compute, the elements of small integer tensors are
// followed, each known or not.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_INTERFACES_SHAPEFACTS_H
#define MPOPT_DIALECT_INTERFACES_SHAPEFACTS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace mpopt {

/// The elements of one tensor in row-major order, each known or not; nothing at
/// all if even their number is unknown or above `ShapeFacts::kMaxElements`.
using Elements = std::optional<llvm::SmallVector<std::optional<int64_t>, 4>>;

class ShapeFacts {
public:
  /// Tensors larger than this are not followed: no shape is that long.
  static constexpr int64_t kMaxElements = 1024;

  /// The known elements of `value`: from `set`, or read from an `mp.constant`
  /// of an integer or bool type (of a float type where an element is whole).
  Elements elements(mlir::Value value) const;

  /// All elements of `value` if every one is known.
  std::optional<llvm::SmallVector<int64_t>> constants(mlir::Value value) const;

  void set(mlir::Value value, Elements elements);

private:
  llvm::DenseMap<mlir::Value, Elements> known;
};

} // namespace mpopt

#endif // MPOPT_DIALECT_INTERFACES_SHAPEFACTS_H
