//===- RowGradient.cpp - Gradients of rows over their norm
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of y = x / s, s a root of a row's sum of squares, dX has the part
//
//   -c x_i sum(g x) / s^k,  k = 3,
//
// written as products and quotients in any order. With ‖x‖ <= b s and
// |sum(g x)| <= ‖g‖ ‖x‖ a row of it is no longer than |c| ‖g‖ b^2 s^(2 - k):
// intervals, which do not know that x and s belong together, have
// max|x|^2 / min(s)^3.
//
//===----------------------------------------------------------------------===//

#include "RowScale.h"
#include "mpopt/Ranges/Value/GradientSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Numerics/Infinity.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::relations;

/// Ops of one product at most.
static constexpr unsigned kMostFactors = 24;

namespace {
/// The factors of a product, each a number, a sum of products, a row scale, or
/// something else.
struct Factors {
  double constant = 1;
  /// Products of the constants above 1, and of those below.
  double large = 1;
  unsigned operations = 0;
  SmallVector<Value, 4> above, below;

  bool add(Value value, bool divides, Type type);
};
} // namespace

bool Factors::add(Value value, bool divides, Type type) {
  if (++operations > kMostFactors || getElementType(value) != type)
    return false;
  if (std::optional<double> number = getSplatConstant(value)) {
    double factor = divides ? 1 / *number : *number;
    constant *= factor;
    large *= std::max(1.0, std::fabs(factor));
    return std::isfinite(factor);
  }
  Operation *op = value.getDefiningOp();
  if (isa_and_present<mp::MulOp>(op))
    return add(op->getOperand(0), divides, type) &&
           add(op->getOperand(1), divides, type);
  if (isa_and_present<mp::DivOp>(op))
    return add(op->getOperand(0), divides, type) &&
           add(op->getOperand(1), !divides, type);
  if (isa_and_present<mp::NegOp, mp::ExpandOp>(op))
    return add(op->getOperand(0), divides, type);
  (divides ? below : above).push_back(value);
  return true;
}

/// The other factor of sum(g x), where `op` is that sum over `axes`.
static Value otherFactor(Operation *op, Value x, ArrayRef<int64_t> axes,
                         TransferContext &ctx) {
  if (!isa_and_present<mp::ReduceSumOp>(op))
    return {};
  std::optional<Axes> reduced = getReducedAxes(op, ctx.shapes());
  Operation *product = op->getOperand(0).getDefiningOp();
  if (!reduced || ArrayRef(*reduced) != axes ||
      !isa_and_present<mp::MulOp>(product) ||
      getShape(product->getResult(0)) != getShape(x))
    return {};
  for (unsigned index : {0u, 1u})
    if (product->getOperand(index) == x &&
        getShape(product->getOperand(1 - index)) == getShape(x))
      return product->getOperand(1 - index);
  return {};
}

void relations::refineRowGradient(Value result, AbstractValue &value,
                                  TransferContext &ctx) {
  const FloatFormat *format = getFloatFormat(getElementType(result));
  MaybeShape shape = getShape(result);
  Factors factors;
  if (!format || !shape ||
      !factors.add(result, /*divides=*/false, getElementType(result)))
    return;
  // One scale below, several times, or its inverse above; a sum and x.
  Value scale = factors.below.empty() ? Value() : factors.below.front();
  if (!scale || factors.above.size() != 2 || !llvm::all_equal(factors.below) ||
      factors.below.size() < 2)
    return;
  std::optional<RowScale> rows = matchRowNorm(scale, ctx);
  if (!rows || !rows->squares || rows->deviations || rows->axes.size() != 1 ||
      getShape(rows->of) != shape || !isRowScale(scale, rows->of, rows->axes))
    return;
  for (unsigned index : {0u, 1u}) {
    Value x = factors.above[index], sum = factors.above[1 - index];
    if (x != rows->of || getShape(sum) != getShape(scale))
      continue;
    Value g = otherFactor(sum.getDefiningOp(), x, rows->axes, ctx);
    std::optional<double> count = rowLength(x, rows->axes);
    if (!g || !count)
      continue;
    double norm = gradients::rowNormOf(ctx.of(g), rows->axes.front(), *count);
    double inverse = 1 / least(scale, ctx);
    double powers = double(factors.below.size()) - 2;
    double most = std::fabs(factors.constant) * norm * rows->bound *
                  rows->bound * std::pow(inverse, powers);
    // Each operation is rounded; what underflows is multiplied by the rest.
    double relative = relativeSumError(ctx.sumFormat(sum), *count, 8) +
                      8 * (factors.operations + 4) * format->unitRoundoff();
    double rest = factors.large *
                  std::pow(std::max(1.0, inverse), factors.below.size()) *
                  std::max(1.0, ctx.of(x).hull().absMax()) *
                  std::max(1.0, ctx.of(sum).hull().absMax());
    double absolute = factors.operations * format->minSubnormal * rest;
    double bound = most * (1 + 2 * relative) + absolute;
    if (!(relative < 0.25) || !std::isfinite(bound))
      continue;
    clamp(value, -bound, bound);
    setNorm(value, rows->axes.front(),
            most * (1 + 2 * relative) + std::sqrt(*count) * absolute,
            int64_t(*count));
    return;
  }
}
