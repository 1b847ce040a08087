//===- TypeSupport.h - Shapes and dtypes: shared arithmetic -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pieces from which the families' `inferResultTypes` are written. A shape
// is `std::optional<SmallVector<int64_t>>`: nothing if the rank is unknown, a
// negative dim (ShapedType::kDynamic) if the dim is.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_TYPESUPPORT_H
#define MPOPT_DIALECT_TYPESUPPORT_H

#include "mpopt/Numerics/FloatFormat.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/ValueRange.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mpopt {

using Shape = llvm::SmallVector<int64_t, 4>;
using MaybeShape = std::optional<Shape>;

inline constexpr int64_t kDynamic = mlir::ShapedType::kDynamic; // unknown dim

/// The shape of a tensor value or type; nothing for anything else.
MaybeShape getShape(mlir::Type type);
inline MaybeShape getShape(mlir::Value value) {
  return getShape(value.getType());
}

/// A tensor's element type; `!mp.unknown` for a value that is not a tensor.
mlir::Type getElementType(mlir::Type type);
inline mlir::Type getElementType(mlir::Value value) {
  return getElementType(value.getType());
}

/// A tensor type; unranked if there is no shape.
mlir::Type getTensorType(const MaybeShape &shape, mlir::Type elementType);

/// `tensor<*x!mp.unknown>`.
mlir::Type getUnknownTensor(mlir::MLIRContext *context);

bool isUnknown(mlir::Type elementType);

/// A 16-bit or narrower float (f16, bf16, f8..., f4...).
bool isLowPrecision(mlir::Type elementType);

/// The format of a float element type (largest finite value, smallest normal
/// and so on); null for anything else.
const FloatFormat *getFloatFormat(mlir::Type elementType);

/// `axis` counted from the front, or nothing if it is out of [-rank, rank).
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank);

/// An error unless `axis`, if there is one, is an axis of `input`. A scalar
/// counts as having one axis, as the frameworks do.
llvm::LogicalResult verifyAxis(mlir::Operation *op, mlir::Value input,
                               std::optional<int64_t> axis);

/// NumPy broadcasting of two dims; nothing if they contradict each other.
std::optional<int64_t> broadcastDim(int64_t lhs, int64_t rhs);

/// NumPy broadcasting. Failure: dims contradict; nothing: a rank is unknown.
llvm::FailureOr<MaybeShape> broadcastShapes(const MaybeShape &lhs,
                                            const MaybeShape &rhs);

/// Number of elements if every dim is known and the product fits.
std::optional<int64_t> getNumElements(const MaybeShape &shape);

/// The wider of two element types under mixed operands, as the frameworks
/// promote: `!mp.unknown` yields to the other; float over integer over bool;
/// f16 with bf16 gives f32.
mlir::Type promoteElementTypes(mlir::Type lhs, mlir::Type rhs);

/// Appends the broadcast of all tensor operands with their promoted element
/// type; `elementType` overrides the latter.
llvm::LogicalResult inferBroadcast(mlir::Operation *op,
                                   mlir::ValueRange operands,
                                   llvm::SmallVectorImpl<mlir::Type> &types,
                                   mlir::Type elementType = {});

/// The facts of both types: a dim static in either is static. The element type
/// is `inferred`'s unless unknown. Nothing if ranks or static dims contradict.
std::optional<mlir::Type> refineType(mlir::Type inferred, mlir::Type declared);

} // namespace mpopt

#endif // MPOPT_DIALECT_TYPESUPPORT_H
