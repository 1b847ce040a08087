//===- ProductOperands.h - The operands of products -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix product, convolution or sum of products of two operands as one of
// matrices: each operand has axes over which products are added, axes of its
// own, and axes that both share (a batch). Scales are given along these.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_DIALECT_PRODUCTOPERANDS_H
#define MPOPT_DIALECT_PRODUCTOPERANDS_H

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Numerics/Precision.h"
#include "mpopt/Numerics/Target.h"

#include <array>
#include <optional>

namespace mpopt {

/// The part of an operand's axis in a product.
enum class AxisPart { Batch, Row, Contracted };

struct OperandLayout {
  /// One for each axis.
  llvm::SmallVector<AxisPart, 4> axes;
  /// The elements of a row that come of one index of the contracted axes: the
  /// taps of a filter that slides over the operand.
  int64_t taps = 1;

  /// The first axis over which products are added; its size counts.
  std::optional<size_t> firstContracted() const;
};

/// A product of two float operands, the first two of the op.
struct ProductOperands {
  std::array<OperandLayout, 2> layouts;
  /// The sum is multiplied by `alpha`, and `beta` times the bias is added.
  double alpha = 1, beta = 1;
  mlir::Value bias;
};

/// Nothing for other ops, and where a rank is not known.
std::optional<ProductOperands> getProductOperands(mlir::Operation *op);

/// Set on casts to the operand's own type that stand for storing the operand of
/// a product as the module's precision says (Precision::operands).
inline constexpr llvm::StringLiteral kScaledAttr = "mp.scaled";

/// An operand of a product that is stored with scales.
struct ScaledOperand {
  /// The value that is stored.
  mlir::Value input;
  mlir::Operation *product;
  unsigned index;
  OperandLayout layout;
  bool isWeight;
  OperandScaling scaling;
  bool isStatic;

  /// The cast of the other operand; null if there is none.
  mp::CastOp other() const;
};

/// Nothing for other values.
std::optional<ScaledOperand> getScaledOperand(mlir::Value value);

/// The accumulator of a product that multiplies codes of floats: of operands
/// with scales, or of those behind a pair of quantisation and its inverse. Null
/// for other ops, and where the target adds them as it adds other numbers.
const FloatFormat *getSumOfCodes(mlir::Operation *op,
                                 const TargetProfile &target);

} // namespace mpopt

#endif // MPOPT_DIALECT_PRODUCTOPERANDS_H
