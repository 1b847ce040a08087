//===- SumOfProducts.cpp - Factors of products that are added up
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SumOfProducts.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

/// Ops between a quotient and a factor: a guard, a sum over channels, a product
/// with the query, a running sum, a product with the value, and casts.
static constexpr unsigned kMostDepth = 8;

/// The operands of which an op adds up products, or elements; nothing for other
/// ops.
static OperandRange termsOf(Operation *op) {
  bool multiplies = isa<mp::MulOp, mp::MatMulOp, mp::GemmOp>(op) ||
                    (isa<mp::EinsumOp>(op) && op->getNumOperands() == 2);
  bool adds = isa<mp::ReduceSumOp, mp::ReduceMeanOp, mp::CumSumOp>(op);
  return op->getOperands().take_front(multiplies ? 2 : adds ? 1 : 0);
}

static bool isOneOf(Value value, ArrayRef<Value> weights) {
  return llvm::any_of(
      weights, [&](Value weight) { return isSameExpression(value, weight); });
}

/// True if the op adds up products with one of the weights.
static bool isWeighted(Operation *op, ArrayRef<Value> weights, unsigned depth) {
  return op && depth < kMostDepth &&
         llvm::any_of(
             termsOf(op),
             [&](Value operand) {
               operand = mpopt::peel(operand, Peel::CastsAndViews);
               return isOneOf(operand, weights) ||
                      isWeighted(operand.getDefiningOp(), weights, depth + 1);
             });
}

/// Splits a value into its factors; one that holds none of the weights, if
/// there are any, is a factor itself.
static void collect(Value value, ArrayRef<Value> weights, SumOfProducts &sum,
                    TransferContext &ctx, unsigned depth = 0) {
  value = mpopt::peel(value, Peel::CastsAndViews);
  Operation *op = value.getDefiningOp();
  if (std::optional<double> number = ctx.of(value).constant()) {
    sum.number *= *number;
    return;
  }
  bool splits = op && depth < kMostDepth && !termsOf(op).empty() &&
                (weights.empty() ||
                 (!isOneOf(value, weights) && isWeighted(op, weights, depth)));
  if (!splits) {
    sum.factors.push_back(value);
    return;
  }
  if (isa<mp::ReduceMeanOp>(op)) {
    std::optional<Axes> axes = getReducedAxes(op, ctx.shapes());
    std::optional<double> count =
        axes ? rowLength(op->getOperand(0), *axes) : std::nullopt;
    sum.number /= count.value_or(NAN);
  }
  if (auto product = dyn_cast<mp::MatMulOp>(op))
    sum.number *= product.getAlpha().convertToDouble();
  if (auto product = dyn_cast<mp::GemmOp>(op)) {
    sum.number *= product.getAlpha().convertToDouble();
    if (product.getBias())
      sum.bias = product.getBias();
  }
  sum.sums += !isa<mp::MulOp>(op);
  for (Value operand : termsOf(op))
    collect(operand, weights, sum, ctx, depth + 1);
}

SumOfProducts SumOfProducts::of(Value value, ArrayRef<Value> weights,
                                TransferContext &ctx) {
  SumOfProducts sum;
  collect(value, weights, sum, ctx);
  return sum;
}
