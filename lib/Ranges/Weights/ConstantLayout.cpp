//===- ConstantLayout.cpp - Constants that were cut and joined
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Weights/ConstantLayout.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/RangeInterface.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;

/// Deeper chains are no layout of weights.
static constexpr unsigned kMostDepth = 16;

static std::optional<std::vector<double>>
read(TransferContext &ctx, Value value, int64_t most, unsigned depth);

/// Elements that `axis` and the axes after it span, if all before are of
/// size 1.
static std::optional<int64_t> elementsFrom(Value value, int64_t axis) {
  MaybeShape shape = getShape(value);
  std::optional<int64_t> index =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  if (!index || llvm::any_of(ArrayRef(*shape).take_front(*index),
                             [](int64_t dim) { return dim != 1; }))
    return std::nullopt;
  return getNumElements(Shape(ArrayRef(*shape).drop_front(*index)));
}

static std::optional<std::vector<double>>
readSlice(TransferContext &ctx, mp::SliceOp op, int64_t most, unsigned depth) {
  auto starts = op.getStarts(), ends = op.getEnds(), axes = op.getAxes(),
       steps = op.getSteps();
  if (!starts || !ends || !axes || starts->size() != 1 || ends->size() != 1 ||
      axes->size() != 1 || (steps && (steps->size() != 1 || (*steps)[0] != 1)))
    return std::nullopt;
  MaybeShape shape = getShape(op.getInput());
  std::optional<int64_t> all = elementsFrom(op.getInput(), (*axes)[0]);
  if (!all)
    return std::nullopt;
  int64_t dim = (*shape)[*normalizeAxis((*axes)[0], shape->size())];
  auto place = [&](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + dim : at, 0, dim);
  };
  int64_t first = place((*starts)[0]), last = place((*ends)[0]);
  auto whole = read(ctx, op.getInput(), most, depth);
  if (!whole || dim == 0 || int64_t(whole->size()) != *all || last <= first)
    return std::nullopt;
  int64_t row = *all / dim;
  return std::vector<double>(whole->begin() + first * row,
                             whole->begin() + last * row);
}

static std::optional<std::vector<double>> readConcat(TransferContext &ctx,
                                                     mp::ConcatOp op,
                                                     int64_t most,
                                                     unsigned depth) {
  std::vector<double> joined;
  for (Value part : op->getOperands()) {
    std::optional<int64_t> size = elementsFrom(part, op.getAxis());
    auto elements = size ? read(ctx, part, most, depth) : std::nullopt;
    if (!elements || int64_t(elements->size()) != *size ||
        int64_t(joined.size() + elements->size()) > most)
      return std::nullopt;
    llvm::append_range(joined, *elements);
  }
  return joined;
}

static std::optional<std::vector<double>>
readCast(TransferContext &ctx, mp::CastOp op, int64_t most, unsigned depth) {
  const FloatFormat *from = getFloatFormat(getElementType(op.getInput())),
                    *to = getFloatFormat(getElementType(op.getResult()));
  auto elements =
      from && to ? read(ctx, op.getInput(), most, depth) : std::nullopt;
  if (elements)
    for (double &element : *elements)
      element = to->round(element);
  return elements;
}

static std::optional<std::vector<double>>
read(TransferContext &ctx, Value value, int64_t most, unsigned depth) {
  if (std::optional<WeightView> view = ctx.weights(value)) {
    if (view->size() > most)
      return std::nullopt;
    std::vector<double> elements(view->size());
    view->read(0, elements);
    return elements;
  }
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (isa<mp::UnsqueezeOp, mp::SqueezeOp, mp::ReshapeOp, mp::IdentityOp>(op))
    return read(ctx, op->getOperand(0), most, depth - 1);
  if (auto slice = dyn_cast<mp::SliceOp>(op))
    return readSlice(ctx, slice, most, depth - 1);
  if (auto concat = dyn_cast<mp::ConcatOp>(op))
    return readConcat(ctx, concat, most, depth - 1);
  if (auto cast = dyn_cast<mp::CastOp>(op))
    return readCast(ctx, cast, most, depth - 1);
  return std::nullopt;
}

std::optional<std::vector<double>>
mpopt::readLaidOut(TransferContext &ctx, Value value, int64_t most) {
  return read(ctx, value, most, kMostDepth);
}
