//===- Search.cpp - Positions in sorted lists, distinct elements ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A position in a sorted list is the number of its elements that are below.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ReductionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Numbers of elements of `list` (along its last dim) below the values, with
/// `right` those that are equal included.
static LogicalResult giveCounts(NodeContext &context, Value list, Value values,
                                bool right) {
  std::optional<int64_t> listRank = NodeContext::rankOf(list),
                         rank = NodeContext::rankOf(values);
  if (!listRank || !rank || *listRank == 0 ||
      (*listRank > 1 && *listRank != *rank) || context.has("sorter"))
    return context.unsupported();
  Type common =
      promoteElementTypes(getElementType(list), getElementType(values));
  list = context.cast(list, common);
  values = unsqueeze(context, context.cast(values, common), *rank);
  if (*listRank > 1)
    list = unsqueeze(context, list, *listRank - 1);
  Value below = right ? Value(context.make<mp::LessEqualOp>(list, values))
                      : Value(context.make<mp::LessOp>(list, values));
  Builder &builder = context.builder();
  Type element = context.getBool("out_int32") ? builder.getI32Type()
                                              : builder.getI64Type();
  context.setOutput(0, context.make<mp::ReduceSumOp>(
                           context.cast(below, element), Value(),
                           builder.getDenseI64ArrayAttr(*rank), false));
  return success();
}

static LogicalResult lowerBucketize(NodeContext &context) {
  return giveCounts(context, context.tensor("boundaries"),
                    context.tensor("self"), context.getBool("right"));
}

static LogicalResult lowerSearchSorted(NodeContext &context) {
  bool right = context.getBool("right") ||
               context.findString("side").value_or("left") == "right";
  return giveCounts(context, context.tensor("sorted_sequence"),
                    context.tensor("self"), right);
}

/// How many elements are in each of `bins` even parts of [min, max], whose end
/// is in the last part. Not covered: ends that the elements themselves set.
static LogicalResult lowerHistogram(NodeContext &context) {
  Value self = context.tensor("self");
  double lo = context.getNumber("min", 0), hi = context.getNumber("max", 0);
  std::optional<int64_t> bins = context.findInt("bins");
  if (!self || context.isDynamic("min") || context.isDynamic("max") || !bins ||
      !(lo < hi))
    return context.unsupported();
  Value first = constantLike(context, lo, self),
        last = constantLike(context, double(*bins - 1), self),
        end = constantLike(context, hi, self),
        scale = constantLike(context, double(*bins) / (hi - lo), self);
  if (!first || !last || !end || !scale)
    return context.unsupported();
  Value bin = context.make<mp::FloorOp>(Value(context.make<mp::MulOp>(
      Value(context.make<mp::SubOp>(self, first)), scale)));
  bin = context.make<mp::WhereOp>(Value(context.make<mp::EqualOp>(self, end)),
                                  last, bin);
  Value numbers = context.cast(iota(context, makeInt(context, *bins)),
                               getElementType(self));
  Value isIn = context.make<mp::EqualOp>(
      unsqueeze(context, reshape(context, bin, {-1}), 1), numbers);
  Builder &builder = context.builder();
  context.setOutput(0, context.make<mp::ReduceSumOp>(
                           context.cast(isIn, getElementType(self)), Value(),
                           builder.getDenseI64ArrayAttr({0}),
                           builder.getBoolAttr(false)));
  return success();
}

/// Values, inverse, counts.
static LogicalResult lowerUnique(NodeContext &context) {
  Value self = context.tensor("self");
  IntegerAttr axis;
  if (context.name() == "unique_dim") {
    std::optional<int64_t> dim =
        NodeContext::axisOf(self, context.getInt("dim", 0));
    if (!dim || context.isDynamic("dim"))
      return context.unsupported();
    axis = context.builder().getI64IntegerAttr(*dim);
  }
  auto unique = context.makeTyped<mp::UniqueOp>(context.unknownTypes(4), self,
                                                axis, true);
  Value results[] = {unique.getValues(), unique.getInverse(),
                     unique.getCounts()};
  if (!axis)
    results[1] = reshapeLike(context, results[1], self);
  for (unsigned output = 0; output < context.numOutputs() && output < 3;
       ++output)
    context.setOutput(output, results[output]);
  return success();
}

void aten::registerSearch(LoweringRegistry &registry) {
  registry.add("bucketize", lowerBucketize);
  registry.add("searchsorted", lowerSearchSorted);
  registry.add("histc", lowerHistogram);
  registry.add({"_unique2", "_unique", "unique_dim"}, lowerUnique);
}
