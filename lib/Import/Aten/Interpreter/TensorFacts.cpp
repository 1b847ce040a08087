//===- TensorFacts.cpp - What a program asks of a tensor ------------------===//
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Its rank, sizes, dtype, device. An answer that is not known becomes an op
// where there is one (a dim), else an unknown number.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

using Kind = Item::Kind;

/// The number of an element type in c10::ScalarType.
static std::optional<int64_t> scalarTypeOf(mlir::Type element) {
  for (int64_t number = 0; number < 45; ++number)
    if (NodeContext::elementTypeOf(element.getContext(), number) == element)
      return number;
  return std::nullopt;
}

bool GraphImporter::importTensorFact(const Node &node) {
  if (node.inputs.empty() || node.outputs.size() != 1 ||
      !items[node.inputs[0]].isTensor())
    return false;
  StringRef op = node.op;
  if (!op.consume_front("aten::") && !op.consume_front("prim::"))
    return false;
  Location location = locationOf(node);
  auto give = [&](Item item) {
    set(node, 0, std::move(item));
    return true;
  };
  auto giveKnown = [&](std::optional<int64_t> number, Kind kind = Kind::Int) {
    if (!number)
      return give(unknownItem(graph.values[node.outputs[0]].type, location));
    Item item = Item::integerOf(*number);
    item.kind = kind;
    return give(item);
  };
  auto tensor = [&] { return valueOf(items[node.inputs[0]]); };

  // One dim: static, or picked from the shape.
  auto dimOf = [&](Value value, int64_t dim) -> Item {
    MaybeShape shape = getShape(value);
    if (shape) {
      std::optional<int64_t> axis = normalizeAxis(dim, shape->size());
      if (!axis)
        return unknownItem({StaticType::Kind::Int, {}}, location);
      if ((*shape)[*axis] != kDynamic)
        return Item::integerOf((*shape)[*axis]);
      dim = *axis;
    }
    auto sizes = mp::ShapeOp::create(
        builder, location, getUnknownTensor(context), value, 0, IntegerAttr());
    finish(sizes);
    Value index = valueOf(Item::integerOf(dim));
    auto picked =
        mp::GatherOp::create(builder, location, getUnknownTensor(context),
                             sizes.getResult(), index, 0);
    finish(picked);
    return Item::computed(Kind::Int, picked.getResult());
  };

  if (op == "size" || op == "sym_size") {
    Value value = tensor();
    if (node.inputs.size() == 2) {
      const Item &dim = items[node.inputs[1]];
      if (!dim.isStatic())
        return giveKnown(std::nullopt);
      return give(dimOf(value, dim.integer));
    }
    MaybeShape shape = getShape(value);
    if (!shape)
      return give(unknownItem(graph.values[node.outputs[0]].type, location));
    std::vector<Item> sizes;
    for (int64_t dim = 0; dim < int64_t(shape->size()); ++dim)
      sizes.push_back(dimOf(value, dim));
    return give(Item::list(std::move(sizes)));
  }
  if (op == "dim" || op == "ndim" || op == "ndimension") {
    MaybeShape shape = getShape(tensor());
    return giveKnown(shape ? std::optional<int64_t>(shape->size())
                           : std::nullopt);
  }
  if (op == "len")
    return give(dimOf(tensor(), 0));
  if (op == "numel") {
    Value value = tensor();
    if (std::optional<int64_t> count = getNumElements(getShape(value)))
      return giveKnown(count);
    auto size =
        mp::SizeOp::create(builder, location, getUnknownTensor(context), value);
    finish(size);
    return give(Item::computed(Kind::Int, size.getResult()));
  }
  if (op == "dtype" || op == "scalar_type") {
    mlir::Type element = getElementType(tensor());
    return giveKnown(isUnknown(element) ? std::nullopt : scalarTypeOf(element));
  }
  if (op == "is_floating_point" || op == "is_complex") {
    mlir::Type element = getElementType(tensor());
    if (isUnknown(element))
      return giveKnown(std::nullopt);
    return giveKnown(op == "is_complex" ? isa<ComplexType>(element)
                                        : isa<FloatType>(element),
                     Kind::Bool);
  }
  if (op == "device") {
    // Where it will run is not in the file; programs ask to make a tensor
    // beside another one.
    Item device = Item::string("cpu");
    device.kind = Kind::Device;
    return give(device);
  }
  if (op == "is_cuda" || op == "is_quantized" || op == "is_sparse" ||
      op == "is_mkldnn" || op == "is_mps" || op == "is_xpu" ||
      op == "is_nested" || op == "is_meta")
    return giveKnown(0, Kind::Bool);
  if (op == "requires_grad" || op == "is_leaf")
    return giveKnown(0, Kind::Bool);
  if (op == "is_contiguous" || op == "is_non_overlapping_and_dense")
    return giveKnown(1, Kind::Bool);
  if (op == "layout")
    return giveKnown(0);
  if (op == "get_device")
    return giveKnown(-1);
  if (op == "item" || op == "Int" || op == "Float" || op == "Bool" ||
      op == "IntImplicit" || op == "FloatImplicit" || op == "ScalarImplicit" ||
      op == "is_nonzero") {
    Value value = tensor();
    mlir::Type element = getElementType(value);
    Kind kind = op == "Bool" || op == "is_nonzero"       ? Kind::Bool
                : op == "Int" || op == "IntImplicit"     ? Kind::Int
                : op == "Float" || op == "FloatImplicit" ? Kind::Float
                : isa<FloatType>(element)                ? Kind::Float
                : element.isSignlessInteger(1)           ? Kind::Bool
                                                         : Kind::Int;
    if (auto known = facts.constants(value);
        known && known->size() == 1 && kind != Kind::Float)
      return giveKnown(
          kind == Kind::Bool ? known->front() != 0 : known->front(), kind);
    mlir::Type wanted = kind == Kind::Float  ? mlir::Type(builder.getF64Type())
                        : kind == Kind::Bool ? mlir::Type(builder.getI1Type())
                                             : mlir::Type(builder.getI64Type());
    // Of shape [1] or []: a rank-0 tensor either way.
    auto none = RankedTensorType::get({0}, builder.getI64Type());
    auto shape = mp::ConstantOp::create(
        builder, location, none,
        DenseIntElementsAttr::get(none, ArrayRef<int64_t>()));
    auto reshaped =
        mp::ReshapeOp::create(builder, location, getUnknownTensor(context),
                              value, shape.getResult(), false);
    finish(reshaped);
    auto number = mp::CastOp::create(
        builder, location, RankedTensorType::get({}, wanted),
        reshaped.getResult(), mp::CastOrigin::Model, false, StringAttr());
    finish(number);
    return give(Item::computed(kind, number.getResult()));
  }
  return false;
}
