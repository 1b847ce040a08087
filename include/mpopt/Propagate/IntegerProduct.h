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

struct IntegerProduct {
  /// A matmul_integer or conv_integer.
  mlir::Operation *product = nullptr;
  /// The product of the numbers for which the codes stand.
  mlir::Value numbers;
  mlir::Value lhsScale, rhsScale;
  /// The axis of the right operand along which a list of scales lies.
  int64_t axis = 0;

  mlir::Value rhs() const { return product->getOperand(1); }
  /// The zero point of the right operand; null if it is 0.
  mlir::Value rhsZeroPoint() const;
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
