//===- Reduction.cpp - Reductions, from aten ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a `dtype` the input is cast first and the sum runs in it. Without one,
// sums and products of integers are i64. Norms are in Norms.cpp, what selects
// elements in Selection.cpp. Not covered: quantile.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

namespace {
/// Over which axes; no attribute for all of them.
struct Axes {
  DenseI64ArrayAttr axes;
  BoolAttr keepDims;
};
} // namespace

/// Nothing if they are computed at run time.
static std::optional<Axes> readAxes(NodeContext &context) {
  Axes result;
  result.keepDims = context.builder().getBoolAttr(context.getBool("keepdim"));
  if (!context.has("dim"))
    return result;
  auto dims = context.findInts("dim");
  if (!dims)
    return std::nullopt;
  if (!dims->empty())
    result.axes = intsAttr(context, *dims);
  return result;
}

template <typename OpT>
static Value reduce(NodeContext &context, Value input, const Axes &axes) {
  return context.make<OpT>(input, Value(), axes.axes, axes.keepDims);
}

/// `self` in the dtype that sums are computed in: `dtype`, else i64 for
/// integers.
static Value readSummed(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return {};
  if (context.has("dtype"))
    return toDtype(context, input);
  return isIntegral(input) ? context.cast(input, context.builder().getI64Type())
                           : input;
}

template <typename OpT> static LogicalResult lowerSum(NodeContext &context) {
  Value input = readSummed(context);
  std::optional<Axes> axes = readAxes(context);
  if (!input || !axes)
    return context.unsupported();
  context.setOutput(0, reduce<OpT>(context, input, *axes));
  return success();
}

template <typename OpT> static LogicalResult lowerReduce(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Axes> axes = readAxes(context);
  if (input)
    input = toDtype(context, input);
  if (!input || !axes)
    return context.unsupported();
  context.setOutput(0, reduce<OpT>(context, input, *axes));
  return success();
}

static LogicalResult lowerLogSumExp(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Axes> axes = readAxes(context);
  if (!input || !axes)
    return context.unsupported();
  context.setOutput(
      0, reduce<mp::ReduceLogSumExpOp>(context, context.toFloat(input), *axes));
  return success();
}

static LogicalResult lowerMean(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Axes> axes = readAxes(context);
  Value numbers = input ? toDtype(context, input) : Value();
  if (!numbers || !axes)
    return context.unsupported();
  context.setOutput(
      0, requantize(context, reduce<mp::ReduceMeanOp>(context, numbers, *axes),
                    input));
  return success();
}

/// `x` with 0 for NaN; itself where it cannot be one. Null if its dtype is
/// unknown.
static Value withoutNan(NodeContext &context, Value input) {
  if (isIntegral(input))
    return input;
  Value zero = constantLike(context, 0, input);
  if (!zero)
    return {};
  return context.make<mp::WhereOp>(context.make<mp::IsNanOp>(input), zero,
                                   input);
}

static LogicalResult lowerNanSum(NodeContext &context) {
  Value input = readSummed(context);
  std::optional<Axes> axes = readAxes(context);
  if (input)
    input = withoutNan(context, input);
  if (!input || !axes)
    return context.unsupported();
  context.setOutput(0, reduce<mp::ReduceSumOp>(context, input, *axes));
  return success();
}

/// The sum of what is a number over how many are.
static LogicalResult lowerNanMean(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Axes> axes = readAxes(context);
  if (input)
    input = toDtype(context, input);
  Value numbers =
      input && !isIntegral(input) ? withoutNan(context, input) : Value();
  if (!numbers || !axes)
    return context.unsupported();
  Value valid =
      context.make<mp::LogicalNotOp>(context.make<mp::IsNanOp>(input));
  Value count = reduce<mp::ReduceSumOp>(
      context, context.cast(valid, context.builder().getI64Type()), *axes);
  Value sum = reduce<mp::ReduceSumOp>(context, numbers, *axes);
  context.setOutput(0, context.make<mp::DivOp>(
                           sum, context.cast(count, getElementType(sum))));
  return success();
}

/// `all` and `any`. The truth value of bytes is a byte.
template <typename OpT> static LogicalResult lowerTruth(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Axes> axes = readAxes(context);
  if (!input || !axes)
    return context.unsupported();
  Value result = reduce<OpT>(context, input, *axes);
  if (getElementType(input).isUnsignedInteger(8))
    result = context.cast(result, getElementType(input));
  context.setOutput(0, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Variance
//===----------------------------------------------------------------------===//

/// The number subtracted from the count of elements: `correction` (default 1),
/// or `unbiased` as 0 or 1.
static std::optional<double> readCorrection(const NodeContext &context) {
  if (context.isDynamic("correction") || context.isDynamic("unbiased"))
    return std::nullopt;
  if (context.has("unbiased"))
    return context.getBool("unbiased") ? 1 : 0;
  return context.getNumber("correction", 1);
}

template <typename OpT, bool WithMean>
static LogicalResult lowerVariance(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<Axes> axes = readAxes(context);
  std::optional<double> correction = readCorrection(context);
  if (!input || !axes || !correction)
    return context.unsupported();
  context.setOutput(
      0, context.make<OpT>(input, Value(), axes->axes, axes->keepDims,
                           context.builder().getF64FloatAttr(*correction)));
  if (WithMean)
    context.setOutput(1, reduce<mp::ReduceMeanOp>(context, input, *axes));
  return success();
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

/// x[i + 1] - x[i], n times.
static LogicalResult lowerDiff(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> dim = context.findInt("dim"), n = context.findInt("n");
  if (!input || !dim || !n || *n < 0 || *n > 8)
    return context.unsupported();
  // Tensors in front and behind have the input's dtype or a lower one.
  SmallVector<Value> parts;
  for (StringRef part : {"prepend", "self", "append"})
    if (context.has(part))
      parts.push_back(
          context.cast(context.tensor(part), getElementType(input)));
  if (*n > 0)
    input = concat(context, parts, *dim);
  bool isBool = getElementType(input).isSignlessInteger(1);
  for (int64_t round = 0; round < *n; ++round) {
    Value next = slice(context, input, *dim, 1, INT64_MAX),
          previous = slice(context, input, *dim, 0, -1);
    input = isBool ? context.make<mp::LogicalXorOp>(next, previous)
                   : context.make<mp::SubOp>(next, previous);
  }
  context.setOutput(0, input);
  return success();
}

/// Summed over what broadcasting to the input's shape would repeat.
static LogicalResult lowerSumToSize(NodeContext &context) {
  Value input = context.tensor("self");
  auto size = context.findInts("size");
  MaybeShape shape = input ? getShape(input) : std::nullopt;
  if (!shape || !size || size->size() > shape->size())
    return context.unsupported();
  // Runs `sum`, also of a single number, and so has the dtype of one. Source:
  // sum_to in aten/src/ATen/ExpandUtils.h.
  if (size->empty()) {
    context.setOutput(
        0, context.make<mp::ReduceSumOp>(input, Value(), DenseI64ArrayAttr(),
                                         context.builder().getBoolAttr(false)));
    return success();
  }
  size_t added = shape->size() - size->size();
  SmallVector<int64_t> dropped, kept;
  for (auto [dim, have] : llvm::enumerate(*shape)) {
    if (dim < added)
      dropped.push_back(dim);
    else if ((*size)[dim - added] == 1 && have != 1)
      kept.push_back(dim);
  }
  if (dropped.empty() && kept.empty()) {
    context.setAlias(0, "self");
    return success();
  }
  if (!kept.empty())
    input = reduce<mp::ReduceSumOp>(
        context, input,
        {intsAttr(context, kept), context.builder().getBoolAttr(true)});
  if (!dropped.empty())
    input = reduce<mp::ReduceSumOp>(
        context, input,
        {intsAttr(context, dropped), context.builder().getBoolAttr(false)});
  context.setOutput(0, input);
  return success();
}

void mpopt::aten::registerReduction(LoweringRegistry &registry) {
  registry.add("sum", lowerSum<mp::ReduceSumOp>);
  registry.add("prod", lowerSum<mp::ReduceProdOp>);
  registry.add("mean", lowerMean);
  registry.add("amax", lowerReduce<mp::ReduceMaxOp>);
  registry.add("amin", lowerReduce<mp::ReduceMinOp>);
  registry.add({"logsumexp", "special_logsumexp"}, lowerLogSumExp);
  registry.add("nansum", lowerNanSum);
  registry.add("nanmean", lowerNanMean);
  registry.add("all", lowerTruth<mp::ReduceAllOp>);
  registry.add("any", lowerTruth<mp::ReduceAnyOp>);
  registry.add("count_nonzero", lowerReduce<mp::CountNonzeroOp>);
  registry.add("var", lowerVariance<mp::VarianceOp, false>);
  registry.add("std", lowerVariance<mp::StdOp, false>);
  registry.add("var_mean", lowerVariance<mp::VarianceOp, true>);
  registry.add("std_mean", lowerVariance<mp::StdOp, true>);
  registry.add("diff", lowerDiff);
  registry.add("sum_to_size", lowerSumToSize);
  registerNorms(registry);
  registerSelection(registry);
}
