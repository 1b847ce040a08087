//===- TensorFacts.cpp - Questions of a program about a tensor ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program asks for rank, sizes, dtype and device. An answer that is not known
// becomes an op where there is one (a dim), else an unknown number.
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

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

static Value getTensor(Evaluation &evaluation) {
  return evaluation.valueOf(evaluation.input(0));
}

static Item makeNumber(Kind kind, int64_t integer) {
  Item item = Item::integerOf(integer);
  item.kind = kind;
  return item;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// One dim: static, or picked from the shape.
static Item dimOf(Evaluation &evaluation, Value value, int64_t dim) {
  if (MaybeShape shape = getShape(value)) {
    std::optional<int64_t> axis = normalizeAxis(dim, shape->size());
    if (!axis)
      return evaluation.unknownItem({StaticType::Kind::Int, {}});
    if ((*shape)[*axis] != kDynamic)
      return Item::integerOf((*shape)[*axis]);
    dim = *axis;
  }
  Value sizes = evaluation.make<mp::ShapeOp>(value, 0, IntegerAttr());
  Value index = evaluation.valueOf(Item::integerOf(dim));
  return Item::computed(Kind::Int,
                        evaluation.make<mp::GatherOp>(sizes, index, 0));
}

static LogicalResult getSize(Evaluation &evaluation) {
  Value value = getTensor(evaluation);
  if (evaluation.numInputs() == 2) {
    const Item &dim = evaluation.input(1);
    if (!dim.isStatic())
      return evaluation.giveUnknown();
    return evaluation.give(dimOf(evaluation, value, dim.integer));
  }
  MaybeShape shape = getShape(value);
  if (!shape)
    return evaluation.giveUnknown();
  std::vector<Item> sizes;
  for (int64_t dim = 0; dim < int64_t(shape->size()); ++dim)
    sizes.push_back(dimOf(evaluation, value, dim));
  return evaluation.give(Item::list(std::move(sizes)));
}

static LogicalResult getRank(Evaluation &evaluation) {
  MaybeShape shape = getShape(getTensor(evaluation));
  if (!shape)
    return evaluation.giveUnknown();
  return evaluation.give(Item::integerOf(shape->size()));
}

static LogicalResult getLength(Evaluation &evaluation) {
  return evaluation.give(dimOf(evaluation, getTensor(evaluation), 0));
}

static LogicalResult countElements(Evaluation &evaluation) {
  Value value = getTensor(evaluation);
  if (std::optional<int64_t> count = getNumElements(getShape(value)))
    return evaluation.give(Item::integerOf(*count));
  return evaluation.give(
      Item::computed(Kind::Int, evaluation.make<mp::SizeOp>(value)));
}

//===----------------------------------------------------------------------===//
// Dtype
//===----------------------------------------------------------------------===//

static LogicalResult getDtype(Evaluation &evaluation) {
  mlir::Type element = getElementType(getTensor(evaluation));
  std::optional<int64_t> number =
      isUnknown(element) ? std::nullopt : scalarTypeOf(element);
  if (!number)
    return evaluation.giveUnknown();
  return evaluation.give(Item::integerOf(*number));
}

template <typename TypeT>
static LogicalResult isOfType(Evaluation &evaluation) {
  mlir::Type element = getElementType(getTensor(evaluation));
  if (isUnknown(element))
    return evaluation.giveUnknown();
  return evaluation.give(Item::boolean(isa<TypeT>(element)));
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

/// The device that the model will run on is not in the file; programs ask for
/// it to make a tensor beside another one.
static LogicalResult getDevice(Evaluation &evaluation) {
  Item device = Item::string("cpu");
  device.kind = Kind::Device;
  return evaluation.give(device);
}

template <Kind kKind, int64_t kAnswer>
static LogicalResult answer(Evaluation &evaluation) {
  return evaluation.give(makeNumber(kKind, kAnswer));
}

//===----------------------------------------------------------------------===//
// The only element
//===----------------------------------------------------------------------===//

/// A tensor of shape [1] or [] as a number.
static Value makeScalar(Evaluation &evaluation, Value value, Kind kind) {
  OpBuilder &builder = evaluation.builder();
  auto none = RankedTensorType::get({0}, builder.getI64Type());
  auto shape = mp::ConstantOp::create(
      builder, evaluation.loc(), none,
      DenseIntElementsAttr::get(none, ArrayRef<int64_t>()));
  Value reshaped =
      evaluation.make<mp::ReshapeOp>(value, shape.getResult(), false);
  return evaluation
      .makeTyped<mp::CastOp>({numberType(kind, builder.getContext())}, reshaped,
                             mp::CastOrigin::Model, false, StringAttr())
      .getResult();
}

static LogicalResult giveElement(Evaluation &evaluation, Kind kind) {
  Value value = getTensor(evaluation);
  if (auto known = evaluation.facts().constants(value);
      known && known->size() == 1 && kind != Kind::Float)
    return evaluation.give(makeNumber(
        kind, kind == Kind::Bool ? known->front() != 0 : known->front()));
  return evaluation.give(
      Item::computed(kind, makeScalar(evaluation, value, kind)));
}

template <Kind kKind>
static LogicalResult convertElement(Evaluation &evaluation) {
  return giveElement(evaluation, kKind);
}

/// The element as a number of the kind that the dtype has.
static LogicalResult getElement(Evaluation &evaluation) {
  mlir::Type element = getElementType(getTensor(evaluation));
  return giveElement(evaluation, isa<FloatType>(element)        ? Kind::Float
                                 : element.isSignlessInteger(1) ? Kind::Bool
                                                                : Kind::Int);
}

void aten::registerTensorHandlers(HandlerTable &tensors) {
  tensors.add({"size", "sym_size"}, getSize);
  tensors.add({"dim", "ndim", "ndimension"}, getRank);
  tensors.add("len", getLength);
  tensors.add("numel", countElements);
  tensors.add({"dtype", "scalar_type"}, getDtype);
  tensors.add("is_floating_point", isOfType<FloatType>);
  tensors.add("is_complex", isOfType<ComplexType>);
  tensors.add("device", getDevice);
  tensors.add({"is_cuda", "is_quantized", "is_sparse", "is_mkldnn", "is_mps",
               "is_xpu", "is_nested", "is_meta", "requires_grad", "is_leaf"},
              answer<Kind::Bool, 0>);
  tensors.add({"is_contiguous", "is_non_overlapping_and_dense"},
              answer<Kind::Bool, 1>);
  tensors.add("layout", answer<Kind::Int, 0>);
  tensors.add("get_device", answer<Kind::Int, -1>);
  tensors.add({"item", "_local_scalar_dense", "ScalarImplicit"}, getElement);
  tensors.add({"Int", "IntImplicit"}, convertElement<Kind::Int>);
  tensors.add({"Float", "FloatImplicit"}, convertElement<Kind::Float>);
  tensors.add({"Bool", "is_nonzero"}, convertElement<Kind::Bool>);
}
