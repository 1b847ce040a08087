//===- Selection.cpp - Extremes, sorting and scans, from aten -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Not covered: mode, nanmedian, cummax, cummin, logcumsumexp.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// Extremes and where they are
//===----------------------------------------------------------------------===//

template <typename ArgT>
static Value makeArg(NodeContext &context, Value input) {
  Builder &builder = context.builder();
  std::optional<int64_t> dim = context.findInt("dim");
  return context.make<ArgT>(
      input, dim ? builder.getI64IntegerAttr(*dim) : IntegerAttr(),
      builder.getBoolAttr(context.getBool("keepdim")), UnitAttr());
}

template <typename ReduceT>
static Value makeExtreme(NodeContext &context, Value input) {
  DenseI64ArrayAttr axes;
  if (std::optional<int64_t> dim = context.findInt("dim"))
    axes = intsAttr(context, {*dim});
  return context.make<ReduceT>(
      input, Value(), axes,
      context.builder().getBoolAttr(context.getBool("keepdim")));
}

/// max, min: of all, or along `dim` with the index.
template <typename ReduceT, typename ArgT>
static LogicalResult lowerMax(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("dim"))
    return context.unsupported();
  context.setOutput(0, makeExtreme<ReduceT>(context, input));
  if (context.numOutputs() == 2)
    context.setOutput(1, makeArg<ArgT>(context, input));
  return success();
}

static LogicalResult lowerAminmax(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("dim"))
    return context.unsupported();
  context.setOutput(0, makeExtreme<mp::ReduceMinOp>(context, input));
  context.setOutput(1, makeExtreme<mp::ReduceMaxOp>(context, input));
  return success();
}

template <typename ArgT> static LogicalResult lowerArg(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("dim"))
    return context.unsupported();
  context.setOutput(0, makeArg<ArgT>(context, input));
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

static mp::SortOp makeSort(NodeContext &context, Value input, int64_t dim) {
  Builder &builder = context.builder();
  auto flag = [&](StringRef name) {
    return context.getBool(name) ? builder.getUnitAttr() : UnitAttr();
  };
  return context.makeTyped<mp::SortOp>(context.unknownTypes(2), input,
                                       builder.getI64IntegerAttr(dim),
                                       flag("descending"), flag("stable"));
}

static LogicalResult lowerSort(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("dim") || context.isDynamic("descending"))
    return context.unsupported();
  auto sort = makeSort(context, input, context.getInt("dim", -1));
  if (context.name() == "argsort") {
    context.setOutput(0, sort.getIndices());
    return success();
  }
  context.setOutput(0, sort.getValues());
  context.setOutput(1, sort.getIndices());
  return success();
}

static LogicalResult lowerMsort(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, makeSort(context, input, 0).getValues());
  return success();
}

static LogicalResult lowerTopK(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> k = context.findInt("k");
  for (StringRef name : {"dim", "largest", "sorted"})
    if (!input || context.isDynamic(name))
      return context.unsupported();
  Builder &builder = context.builder();
  auto top = context.makeTyped<mp::TopKOp>(
      context.unknownTypes(2), input, k ? Value() : context.tensor("k"),
      k ? builder.getI64IntegerAttr(*k) : IntegerAttr(),
      builder.getI64IntegerAttr(context.getInt("dim", -1)),
      builder.getBoolAttr(context.getBool("largest", true)),
      builder.getBoolAttr(context.getBool("sorted", true)));
  context.setOutput(0, top.getValues());
  context.setOutput(1, top.getIndices());
  return success();
}

/// The k-th smallest, k from 1: one element of what is sorted.
static LogicalResult lowerKthValue(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> k = context.findInt("k");
  std::optional<int64_t> dim =
      input ? NodeContext::axisOf(input, context.getInt("dim", -1))
            : std::nullopt;
  if (!k || *k < 1 || !dim || context.isDynamic("dim"))
    return context.unsupported();
  if (NodeContext::rankOf(input) == 0) {
    context.setOutput(0, input);
    context.setOutput(1, makeInt(context, 0));
    return success();
  }
  auto sort = makeSort(context, input, *dim);
  for (OpResult result : sort->getResults()) {
    Value picked = slice(context, result, *dim, *k - 1, *k);
    if (!context.getBool("keepdim"))
      picked = squeeze(context, picked, *dim);
    context.setOutput(result.getResultNumber(), picked);
  }
  return success();
}

static LogicalResult lowerMedian(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("dim"))
    return context.unsupported();
  Builder &builder = context.builder();
  std::optional<int64_t> dim = context.findInt("dim");
  auto median = context.makeTyped<mp::MedianOp>(
      context.unknownTypes(2), input,
      dim ? builder.getI64IntegerAttr(*dim) : IntegerAttr(),
      builder.getBoolAttr(context.getBool("keepdim")));
  context.setOutput(0, median.getValues());
  if (context.numOutputs() == 2)
    context.setOutput(1, median.getIndices());
  return success();
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// Scans of integers are computed in i64, unless `dtype` says otherwise.
template <typename OpT> static LogicalResult lowerScan(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<int64_t> dim = context.findInt("dim");
  if (!input || !dim)
    return context.unsupported();
  input = toDtype(context, input);
  if (!input)
    return context.unsupported();
  if (!context.has("dtype") && isIntegral(input))
    input = context.cast(input, context.builder().getI64Type());
  context.setOutput(0,
                    context.make<OpT>(input, Value(),
                                      context.builder().getI64IntegerAttr(*dim),
                                      UnitAttr(), UnitAttr()));
  return success();
}

void mpopt::aten::registerSelection(LoweringRegistry &registry) {
  registry.add({"max", "max.dim"}, lowerMax<mp::ReduceMaxOp, mp::ArgMaxOp>);
  registry.add({"min", "min.dim"}, lowerMax<mp::ReduceMinOp, mp::ArgMinOp>);
  registry.add("aminmax", lowerAminmax);
  registry.add("argmax", lowerArg<mp::ArgMaxOp>);
  registry.add("argmin", lowerArg<mp::ArgMinOp>);
  registry.add({"sort", "argsort"}, lowerSort);
  registry.add("msort", lowerMsort);
  registry.add("topk", lowerTopK);
  registry.add("kthvalue", lowerKthValue);
  registry.add("median", lowerMedian);
  registry.add("cumsum", lowerScan<mp::CumSumOp>);
  registry.add("cumprod", lowerScan<mp::CumProdOp>);
}
