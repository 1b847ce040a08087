//===- Evaluation.h - A function evaluated on arrays ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates a function of ops of the dialect in FP32 on given arguments: the
// forward pass and, where the module holds it, the backward pass. Moments of
// single elements do not tell how elements of trained models vary together; a
// step on drawn inputs does. Dims, axes and indices are read from arrays, so
// that no shape has to be known before.
//
// An op is evaluated if all its operands are known and a family of
// lib/Evaluation/Ops has it; results of others are unknown.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_EVALUATION_EVALUATION_H
#define MPOPT_EVALUATION_EVALUATION_H

#include "mpopt/Evaluation/Matrices.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <memory>
#include <optional>

namespace mpopt {

/// Makes the product of two operands (multiplyMatrices), as it is stored or
/// exactly. `which`: the result of the op that it is, or is part of.
using Multiplier =
    std::function<Matrices(mlir::OpResult which, Matrices lhs, Matrices rhs)>;
/// Sees the op before it is evaluated.
using OpObserver = std::function<void(mlir::Operation *op)>;

class Evaluation {
public:
  Evaluation() = default;
  /// Evaluates again what depends on other products than those of `base`, which
  /// stays as it is: several may do so at once.
  explicit Evaluation(const Evaluation &base) : base(&base) {}

  /// Exact products without it.
  Multiplier multiplier;
  /// True for results of products that are not those of the base.
  std::function<bool(mlir::OpResult which)> isChanged;
  OpObserver observeOp;

  /// Evaluates the ops of a function in their order, as far as they are known.
  void run(mlir::func::FuncOp function);
  /// The same of single ops.
  void run(llvm::ArrayRef<mlir::Operation *> ops);
  void set(mlir::Value value, Array array);
  /// The elements of a value; null if they are not known.
  const Array *find(mlir::Value value);
  /// The same of those that are known already; may be asked by several threads.
  const Array *lookUp(mlir::Value value) const;
  /// The multiplications that took as long as what was evaluated.
  double cost() const { return spent; }

  // For the families.
  /// The numbers of an operand of dims, axes or indices.
  std::optional<llvm::SmallVector<int64_t>> integers(mlir::Value value);
  std::optional<double> scalar(mlir::Value value);
  /// `lhs` times the transpose of `rhs`, for each batch, by the multiplier;
  /// nothing if the budget does not pay for it.
  std::optional<Matrices> multiply(mlir::OpResult which, Matrices lhs,
                                   Matrices rhs);

private:
  void evaluate(mlir::Operation *op);
  bool differs(mlir::Operation *op) const;
  const Array *readConstant(mlir::Value value);

  llvm::DenseMap<mlir::Value, std::unique_ptr<Array>> arrays, constants;
  const Evaluation *base = nullptr;
  /// The multiplications of products and the elements of arrays that may still
  /// be spent: some seconds, and half a GiB.
  double leftProducts = 0x1p33, leftElements = 0x1p27;
  double spent = 0;
};

} // namespace mpopt

#endif // MPOPT_EVALUATION_EVALUATION_H
