//===- IntegerProduct.h - Products of codes that become numbers -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantisation at run time writes a product as one of codes, which is cast and
// multiplied by both scales: (a - za) (b - zb) sa sb.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_PROPAGATE_INTEGERPRODUCT_H
#define MPOPT_PROPAGATE_INTEGERPRODUCT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace mpopt {

/// The codes that a matmul_integer or conv_integer multiplies.
struct IntegerOperands {
  mlir::Value lhs, lhsZeroPoint, rhs, rhsZeroPoint;
  /// The axis of `rhs` whose indices are output channels.
  int64_t axis = 0;
  /// Null if the op does not say them.
  mlir::Value lhsScale = {}, rhsScale = {};
};

/// Nothing for other ops. Zero points that are 0 may be null.
std::optional<IntegerOperands> getIntegerOperands(mlir::Operation *op);

/// The axis of a weight's output channels, as the op reads it; nothing where
/// it is no weight of a product.
std::optional<int64_t> findChannelAxis(mlir::OpOperand &use, int64_t rank);

/// The codes that a product multiplies, be it of codes or one of dequantised
/// operands around which runtimes fuse pairs: codes of up to `widest` bits.
std::optional<IntegerOperands> findCodes(mlir::Operation *op, unsigned widest);

struct IntegerProduct : IntegerOperands {
  mlir::Operation *product = nullptr;
  /// The product of the numbers for which the codes stand.
  mlir::Value numbers;
};

/// Nothing for other ops, where a scale is not told from the other, and where
/// the codes are read otherwise.
std::optional<IntegerProduct> findIntegerProduct(mlir::Operation *op);

/// The same product, of dequantised operands: the ops that `builder` makes, the
/// right operand and the product last.
llvm::SmallVector<mlir::Operation *, 3>
buildNumbers(mlir::OpBuilder &builder, const IntegerProduct &product);

} // namespace mpopt

#endif // MPOPT_PROPAGATE_INTEGERPRODUCT_H
