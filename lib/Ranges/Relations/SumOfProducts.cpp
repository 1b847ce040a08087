//===- SumOfProducts.cpp - Factors of products that are added up
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SumOfProducts.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

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

namespace {
/// Elements `begin` to `begin + size` along an axis, the last one of which
/// is 1.
struct Part {
  int64_t axis, begin, size;
};
} // namespace

/// The part of its operand that a slice takes along one axis.
static std::optional<Part> partOf(mp::SliceOp op) {
  MaybeShape from = getShape(op.getInput()), to = getShape(op.getResult());
  if (!from || !to || !op.getStarts() || op.getDynamicAxes() ||
      op.getDynamicSteps())
    return std::nullopt;
  std::optional<Part> part;
  for (auto [index, start] : llvm::enumerate(*op.getStarts())) {
    int64_t rank = from->size();
    int64_t axis = op.getAxes() ? (*op.getAxes())[index] : int64_t(index);
    axis += axis < 0 ? rank : 0;
    int64_t dim = (*from)[axis], size = (*to)[axis];
    if (dim == size)
      continue;
    if (part || dim < 0 || size < 0 ||
        (op.getSteps() && (*op.getSteps())[index] != 1))
      return std::nullopt;
    part =
        Part{rank - axis, std::max(start < 0 ? start + dim : start, 0l), size};
  }
  return part;
}

/// The operand of a pad or a concatenation that holds all of the part; null if
/// none does.
static Value findPart(Operation *op, const Part &part) {
  MaybeShape shape = getShape(op->getResult(0));
  int64_t axis = shape ? int64_t(shape->size()) - part.axis : -1;
  if (axis < 0)
    return {};
  if (auto concat = dyn_cast<mp::ConcatOp>(op)) {
    if (int64_t own(concat.getAxis()); own != axis && own != -part.axis)
      return {};
    int64_t begin = 0;
    for (Value operand : op->getOperands()) {
      MaybeShape own = getShape(operand);
      int64_t dim = own ? (*own)[axis] : -1;
      if (dim < 0)
        return {};
      if (part.begin >= begin && part.begin + part.size <= begin + dim)
        return operand;
      begin += dim;
    }
  }
  auto pad = dyn_cast<mp::PadOp>(op);
  if (!pad || !pad.getPads() || pad.getAxes() || pad.getMode() != "constant")
    return {};
  int64_t begin = (*pad.getPads())[axis];
  int64_t end = (*shape)[axis] - (*pad.getPads())[axis + shape->size()];
  int64_t last = part.begin + part.size;
  if (begin >= 0 && part.begin >= begin && last <= end)
    return pad.getInput();
  return last <= begin || part.begin >= end ? pad.getValue() : Value();
}

/// The operand of a product that has its axis of the part, which becomes that
/// of the operand.
static unsigned enterOperand(mp::MatMulOp product, Part &part) {
  unsigned operand = part.axis == 1 ? 1 : 0;
  if (operand == 1 ? product.getTransB() : product.getTransA())
    part.axis = 3 - part.axis;
  return operand;
}

/// Splits a value, or a part of a product, into its factors; one that holds
/// none of the weights, if there are any, is a factor itself.
static void collect(Value value, ArrayRef<Value> weights, SumOfProducts &sum,
                    TransferContext &ctx, unsigned depth = 0,
                    std::optional<Part> part = std::nullopt) {
  auto slice = getMaker<mp::SliceOp>(value);
  if (slice && !part && getMaker<mp::MatMulOp>(slice.getInput()))
    if (auto taken = partOf(slice); taken && taken->axis <= 2)
      return collect(slice.getInput(), weights, sum, ctx, depth, taken);
  value = mpopt::peel(value, part ? Peel::Casts : Peel::CastsAndViews);
  Operation *op = value.getDefiningOp();
  if (Value inner = op && part ? findPart(op, *part) : Value())
    return collect(inner, weights, sum, ctx, depth);
  if (std::optional<double> number = ctx.of(value).constant()) {
    sum.number *= *number;
    return;
  }
  bool splits = op && depth < kMostDepth && !termsOf(op).empty() &&
                (!part || isa<mp::MatMulOp>(op)) &&
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
  auto product = dyn_cast<mp::MatMulOp>(op);
  if (product)
    sum.number *= product.getAlpha().convertToDouble();
  if (auto gemm = dyn_cast<mp::GemmOp>(op)) {
    sum.number *= gemm.getAlpha().convertToDouble();
    if (gemm.getBias())
      sum.bias = gemm.getBias();
  }
  sum.sums += !isa<mp::MulOp>(op);
  sum.running |= isa<mp::CumSumOp>(op);
  std::optional<unsigned> parted;
  if (product && part)
    parted = enterOperand(product, *part);
  for (auto [index, operand] : llvm::enumerate(termsOf(op)))
    collect(operand, weights, sum, ctx, depth + 1,
            index == parted ? part : std::nullopt);
}

SumOfProducts SumOfProducts::of(Value value, ArrayRef<Value> weights,
                                TransferContext &ctx) {
  SumOfProducts sum;
  collect(value, weights, sum, ctx);
  return sum;
}
