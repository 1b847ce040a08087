//===- Scalars.cpp - Python's arithmetic
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers, strings and comparisons of what is known are computed here
// (ScalarFold.h). Integers and booleans that depend on an open dim become
// rank-0 tensors, whose elements the dialect follows.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "ScalarFold.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

using Kind = Item::Kind;

/// The op on rank-0 tensors; null if there is none.
static Value makeDynamic(StringRef op, Value lhs, Value rhs, OpBuilder &builder,
                         Location location,
                         llvm::function_ref<void(Operation *)> finish) {
  mlir::Type unknown = getUnknownTensor(builder.getContext());
  auto make = [&](auto tag) -> Value {
    using OpT = decltype(tag);
    auto made = OpT::create(builder, location, unknown, lhs, rhs);
    finish(made);
    return made->getResult(0);
  };
  if (op == "add")
    return make(mp::AddOp());
  if (op == "sub")
    return make(mp::SubOp());
  if (op == "mul")
    return make(mp::MulOp());
  if (op == "eq")
    return make(mp::EqualOp());
  if (op == "lt")
    return make(mp::LessOp());
  if (op == "le")
    return make(mp::LessEqualOp());
  if (op == "gt")
    return make(mp::GreaterOp());
  if (op == "ge")
    return make(mp::GreaterEqualOp());
  if (op == "ne")
    return make(mp::NotEqualOp());
  if (op == "floordiv")
    return make(mp::FloorDivOp());
  return {};
}

bool GraphImporter::importScalar(const Node &node) {
  StringRef op = node.op;
  if (!op.consume_front("aten::") && !op.consume_front("prim::"))
    return false;
  if (node.outputs.size() != 1)
    return false;
  if (op == "is_grad_enabled" || op == "is_autocast_enabled" ||
      op == "is_autocast_cpu_enabled") {
    // Gradients are on unless a program says otherwise.
    bool inRegion =
        !autocast.empty() && autocast.back().isSet && autocast.back().enabled;
    set(node, 0, Item::boolean(op == "is_grad_enabled" || inRegion));
    return true;
  }
  if (node.inputs.empty())
    return false;
  // Whatever holds a tensor is for the lowerings.
  for (ValueId input : node.inputs)
    if (items[input].isTensor() && op != "__is__" && op != "__isnot__" &&
        op != "isinstance")
      return false;
  const StaticType &resultType = graph.values[node.outputs[0]].type;
  if (resultType.kind == StaticType::Kind::Tensor ||
      (resultType.kind == StaticType::Kind::List &&
       resultType.elements.front().kind == StaticType::Kind::Tensor))
    return false;
  Item lhs = items[node.inputs[0]];
  Item rhs = node.inputs.size() > 1 ? items[node.inputs[1]] : Item();
  auto give = [&](std::optional<Item> item) {
    set(node, 0, item ? *item : unknownItem(resultType, locationOf(node)));
    return true;
  };
  if (op == "__is__" || op == "__isnot__") {
    if (lhs.kind == Kind::Unknown || rhs.kind == Kind::Unknown)
      return give(std::nullopt);
    bool same =
        lhs.isNone() == rhs.isNone() && (lhs.isNone() || isSame(lhs, rhs));
    return give(Item::boolean(same == (op == "__is__")));
  }
  if (op == "format" || op == "str") {
    // What it says matters to whoever reads it; here, whether it says anything.
    std::string text = op == "str" ? "{}" : lhs.text;
    size_t from = 0;
    for (ValueId id : ArrayRef(node.inputs).drop_front(op == "format")) {
      size_t at = text.find("{}", from);
      if (at == std::string::npos)
        break;
      const Item &part = items[id];
      std::string written = part.kind == Kind::String ? part.text
                            : part.isStatic() && part.kind != Kind::Float
                                ? std::to_string(part.integer)
                                : "?";
      text.replace(at, 2, written);
      from = at + written.size();
    }
    return give(Item::string(text));
  }
  if (op == "len" && lhs.kind == Kind::String)
    return give(Item::integerOf(lhs.text.size()));
  if ((op == "any" || op == "all") && node.inputs.size() == 1 &&
      lhs.collection) {
    // One member may decide; else all must be known.
    bool decides = op == "any", decided = lhs.collection->known;
    for (const Item &member : lhs.collection->items) {
      if (member.isStatic() && (member.number() != 0) == decides)
        return give(Item::boolean(decides));
      decided &= member.isStatic();
    }
    return give(decided ? std::optional(Item::boolean(!decides))
                        : std::nullopt);
  }
  if (op == "device" && lhs.kind == Kind::String) {
    Item device = lhs;
    device.kind = Kind::Device;
    device.text = StringRef(lhs.text).split(':').first.str();
    return give(device);
  }
  if (op == "type" && lhs.kind == Kind::Device)
    return give(Item::string(lhs.text));
  // Of `range(start, end, step)`.
  auto isKnown = [&](unsigned index) {
    return items[node.inputs[index]].isStatic();
  };
  auto known = [&](unsigned index) {
    return items[node.inputs[index]].integer;
  };
  if (op == "__range_length" && node.inputs.size() == 3 && isKnown(0) &&
      isKnown(1) && isKnown(2)) {
    int64_t start = known(0), end = known(1), step = known(2);
    if (step == 0)
      return give(std::nullopt);
    bool isEmpty = step > 0 ? start >= end : start <= end;
    uint64_t span = step > 0 ? uint64_t(end) - uint64_t(start)
                             : uint64_t(start) - uint64_t(end);
    uint64_t stride = step > 0 ? uint64_t(step) : -uint64_t(step);
    return give(Item::integerOf(
        isEmpty ? 0 : int64_t(span / stride + (span % stride != 0))));
  }
  if (op == "__derive_index" && node.inputs.size() == 3 && isKnown(1) &&
      isKnown(2)) {
    if (isKnown(0))
      return give(Item::integerOf(int64_t(
          uint64_t(known(1)) + uint64_t(known(0)) * uint64_t(known(2)))));
    if (!lhs.isNumber())
      return give(std::nullopt);
    auto keep = [&](Operation *made) { finish(made); };
    Location location = locationOf(node);
    Value scaled =
        makeDynamic("mul", valueOf(lhs), valueOf(items[node.inputs[2]]),
                    builder, location, keep);
    return give(Item::computed(
        Kind::Int, makeDynamic("add", scaled, valueOf(items[node.inputs[1]]),
                               builder, location, keep)));
  }
  if (lhs.isStatic() && node.inputs.size() == 1)
    return give(fold::unary(op, lhs));
  if (lhs.isStatic() && rhs.isStatic() && node.inputs.size() == 2)
    return give(fold::binary(op, lhs, rhs));
  if ((lhs.kind == Kind::String || lhs.kind == Kind::Device) &&
      lhs.kind == rhs.kind)
    return give(fold::strings(op, lhs, rhs));
  if ((op == "eq" || op == "ne") && lhs.collection && rhs.collection) {
    std::optional<bool> equal = fold::equalLists(lhs, rhs);
    return give(equal ? std::optional(Item::boolean(*equal == (op == "eq")))
                      : std::nullopt);
  }
  if ((op == "min" || op == "max") && lhs.collection && lhs.collection->known &&
      llvm::all_of(lhs.collection->items,
                   [](const Item &member) { return member.isStatic(); })) {
    std::optional<Item> best;
    for (const Item &member : lhs.collection->items)
      best = best ? fold::binary(op, *best, member) : member;
    return give(best);
  }
  if (!lhs.isNumber())
    return give(std::nullopt);
  // `__and__` and `__or__` of what is half known.
  for (const Item *known : {&lhs, &rhs})
    if (known->isStatic() && known->kind == Kind::Bool &&
        resultType.kind == StaticType::Kind::Bool) {
      const Item &other = known == &lhs ? rhs : lhs;
      if (op == "__and__")
        return give(known->integer ? other : Item::boolean(false));
      if (op == "__or__")
        return give(known->integer ? Item::boolean(true) : other);
    }
  Location location = locationOf(node);
  auto finished = [&](Operation *made) { finish(made); };
  Value result;
  if (op == "Int" || op == "Float" || op == "Bool" || op == "ScalarImplicit") {
    mlir::Type element = op == "Int"     ? mlir::Type(builder.getI64Type())
                         : op == "Float" ? mlir::Type(builder.getF64Type())
                         : op == "Bool"  ? mlir::Type(builder.getI1Type())
                                         : getElementType(lhs.dynamic);
    auto made = mp::CastOp::create(
        builder, location, RankedTensorType::get({}, element), lhs.dynamic,
        mp::CastOrigin::Model, false, StringAttr());
    finish(made);
    result = made.getResult();
  } else if (op == "neg" || op == "__not__") {
    Operation *made =
        op == "neg"
            ? mp::NegOp::create(builder, location, getUnknownTensor(context),
                                lhs.dynamic)
                  .getOperation()
            : mp::LogicalNotOp::create(builder, location,
                                       getUnknownTensor(context), lhs.dynamic);
    finish(made);
    result = made->getResult(0);
  } else if (rhs.isNumber()) {
    result = makeDynamic(op, valueOf(lhs), valueOf(rhs), builder, location,
                         finished);
  }
  if (!result)
    return give(std::nullopt);
  Item item =
      Item::computed(resultType.kind == StaticType::Kind::Bool    ? Kind::Bool
                     : resultType.kind == StaticType::Kind::Float ? Kind::Float
                                                                  : Kind::Int,
                     result);
  // Known after all: a product with 0, or an element that inference followed.
  if (item.kind != Kind::Float)
    if (auto known = facts.constants(result); known && known->size() == 1) {
      item.dynamic = {};
      item.integer = known->front();
    }
  return give(item);
}
