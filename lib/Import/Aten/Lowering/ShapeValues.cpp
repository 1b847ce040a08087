//===- ShapeValues.cpp - Shapes as values, rearrangements -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShapeValues.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

Value aten::makeInt(NodeContext &context, int64_t value) {
  return context.makeScalar(value, context.builder().getI64Type());
}

std::optional<int64_t> aten::staticDim(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  if (!shape || axis < 0 || axis >= int64_t(shape->size()) ||
      (*shape)[axis] == kDynamic)
    return std::nullopt;
  return (*shape)[axis];
}

Value aten::shapeValue(NodeContext &context, Value value) {
  MaybeShape shape = getShape(value);
  if (shape && !llvm::is_contained(*shape, kDynamic))
    return context.makeInts(*shape);
  return context.make<mp::ShapeOp>(value, 0, IntegerAttr());
}

Value aten::dimValue(NodeContext &context, Value value, int64_t axis) {
  if (std::optional<int64_t> dim = staticDim(value, axis))
    return makeInt(context, *dim);
  return gather(context, context.make<mp::ShapeOp>(value, 0, IntegerAttr()),
                makeInt(context, axis), 0);
}

Value aten::reshape(NodeContext &context, Value value, Value shape) {
  return context.make<mp::ReshapeOp>(value, shape, /*allow_zero=*/false);
}

Value aten::reshape(NodeContext &context, Value value,
                    ArrayRef<int64_t> shape) {
  // PyTorch's 0 is an empty dim, not one to copy.
  return context.make<mp::ReshapeOp>(
      value, context.makeInts(shape),
      /*allow_zero=*/llvm::is_contained(shape, 0));
}

Value aten::reshapeLike(NodeContext &context, Value value, Value like) {
  MaybeShape wanted = getShape(like);
  if (wanted && !llvm::is_contained(*wanted, kDynamic)) {
    if (getShape(value) == wanted)
      return value;
    return reshape(context, value, *wanted);
  }
  return reshape(context, value, shapeValue(context, like));
}

Value aten::expand(NodeContext &context, Value value, Value shape) {
  return context.make<mp::ExpandOp>(value, shape);
}

Value aten::expandLike(NodeContext &context, Value value, Value like) {
  MaybeShape wanted = getShape(like);
  if (wanted && !llvm::is_contained(*wanted, kDynamic) &&
      getShape(value) == wanted)
    return value;
  return expand(context, value, shapeValue(context, like));
}

Value aten::transpose(NodeContext &context, Value value,
                      ArrayRef<int64_t> perm) {
  return context.make<mp::TransposeOp>(
      value, context.builder().getDenseI64ArrayAttr(perm));
}

Value aten::unsqueeze(NodeContext &context, Value value, int64_t axis) {
  return context.make<mp::UnsqueezeOp>(
      value, Value(), context.builder().getDenseI64ArrayAttr(axis));
}

Value aten::squeeze(NodeContext &context, Value value, int64_t axis) {
  return context.make<mp::SqueezeOp>(
      value, Value(), context.builder().getDenseI64ArrayAttr(axis));
}

Value aten::slice(NodeContext &context, Value value, int64_t axis,
                  int64_t start, int64_t end, int64_t step) {
  Builder &builder = context.builder();
  return context.make<mp::SliceOp>(
      value, Value(), Value(), Value(), Value(),
      builder.getDenseI64ArrayAttr(start), builder.getDenseI64ArrayAttr(end),
      builder.getDenseI64ArrayAttr(axis), builder.getDenseI64ArrayAttr(step));
}

Value aten::concat(NodeContext &context, ArrayRef<Value> values, int64_t axis) {
  if (values.size() == 1)
    return values.front();
  return context.make<mp::ConcatOp>(values, axis);
}

Value aten::gather(NodeContext &context, Value value, Value indices,
                   int64_t axis) {
  return context.make<mp::GatherOp>(value, indices, axis);
}

Value aten::fill(NodeContext &context, Value shape, double number,
                 Type elementType) {
  Attribute element;
  if (isa<FloatType>(elementType))
    element = context.builder().getFloatAttr(elementType, number);
  else if (isa<IntegerType>(elementType))
    element = context.builder().getIntegerAttr(elementType, int64_t(number));
  else
    return {};
  auto type = RankedTensorType::get({1}, elementType);
  return context.make<mp::FillOp>(shape, DenseElementsAttr::get(type, element));
}

Value aten::iota(NodeContext &context, Value count) {
  return context.make<mp::RangeOp>(makeInt(context, 0), count,
                                   makeInt(context, 1));
}

SmallVector<int64_t> aten::moveDim(int64_t rank, int64_t from, int64_t to) {
  SmallVector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return perm;
}

SmallVector<int64_t> aten::invert(ArrayRef<int64_t> perm) {
  SmallVector<int64_t> inverse(perm.size());
  for (auto [position, dim] : llvm::enumerate(perm))
    inverse[dim] = position;
  return inverse;
}
