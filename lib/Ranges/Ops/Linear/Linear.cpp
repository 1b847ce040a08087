//===- Linear.cpp - Ranges of matrix products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a constant operand: WeightProduct.h. Without: Contraction.cpp.
// Convolutions are in Convolution.cpp.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"
#include "mpopt/Ranges/Weights/WeightProduct.h"

#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

static AbstractValue swapLast(const AbstractValue &value) {
  if (value.rank() < 2)
    return value;
  SmallVector<int64_t> perm =
      llvm::to_vector(llvm::seq<int64_t>(0, value.rank()));
  std::swap(perm[value.rank() - 1], perm[value.rank() - 2]);
  return value.transposed(perm);
}

namespace {
struct Product {
  Value lhs, rhs;
  bool transLhs = false, transRhs = false;
  double alpha = 1, beta = 1;
  Value bias;
  /// Zero points of integers, which are subtracted first.
  std::optional<AbstractValue> lhsZero, rhsZero;
};
} // namespace

/// The value as a matrix with the axis that is summed over in its place.
static AbstractValue asMatrix(const AbstractValue &value, bool transposed,
                              bool isLhs) {
  if (value.rank() == 1)
    return withAxis(value, isLhs ? 0 : 1);
  return transposed ? swapLast(value) : value;
}

static Shape matrixShape(Shape shape, bool transposed, bool isLhs) {
  if (shape.size() == 1)
    shape.insert(isLhs ? shape.begin() : shape.end(), 1);
  else if (transposed)
    std::swap(shape.back(), shape[shape.size() - 2]);
  return shape;
}

static AbstractValue minusKnown(const AbstractValue &value,
                                const std::optional<AbstractValue> &zero) {
  return zero ? minusZero(value, *zero) : value;
}

/// Numbers of a constant zero point: one, or one per channel of the weights.
/// False if they are not known or laid out otherwise.
static bool readZeroPoints(const std::optional<AbstractValue> &zero,
                           uint64_t channels, std::vector<double> &points) {
  if (!zero)
    return true;
  if (zero->groups() != 1 && (zero->rank() != 1 || zero->groups() != channels))
    return false;
  for (const Cell &cell : zero->cells()) {
    if (cell.lo != cell.hi)
      return false;
    points.push_back(cell.lo);
  }
  return true;
}

/// The product with `lhs` or `rhs` constant, of rank [batch..., rows, columns].
static std::optional<AbstractValue>
multiplyWeights(const Product &product, bool onRight, TransferContext &ctx,
                size_t rank, ProductResult &rules) {
  Value constant = onRight ? product.rhs : product.lhs;
  Value other = onRight ? product.lhs : product.rhs;
  bool swapped;
  std::optional<WeightSource> source = getMatrixSource(ctx, constant, swapped);
  if (!source || source->size() == 0)
    return std::nullopt;
  const std::optional<AbstractValue> &zero =
      onRight ? product.rhsZero : product.lhsZero;
  bool transConstant =
      swapped != (onRight ? product.transRhs : product.transLhs);
  Shape shape = matrixShape(source->shape, transConstant, !onRight);

  WeightProduct weights;
  uint64_t rows = shape[shape.size() - 2], columns = shape.back();
  weights.k = onRight ? rows : columns;
  weights.n = onRight ? columns : rows;
  weights.batch = Shape(ArrayRef(shape).drop_back(2));
  bool stored = onRight == (transConstant && source->shape.size() > 1);
  weights.transposed = stored;
  if (!readZeroPoints(zero, weights.n, weights.zeroPoints))
    return std::nullopt;
  weights.constant = constant;
  weights.weights = std::move(*source);
  weights.input = minusKnown(
      asMatrix(ctx.of(other), onRight ? product.transLhs : product.transRhs,
               onRight),
      onRight ? product.lhsZero : product.rhsZero);
  if (!onRight)
    weights.input = swapLast(weights.input);
  else if (ctx.needsBounds() && !product.transLhs && !product.lhsZero && !zero)
    weights.gained = GainedRows::match(other, weights.k, ctx);
  weights.alpha = product.alpha;
  weights.beta = product.beta;
  if (product.bias) {
    AbstractValue bias = ctx.of(product.bias).withRank(rank);
    weights.bias = onRight ? bias : swapLast(bias);
  }
  AbstractValue result = weights.run(ctx, rules);
  return onRight ? result : swapLast(result);
}

static void multiply(const Product &product, TransferContext &ctx) {
  Value result = ctx.op()->getResult(0);
  MaybeShape lhs = getShape(product.lhs), rhs = getShape(product.rhs);
  if (!lhs || !rhs || lhs->empty() || rhs->empty())
    return ctx.unknown();
  size_t rank = std::max<size_t>(2, std::max(lhs->size(), rhs->size()));
  auto finish = [&](AbstractValue value) {
    if (rhs->size() == 1)
      value = withoutAxis(value, value.rank() - 1);
    if (lhs->size() == 1)
      value = withoutAxis(value, value.rank() - (rhs->size() == 1 ? 1 : 2));
    ctx.result(0, std::move(value));
  };
  ProductResult rules(ctx, product.lhs, result);
  for (bool onRight : {true, false})
    if (std::optional<AbstractValue> value =
            multiplyWeights(product, onRight, ctx, rank, rules))
      return finish(std::move(*value));

  auto labelled = [&](Value value, bool transposed, bool isLhs,
                      const std::optional<AbstractValue> &zero) {
    Labelled operand;
    operand.value =
        minusKnown(asMatrix(ctx.of(value), transposed, isLhs), zero);
    operand.shape = matrixShape(*getShape(value), transposed, isLhs);
    // Batch dims count from the right; -1 is the row, -2 what is summed over,
    // -3 the column.
    size_t batch = operand.shape.size() - 2;
    for (size_t axis = 0; axis < batch; ++axis)
      operand.labels.push_back(batch - 1 - axis);
    operand.labels.append(isLhs ? std::initializer_list<int>{-1, -2}
                                : std::initializer_list<int>{-2, -3});
    return operand;
  };
  SmallVector<int> labels;
  for (size_t axis = 0; axis + 2 < rank; ++axis)
    labels.push_back(rank - 3 - axis);
  labels.append({-1, -3});
  ContractionBias bias{product.alpha, product.beta, std::nullopt};
  if (product.bias)
    bias.value = ctx.of(product.bias).withRank(rank);
  finish(contract(
      ctx, labelled(product.lhs, product.transLhs, true, product.lhsZero),
      labelled(product.rhs, product.transRhs, false, product.rhsZero), labels,
      rules, bias));
}

static void transferMatMul(mp::MatMulOp op, TransferContext &ctx) {
  Product product{op.getLhs(), op.getRhs(), op.getTransA(), op.getTransB()};
  product.alpha = op.getAlpha().convertToDouble();
  multiply(product, ctx);
}

static void transferGemm(mp::GemmOp op, TransferContext &ctx) {
  Product product{op.getLhs(), op.getRhs(), op.getTransA(), op.getTransB()};
  product.alpha = op.getAlpha().convertToDouble();
  product.beta = op.getBeta().convertToDouble();
  product.bias = op.getBias();
  multiply(product, ctx);
}

static void transferLinear(mp::LinearOp op, TransferContext &ctx) {
  Product product{op.getInput(), op.getWeight(), false, true};
  product.bias = op.getBias();
  multiply(product, ctx);
}

static void transferMatMulInteger(mp::MatMulIntegerOp op,
                                  TransferContext &ctx) {
  Product product{op.getLhs(), op.getRhs()};
  if (op.getLhsZeroPoint())
    product.lhsZero = ctx.of(op.getLhsZeroPoint());
  if (op.getRhsZeroPoint())
    product.rhsZero = ctx.of(op.getRhsZeroPoint());
  multiply(product, ctx);
}

/// A sum over I1 I2 products of three; what is known of the first two as rows
/// of independent elements.
static void transferBilinear(mp::BilinearOp op, TransferContext &ctx) {
  Value result = op.getResult();
  MaybeShape weight = getShape(op.getWeight());
  std::optional<int64_t> count =
      weight && weight->size() == 3
          ? getNumElements(Shape(ArrayRef(*weight).drop_front(1)))
          : std::nullopt;
  if (!count)
    return ctx.unknown();
  const AbstractValue &lhs = ctx.operand(0), &rhs = ctx.operand(1),
                      &filter = ctx.operand(2);
  ProductResult rules(ctx, op.getLhs(), result);
  for (const AbstractValue *value : {&lhs, &rhs, &filter})
    rules.addOperand(*value);
  Cell x = lhs.hull(), y = rhs.hull(), w = filter.hull();
  Interval term = cells::bound(x) * cells::bound(y) * cells::bound(w);
  if (term.isEmpty())
    term = Interval::point(0);
  ProductSum sum;
  sum.count = *count + 2; // a further rounding of each product
  sum.bound = term * double(*count);
  sum.terms = mulUp(term.maxAbs(), double(*count));
  sum.mean = x.mean * y.mean * w.mean * double(*count);
  auto power = [](const Cell &cell) {
    return cell.variance + cell.mean * cell.mean;
  };
  double first = x.mean * y.mean * w.mean;
  sum.variance =
      double(*count) * (power(x) * power(y) * power(w) - first * first);
  // A partial sum without the third factor may be what overflows.
  double partial = x.absMax() * w.absMax() * double(*count);
  if (!(partial < ctx.productFormat(op.getLhs()).overflowFrom))
    rules.addFlags(uint8_t(WeightPosInf));
  std::optional<Cell> bias;
  if (op.getBias()) {
    rules.addBias(ctx.of(op.getBias()));
    bias = ctx.of(op.getBias()).hull();
  }
  Cell cell = rules.finish(sum, 1, bias, 1);
  ctx.result(0, rules.take(AbstractValue::Dims(ctx.rankOf(result), 1), {cell}));
}

void mpopt::attachLinearTransfers(MLIRContext *context) {
  attachTransfer<transferMatMul, mp::MatMulOp>(context);
  attachTransfer<transferGemm, mp::GemmOp>(context);
  attachTransfer<transferLinear, mp::LinearOp>(context);
  attachTransfer<transferMatMulInteger, mp::MatMulIntegerOp>(context);
  attachTransfer<transferBilinear, mp::BilinearOp>(context);
}
