//===- Complex.h - Complex tensors as pairs of real ones --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing is bounded of a complex tensor, so each is an opaque op of its real
// and its imaginary part, and ops read these two. What nobody reads whole is
// dropped in the end.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_LOWERING_COMPLEX_H
#define MPOPT_LIB_IMPORT_ATEN_LOWERING_COMPLEX_H

#include "mpopt/Import/Aten/Lowering.h"

namespace mpopt::aten {

/// The name of the op that stands for a complex tensor.
inline constexpr llvm::StringLiteral kComplexName = "torch::complex";

bool isComplex(mlir::Value value);

/// Real and imaginary part of one shape.
struct ComplexParts {
  mlir::Value real, imaginary;
};

/// The parts of a complex tensor; nothing if it came from elsewhere.
std::optional<ComplexParts> findParts(mlir::Value value);

/// The complex tensor of these parts.
mlir::Value makeComplex(NodeContext &context, ComplexParts parts);

/// Both parts in a new last dim; null if the rank is not known.
mlir::Value joinParts(NodeContext &context, ComplexParts parts);

/// The complex tensor of a real one whose last dim holds both parts. `finish`
/// is called for each op that is made.
mlir::Value
makeComplexOfPairs(mlir::OpBuilder &builder, mlir::Location location,
                   mlir::Value pairs,
                   llvm::function_ref<void(mlir::Operation *)> finish);

/// The magnitude of a complex `self`, and the product of a complex `self` and
/// `other`.
llvm::LogicalResult lowerComplexAbs(NodeContext &context);
llvm::LogicalResult lowerComplexMul(NodeContext &context);

/// Lowers an op of complex operands: magnitudes and products by their own
/// lowerings, one that treats both parts alike (it moves, adds or scales
/// elements) by `lowering` once on each. Nothing if the op is none of these, or
/// has no complex operand: the lowering is then to run on the whole.
std::optional<llvm::LogicalResult> lowerByParts(NodeContext &context,
                                                Lowering lowering);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_LOWERING_COMPLEX_H
