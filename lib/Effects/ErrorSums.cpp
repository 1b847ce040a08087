//===- ErrorSums.cpp - How sums and rows carry errors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ErrorBounds.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Ops/NormalizationOps.h"
#include "mpopt/Dialect/Ops/PoolingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/CellSupport.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static std::optional<int64_t> known(const MaybeShape &shape, int64_t axis) {
  if (!shape || shape->empty())
    return std::nullopt;
  int64_t dim = (*shape)[axis < 0 ? axis + int64_t(shape->size()) : axis];
  return dim < 0 ? std::nullopt : std::optional(dim);
}

/// An upper bound of the number of products that each result adds up.
static std::optional<double> countProducts(Operation *op) {
  MaybeShape lhs = getShape(op->getOperand(0)),
             rhs = getShape(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  auto sizePer = [&](size_t axis) -> std::optional<double> {
    std::optional<int64_t> size = getNumElements(*rhs);
    if (!size || rhs->size() <= axis || (*rhs)[axis] <= 0)
      return std::nullopt;
    return double(*size) / double((*rhs)[axis]);
  };
  if (auto product = dyn_cast<mp::MatMulOp>(op))
    return known(lhs, product.getTransA() && lhs->size() > 1 ? -2 : -1);
  if (auto product = dyn_cast<mp::GemmOp>(op))
    return known(lhs, product.getTransA() ? -2 : -1);
  if (isa<mp::LinearOp>(op))
    return known(rhs, -1);
  if (isa<mp::ConvOp>(op))
    return sizePer(0);
  if (isa<mp::ConvTransposeOp>(op))
    return sizePer(1);
  return std::nullopt;
}

ErrorBounds::Error ErrorBounds::carryProducts(Operation *op) {
  if (!hasRole(op, Role::Bilinear) || !hasRole(op, Role::Contraction) ||
      op->getNumOperands() < 2 || op->getNumOperands() > 3)
    return std::nullopt;
  std::optional<double> count = countProducts(op);
  if (!count)
    return std::nullopt;
  Value x = op->getOperand(0), w = op->getOperand(1);
  const FloatFormat &format = context.productFormat(x);
  double share = kSlack * (*count + kExtra) * unitsOf(format);
  double alpha = 1;
  if (auto factor = op->getAttrOfType<FloatAttr>("alpha"))
    alpha = std::max(1.0, std::fabs(factor.getValueAsDouble()));
  double lost = alpha * (*count + kExtra) * 2 * format.minNormal;
  std::optional<AbstractValue> bias, none;
  if (op->getNumOperands() == 3) {
    bias = withShare(op->getOperand(2), share);
    none = AbstractValue::within(0, 0, ranges.of(op->getOperand(2)).rank());
  }
  auto finish = [&](AbstractValue error) -> Error {
    for (CellRef cell : error.mutableCells()) {
      cell.hi = (cell.hi + lost) * kSlack;
      cell.lo = -cell.hi;
    }
    return error;
  };
  // Constant weights: |w| is known better than by a bound of its elements, and
  // their rounding is a share of it.
  for (bool onRight : {true, false}) {
    bool swapped;
    std::optional<WeightView> view =
        context.matrixWeights(onRight ? w : x, swapped);
    if (!view)
      continue;
    double rounding = 0;
    Value input = onRight ? x : w;
    for (const FloatFormat *stored : view->roundings) {
      rounding += stored->unitRoundoff();
      lost += alpha * *count * stored->minSubnormal *
              withShare(input, 1).magnitudes().bound;
    }
    AbstractValue grown = withShare(input, share + kSlack * rounding);
    Error error =
        image(op, {onRight ? &grown : nullptr, onRight ? nullptr : &grown,
                   bias ? &*bias : nullptr});
    return error ? finish(std::move(*error)) : std::nullopt;
  }
  AbstractValue dx = withShare(x, share), dw = withShare(w, 0),
                sizeX = withShare(x, 1), sizeW = withShare(w, 1);
  Error first = image(op, {&dx, &sizeW, bias ? &*bias : nullptr});
  Error second = image(op, {&sizeX, &dw, none ? &*none : nullptr});
  if (!first || !second)
    return std::nullopt;
  SmallVector<AbstractValue, 2> values = {std::move(*first),
                                          std::move(*second)};
  AbstractValue::Dims dims = broadcastGroups(values, context.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    double sum = values[0].cell(at[0]).hi + values[1].cell(at[1]).hi;
    cells[group] = {-sum, sum};
  });
  return finish(AbstractValue(dims, cells));
}

/// An upper bound of the number of elements that each result adds up.
static std::optional<double> countTerms(Operation *op,
                                        const ShapeFacts &facts) {
  Value input = op->getOperand(0);
  MaybeShape shape = getShape(input);
  if (!shape)
    return std::nullopt;
  auto count = [&](auto isSummed) -> std::optional<double> {
    double terms = 1;
    for (auto [axis, dim] : llvm::enumerate(*shape))
      if (isSummed(int64_t(axis))) {
        if (dim < 0)
          return std::nullopt;
        terms *= double(dim);
      }
    return terms;
  };
  if (isa<mp::ReduceSumOp, mp::ReduceMeanOp>(op)) {
    auto axes = getReducedAxes(op, facts);
    if (!axes)
      return std::nullopt;
    return count([&](int64_t axis) { return llvm::is_contained(*axes, axis); });
  }
  if (auto pool = dyn_cast<mp::AveragePoolOp>(op)) {
    double terms = 1;
    for (int64_t size : pool.getKernelShape())
      terms *= double(size);
    return terms;
  }
  if (isa<mp::GlobalAveragePoolOp, mp::AdaptiveAvgPoolOp>(op))
    return count([](int64_t axis) { return axis >= 2; });
  if (isa<mp::CumSumOp>(op))
    return count([](int64_t) { return true; });
  return std::nullopt;
}

ErrorBounds::Error ErrorBounds::carrySum(Operation *op) {
  if (!isa<mp::ReduceSumOp, mp::ReduceMeanOp, mp::AveragePoolOp,
           mp::GlobalAveragePoolOp, mp::AdaptiveAvgPoolOp, mp::CumSumOp>(op))
    return std::nullopt;
  std::optional<double> count = countTerms(op, context.shapes());
  if (!count)
    return std::nullopt;
  Value input = op->getOperand(0);
  double share = kSlack * (*count + kExtra) * unitsOf(context.sumFormat(input));
  AbstractValue grown = withShare(input, share);
  SmallVector<const AbstractValue *> operands(op->getNumOperands());
  operands[0] = &grown;
  return image(op, operands);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// With every score off by e at most, a probability p becomes one between
/// p e^-2e and p e^2e, and moves by tanh(e / 2) at most; a logarithm of one by
/// 2 e.
ErrorBounds::Error ErrorBounds::carrySoftmax(Operation *op) {
  auto plain = dyn_cast<mp::SoftmaxOp>(op);
  auto ofLogarithms = dyn_cast<mp::LogSoftmaxOp>(op);
  if (!(plain ? !plain.getFlatten()
              : ofLogarithms && !ofLogarithms.getFlatten()))
    return std::nullopt;
  Value scores = op->getOperand(0), result = op->getResult(0);
  int64_t axis = plain ? plain.getAxis() : ofLogarithms.getAxis();
  size_t rank = ranges.of(scores).rank();
  axis += axis < 0 ? int64_t(rank) : 0;
  MaybeShape shape = getShape(scores);
  if (!shape || shape->size() != rank || axis < 0 || axis >= int64_t(rank) ||
      (*shape)[axis] <= 0)
    return std::nullopt;
  double units = unitsOf(context.functionFormat(scores)) +
                 unitsOf(context.sumFormat(scores));
  double count = double((*shape)[axis]);
  bool logarithm(ofLogarithms);
  SmallVector<AbstractValue, 3> values = {errors.lookup(scores).merging(axis),
                                          ranges.of(scores).merging(axis),
                                          ranges.preRounding(result)};
  for (AbstractValue &value : values)
    value.dropClaims();
  AbstractValue::Dims dims = broadcastGroups(values, context.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  bool known = true;
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    double e = values[0].cell(at[0]).absMax();
    Cell score = values[1].cell(at[1]);
    double p = values[2].cell(at[2]).absMax();
    // The largest score is taken off first, whose roundings are those of its
    // distance.
    double rounding = kSlack * units *
                      (count + kExtra + 2 * (score.hi - score.lo + 2 * e) +
                       (logarithm ? p : 0));
    known &= rounding < 0.1;
    double error = logarithm
                       ? 2 * e + rounding * (1 + p)
                       : std::min(std::tanh(e / 2), p * std::expm1(2 * e)) +
                             2 * rounding * std::min(1.0, p * std::exp(2 * e)) +
                             4 * FloatFormat::f32().minNormal;
    error *= kSlack;
    known &= std::isfinite(error);
    cells[group] = {-error, error};
  });
  if (!known)
    return std::nullopt;
  return AbstractValue(dims, cells);
}

ErrorBounds::Error ErrorBounds::carryBatchNorm(Operation *op) {
  auto norm = dyn_cast<mp::BatchNormOp>(op);
  if (!norm || norm.getTraining() || !norm.getSpatial() || !norm.getMean() ||
      !norm.getVariance())
    return std::nullopt;
  size_t rank = ranges.of(norm.getInput()).rank();
  if (rank < 2)
    return std::nullopt;
  // Parameters have the groups of axis 1.
  SmallVector<AbstractValue, 10> values;
  auto add = [&](Value parameter, bool isInput) {
    for (AbstractValue value :
         {ranges.of(parameter), errors.lookup(parameter)}) {
      value.dropClaims();
      if (!isInput) {
        AbstractValue::Dims dims(rank, 1);
        dims[1] = int64_t(value.groups());
        value = value.withDims(dims);
      }
      values.push_back(std::move(value));
    }
  };
  add(norm.getInput(), true);
  for (Value parameter : {norm.getMean(), norm.getVariance()})
    add(parameter, false);
  for (Value parameter : {norm.getScale(), norm.getBias()})
    if (parameter)
      add(parameter, false);
  bool hasScale = bool(norm.getScale()), hasBias = bool(norm.getBias());
  double epsilon = norm.getEpsilon().convertToDouble();
  double units = kExtra * unitsOf(context.functionFormat(norm.getInput()));
  AbstractValue::Dims dims = broadcastGroups(values, context.groupLimit());
  std::vector<Cell> cells(countGroups(dims));
  bool known = true;
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    auto element = [&](size_t index) {
      return Element{cells::bound(values[2 * index].cell(at[2 * index])),
                     values[2 * index + 1].cell(at[2 * index + 1]).absMax()};
    };
    Element x = element(0), mean = element(1), variance = element(2);
    Element scale = hasScale ? element(3) : Element{{1, 1}, 0};
    Element bias = hasBias ? element(3 + hasScale) : Element{{0, 0}, 0};
    double least = variance.exact().lo + epsilon;
    if (!(least > 0)) {
      known = false;
      return;
    }
    double root = 1 / std::sqrt(least);
    double rootError = 0.5 * root / least * variance.error;
    double factor = scale.most() * root;
    double factorError = scale.error * root + scale.most() * rootError;
    double size = x.most() + mean.most();
    double error = factorError * size + factor * (x.error + mean.error) +
                   bias.error + units * (2 * factor * size + bias.most());
    error *= kSlack;
    known &= std::isfinite(error);
    cells[group] = {-error, error};
  });
  if (!known)
    return std::nullopt;
  return AbstractValue(dims, cells);
}
