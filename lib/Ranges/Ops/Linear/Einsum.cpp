//===- Einsum.cpp - Ranges of sums of products by labels
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two operands are a contraction, with row norms and convex rows as attention
// has them; one is a contraction with ones. More operands are products of
// boxes: a runtime multiplies them pairwise, rounding in between, in an order
// of its own.
//
//===----------------------------------------------------------------------===//

#include "lib/Ranges/Ops/Families.h"
#include "mpopt/Ranges/Value/ShapeSupport.h"
#include "mpopt/Ranges/Weights/ProductSupport.h"

#include "mpopt/Dialect/EinsumSupport.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Numerics/Rounding.h"
#include "mpopt/Ranges/RangeInterface.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mpopt;

/// Labels of the axes: letters, and for an ellipsis numbers from the right.
static SmallVector<int, 6> axisLabels(StringRef labels, size_t rank) {
  SmallVector<int, 6> result;
  size_t covered = rank + 1 - labels.size();
  for (char label : labels) {
    if (label != '.') {
      result.push_back(label);
      continue;
    }
    for (size_t axis = 0; axis < covered; ++axis)
      result.push_back(1000 + covered - 1 - axis);
  }
  return result;
}

/// A label that occurs twice is a diagonal: some of the elements, along one
/// axis.
static void takeDiagonals(Labelled &operand) {
  for (size_t axis = operand.labels.size(); axis-- > 0;) {
    if (llvm::count(operand.labels, operand.labels[axis]) < 2)
      continue;
    auto first = llvm::find(operand.labels, operand.labels[axis]);
    // Which element goes with which is lost; facts are of whole rows.
    operand.value = operand.value.merging(first - operand.labels.begin());
    operand.value = AbstractValue::pickedFrom(withoutAxis(operand.value, axis));
    operand.labels.erase(operand.labels.begin() + axis);
    operand.shape.erase(operand.shape.begin() + axis);
  }
}

/// The labels' sizes; nothing if one that is summed over is unknown.
static std::optional<double> countTerms(ArrayRef<Labelled> operands,
                                        ArrayRef<int> result) {
  std::map<int, int64_t> sizes;
  for (const Labelled &operand : operands)
    for (auto [label, dim] : llvm::zip(operand.labels, operand.shape)) {
      auto [entry, isNew] = sizes.try_emplace(label, dim);
      if (!isNew && (entry->second == 1 || (entry->second < 0 && dim > 1)))
        entry->second = dim;
    }
  double count = 1;
  for (auto [label, dim] : sizes) {
    if (llvm::is_contained(result, label))
      continue;
    if (dim < 0)
      return std::nullopt;
    count *= double(dim);
  }
  return count;
}

static bool sumsAlone(const Labelled &own, const Labelled &other,
                      ArrayRef<int> result) {
  return llvm::any_of(own.labels, [&](int label) {
    return !llvm::is_contained(result, label) &&
           !llvm::is_contained(other.labels, label);
  });
}

static AbstractValue multiplyAll(ArrayRef<Labelled> operands,
                                 ArrayRef<int> result, TransferContext &ctx,
                                 ProductResult &rules) {
  std::optional<double> count = countTerms(operands, result);
  if (!count || *count > 0x1p48)
    return AbstractValue::top(result.size());
  Interval term = Interval::point(1);
  double mean = 1, power = 1, largest = 1;
  for (const Labelled &operand : operands) {
    Cell hull = operand.value.hull();
    Interval bound = cells::bound(hull);
    term = term * (bound.isEmpty() ? Interval::point(0) : bound);
    // A factor below 1 may be the last one.
    largest = mulUp(largest, std::max(1.0, hull.absMax()));
    mean *= hull.mean;
    power *= hull.variance + hull.mean * hull.mean;
    rules.addOperand(operand.value);
  }
  // Intermediate results are stored: rounded, and Inf where they overflow.
  Value first = ctx.op()->getOperand(0);
  if (const FloatFormat *stored = getFloatFormat(getElementType(first))) {
    const FloatFormat &sums = ctx.productFormat(first);
    double edge = std::min(stored->overflowFrom, sums.overflowFrom);
    if (!(mulUp(largest, *count) * (1 + 0x1p-6) < edge))
      rules.addFlags(uint8_t(WeightPosInf));
    // Each of the few roundings is relative to a partial product; relative to
    // `largest` they are, whatever the factors that follow.
    double unit = std::max(stored->unitRoundoff(), sums.unitRoundoff());
    double error = 4 * double(operands.size()) * (*count + 1) * unit *
                   mulUp(largest, *count);
    Interval widened =
        term * *count + Interval::symmetric(error + sums.minNormal);
    if (operands.size() > 1) {
      ProductSum sum;
      sum.bound = widened;
      sum.terms = widened.maxAbs();
      sum.mean = mean * *count;
      sum.variance = *count * std::max(0.0, power - mean * mean);
      return rules.take(AbstractValue::Dims(result.size(), 1),
                        {rules.finish(sum, 1, std::nullopt, 1)});
    }
  }
  ProductSum sum;
  sum.bound = term * *count;
  sum.terms = mulUp(term.maxAbs(), *count);
  sum.count = uint64_t(*count);
  sum.mean = mean * *count;
  sum.variance = *count * std::max(0.0, power - mean * mean);
  return rules.take(AbstractValue::Dims(result.size(), 1),
                    {rules.finish(sum, 1, std::nullopt, 1)});
}

static void transferEinsum(mp::EinsumOp op, TransferContext &ctx) {
  std::optional<EinsumEquation> equation =
      EinsumEquation::parse(op.getEquation());
  size_t rank = ctx.rankOf(op.getResult());
  if (!equation || op.getInputs().empty() ||
      equation->operands.size() != op.getInputs().size() ||
      !getShape(op.getResult()))
    return ctx.unknown();
  SmallVector<Labelled, 3> operands;
  for (auto [labels, input] : llvm::zip(equation->operands, op.getInputs())) {
    MaybeShape shape = getShape(input);
    if (!shape)
      return ctx.unknown();
    Labelled operand;
    operand.value = AbstractValue::sameAs(ctx.of(input));
    operand.shape = *shape;
    operand.labels = axisLabels(labels, shape->size());
    takeDiagonals(operand);
    operands.push_back(std::move(operand));
  }
  size_t named = equation->result.size();
  if (StringRef(equation->result).contains('.') ? rank + 1 < named
                                                : rank != named)
    return ctx.unknown();
  SmallVector<int, 6> result = axisLabels(equation->result, rank);

  ProductResult rules(ctx, op.getInputs().front(), op.getResult());
  if (operands.size() == 1) {
    Labelled one;
    one.value = AbstractValue(AbstractValue::Dims(), Cell{1, 1, 1, 0, 1, 1});
    one.value.source = LikelySource::Weight;
    one.value.claimIntegral();
    operands.push_back(std::move(one));
  } else if (operands.size() == 2 &&
             (sumsAlone(operands[0], operands[1], result) ||
              sumsAlone(operands[1], operands[0], result))) {
    // A runtime may sum that operand first, and store the sums.
    return ctx.result(0, multiplyAll(operands, result, ctx, rules));
  }
  if (operands.size() > 2)
    return ctx.result(0, multiplyAll(operands, result, ctx, rules));
  ctx.result(0, contract(ctx, std::move(operands[0]), std::move(operands[1]),
                         result, rules));
}

void mpopt::attachEinsumTransfers(MLIRContext *context) {
  attachTransfer<transferEinsum, mp::EinsumOp>(context);
}
