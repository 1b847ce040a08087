//===- ViewSteps.cpp - Views and what writing to them changes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A write to a slice is the concatenation of what is before it, the new part
// and what is after it. Where that does not do (steps, places computed at run
// time) the base is gathered from itself and the new part behind it, by an
// index that points into the latter inside of the slice: no arithmetic touches
// the values either way.
//
//===----------------------------------------------------------------------===//

#include "ViewSteps.h"

#include "ShapeValues.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Longer axes get their index by ops rather than by a constant.
static constexpr int64_t kMaxConstantIndex = 1 << 16;

Position aten::findPosition(NodeContext &context, StringRef input,
                            int64_t otherwise) {
  if (!context.has(input))
    return {otherwise, {}};
  if (std::optional<int64_t> known = context.findInt(input))
    return {known, {}};
  Value value = context.tensor(input);
  if (!value)
    return {};
  value = context.cast(value, context.builder().getI64Type());
  return {std::nullopt, reshape(context, value, ArrayRef<int64_t>())};
}

ViewStep aten::compose(ViewStep first, ViewStep second) {
  ViewStep both;
  both.derive = [a = first.derive, b = second.derive](NodeContext &context,
                                                      Value base) {
    return b(context, a(context, base));
  };
  if (first.writeBack && second.writeBack)
    both.writeBack = [first, second](NodeContext &context, Value base,
                                     Value updated) -> Value {
      Value middle =
          second.writeBack(context, first.derive(context, base), updated);
      return middle ? first.writeBack(context, base, middle) : Value();
    };
  return both;
}

ViewStep aten::sameView() {
  return {[](NodeContext &, Value base) { return base; },
          [](NodeContext &, Value, Value updated) { return updated; }};
}

ViewStep aten::shapeStep(std::function<Value(NodeContext &, Value)> derive) {
  return {std::move(derive),
          [](NodeContext &context, Value base, Value updated) {
            return reshapeLike(context, updated, base);
          }};
}

ViewStep aten::transposeStep(SmallVector<int64_t> perm) {
  return {[perm](NodeContext &context, Value base) {
            return transpose(context, base, perm);
          },
          [inverse = invert(perm)](NodeContext &context, Value, Value updated) {
            return transpose(context, updated, inverse);
          }};
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Where `position` is, counted from the front.
static Value fromFront(NodeContext &context, Value position, Value size) {
  Value isNegative = context.make<mp::LessOp>(position, makeInt(context, 0));
  Value counted = context.make<mp::AddOp>(position, size);
  return context.make<mp::WhereOp>(isNegative, counted, position);
}

/// Parts of a base and what is written to it: the result keeps the base's
/// dtype, that of operand `kept`, whatever is written.
static Value joinWrite(NodeContext &context, ArrayRef<Value> parts,
                       int64_t axis, int64_t kept) {
  Value joined = concat(context, parts, axis);
  if (auto op = joined.getDefiningOp<mp::ConcatOp>(); op && parts.size() > 1)
    op->setAttr("mp.keeps", context.builder().getI64IntegerAttr(kept));
  return joined;
}

/// Every position along `axis` takes the base's element, or, in the slice, the
/// one of `updated`, which is `updated`'s size long.
static Value writeByIndex(NodeContext &context, Value base, Value updated,
                          int64_t axis, Position start, int64_t step) {
  Value both = joinWrite(context, {base, updated}, axis, 0);
  std::optional<int64_t> size = staticDim(base, axis),
                         length = staticDim(updated, axis);
  if (start.known && size && length && *size <= kMaxConstantIndex) {
    int64_t first = *start.known < 0 ? *start.known + *size : *start.known;
    first = std::clamp<int64_t>(first, 0, *size);
    SmallVector<int64_t> indices;
    for (int64_t at = 0; at < *size; ++at) {
      int64_t place = at - first;
      bool inside = place >= 0 && place % step == 0 && place / step < *length;
      indices.push_back(inside ? *size + place / step : at);
    }
    return gather(context, both, context.makeInts(indices), axis);
  }
  Value count = dimValue(context, base, axis);
  Value first = start.known ? makeInt(context, *start.known) : start.computed;
  if (!start.known || *start.known < 0)
    first = fromFront(context, first, count);
  Value zero = makeInt(context, 0), stride = makeInt(context, step);
  Value at = iota(context, count);
  Value place = context.make<mp::SubOp>(at, first);
  Value inside = context.make<mp::GreaterEqualOp>(place, zero);
  if (step != 1) {
    Value rest = context.make<mp::ModOp>(place, stride, /*fmod=*/false);
    inside = context.make<mp::LogicalAndOp>(
        inside, context.make<mp::EqualOp>(rest, zero));
    place = context.make<mp::FloorDivOp>(place, stride);
  }
  Value before =
      context.make<mp::LessOp>(place, dimValue(context, updated, axis));
  inside = context.make<mp::LogicalAndOp>(inside, before);
  Value source = context.make<mp::AddOp>(place, count);
  return gather(context, both, context.make<mp::WhereOp>(inside, source, at),
                axis);
}

/// Null if what the places mean depends on an unknown size.
static Value writeSlice(NodeContext &context, Value base, Value updated,
                        int64_t axis, Position start, Position end,
                        int64_t step) {
  if (!start.known || !end.known || step != 1)
    return writeByIndex(context, base, updated, axis, start, step);
  int64_t first = *start.known, last = *end.known;
  SmallVector<Value> parts;
  if (std::optional<int64_t> size = staticDim(base, axis)) {
    auto place = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + *size : at, 0, *size);
    };
    first = place(first);
    last = place(last);
    if (last <= first)
      return base;
    if (first > 0)
      parts.push_back(slice(context, base, axis, 0, first));
    parts.push_back(updated);
    if (last < *size)
      parts.push_back(slice(context, base, axis, last, LLONG_MAX));
    return joinWrite(context, parts, axis, first > 0 ? 0 : 1);
  }
  if (last != LLONG_MAX && (first < 0) != (last < 0) && first < 0)
    return {};
  if ((first < 0) == (last < 0) && last <= first)
    return base;
  if (first != 0)
    parts.push_back(slice(context, base, axis, 0, first));
  parts.push_back(updated);
  if (last != LLONG_MAX)
    parts.push_back(slice(context, base, axis, last, LLONG_MAX));
  return joinWrite(context, parts, axis, first != 0 ? 0 : 1);
}

ViewStep aten::sliceStep(int64_t axis, Position start, Position end,
                         int64_t step) {
  auto derive = [=](NodeContext &context, Value base) -> Value {
    if (start.known && end.known)
      return slice(context, base, axis, *start.known, *end.known, step);
    Builder &builder = context.builder();
    auto places = [&](Position position) {
      return position.known ? context.makeInts({*position.known})
                            : reshape(context, position.computed, {1});
    };
    return context.make<mp::SliceOp>(
        base, places(start), places(end), Value(), Value(), DenseI64ArrayAttr(),
        DenseI64ArrayAttr(), builder.getDenseI64ArrayAttr(axis),
        builder.getDenseI64ArrayAttr(step));
  };
  auto writeBack = [=](NodeContext &context, Value base, Value updated) {
    return writeSlice(context, base, updated, axis, start, end, step);
  };
  return {derive, writeBack};
}

ViewStep aten::selectStep(int64_t axis, Position index) {
  auto derive = [=](NodeContext &context, Value base) {
    return gather(context, base,
                  index.known ? makeInt(context, *index.known) : index.computed,
                  axis);
  };
  auto writeBack = [=](NodeContext &context, Value base, Value updated) {
    Position end;
    if (index.known)
      end.known = *index.known == -1 ? LLONG_MAX : *index.known + 1;
    return writeSlice(context, base, unsqueeze(context, updated, axis), axis,
                      index, end, 1);
  };
  return {derive, writeBack};
}

//===----------------------------------------------------------------------===//
// Giving them
//===----------------------------------------------------------------------===//

static TensorView makeView(NodeContext &context, const ViewStep &step,
                           Value value) {
  std::function<NodeContext &()> kept = context.keep();
  TensorView view;
  view.value = value;
  view.derive = [kept, derive = step.derive](Value base) {
    return derive(kept(), base);
  };
  if (step.writeBack)
    view.writeBack = [kept, writeBack = step.writeBack](Value base,
                                                        Value updated) {
      return writeBack(kept(), base, updated);
    };
  return view;
}

LogicalResult aten::giveView(NodeContext &context, StringRef of,
                             ViewStep step) {
  Value base = context.tensor(of);
  Value value = base ? step.derive(context, base) : Value();
  if (!value)
    return context.unsupported();
  TensorView view = makeView(context, step, value);
  context.setView(0, of, value, view.derive, view.writeBack);
  return success();
}

LogicalResult aten::giveViews(NodeContext &context, StringRef of,
                              ArrayRef<ViewStep> steps,
                              ArrayRef<Value> values) {
  SmallVector<TensorView> views;
  for (auto [step, value] : llvm::zip_equal(steps, values))
    views.push_back(makeView(context, step, value));
  context.setOutputViews(0, of, views);
  return success();
}
