//===- Expression.h - Values that depend on one number ----------*- C++ -*-===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations that exporters write out, x sigmoid(x) or x (1 + erf(x / c)) / 2,
// are products of values that depend on each other. As functions of x they are
// no harder than a single one.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_GRADIENTS_EXPRESSION_H
#define MPOPT_LIB_GRADIENTS_EXPRESSION_H

#include "mlir/IR/Value.h"

#include <optional>

namespace mpopt {

/// The result of an elementwise op as a function of one forward value.
class Expression {
public:
  /// Nothing if the operands of the op depend on several values, or only one of
  /// them on any, so that the op itself says all.
  static std::optional<Expression> of(mlir::Operation *op);

  mlir::Value variable() const { return its; }
  double evaluate(double x) const { return evaluate(root, x); }

private:
  Expression(mlir::Operation *root, mlir::Value variable)
      : root(root), its(variable) {}
  double evaluate(mlir::Value value, double x) const;
  double evaluate(mlir::Operation *op, double x) const;

  mlir::Operation *root;
  mlir::Value its;
};

} // namespace mpopt

#endif // MPOPT_LIB_GRADIENTS_EXPRESSION_H
