//===- Constants.cpp - Literals, parameters and buffers -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor that lies row-major in the archive is a reference to its bytes. One
// whose memory is permuted (a transposed weight) is such a reference followed
// by `mp.transpose`. Quantised tensors are the stored integers followed by
// `mp.dequantize`.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"

#include "../Lowering/Complex.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/TypeJoin.h"
#include "mpopt/Support/WeightStore.h"

#include <numeric>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

/// Weights below this are kept in the IR, where folders can look at them.
static constexpr int64_t kInlineBytes = 1024;

static int64_t countOf(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

/// The dims in the order in which they lie in memory, outermost first.
static SmallVector<int64_t> memoryOrder(const Tensor &tensor) {
  SmallVector<int64_t> order(tensor.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t lhs, int64_t rhs) {
    return tensor.strides[lhs] > tensor.strides[rhs];
  });
  return order;
}

/// The tensor without what its dims of stride 0 repeat.
static Tensor withoutRepeats(const Tensor &tensor) {
  Tensor result = tensor;
  for (auto [size, stride] : llvm::zip_equal(result.sizes, result.strides))
    if (stride == 0 && size > 1)
      size = 1;
  return result;
}

/// MLIR packs booleans, one bit each.
static DenseElementsAttr makeElements(RankedTensorType type,
                                      ArrayRef<char> bytes) {
  if (!type.getElementType().isSignlessInteger(1))
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  SmallVector<bool> values(llvm::map_range(bytes, [](char c) { return c; }));
  return DenseElementsAttr::get(type, values);
}

/// The bytes of so many elements; a complex number is two.
static int64_t byteLength(mlir::Type element, int64_t count) {
  int64_t width = 0;
  if (auto complex = dyn_cast<ComplexType>(element))
    width = 2 * int64_t(complex.getElementType().getIntOrFloatBitWidth());
  else
    width = element.getIntOrFloatBitWidth();
  return count * std::max<int64_t>(width / 8, 1);
}

Attribute GraphImporter::storedElements(const Tensor &tensor,
                                        RankedTensorType type, int64_t length) {
  if (!tensor.bytes.empty() || length == 0) {
    if (int64_t(tensor.bytes.size()) != length)
      return {};
    return makeElements(type, ArrayRef<char>(tensor.bytes.data(), length));
  }
  if (tensor.fileOffset < 0)
    return {};
  if (length <= kInlineBytes) {
    mp::MPDialect *dialect = context->getLoadedDialect<mp::MPDialect>();
    auto bytes = dialect->getWeights().bytes(path, tensor.fileOffset, length);
    if (bytes)
      return makeElements(type, *bytes);
    llvm::consumeError(bytes.takeError());
  }
  return mp::WeightAttr::get(context, builder.getStringAttr(path),
                             tensor.fileOffset, length);
}

Value GraphImporter::makeConstant(mlir::Type type, Attribute elements,
                                  Location location) {
  auto constant = mp::ConstantOp::create(builder, location, type, elements);
  finish(constant);
  return constant.getResult();
}

Value GraphImporter::dequantize(const Tensor &tensor, Value stored,
                                Location location) {
  // See Lowering/Quantized.cpp.
  mlir::Type element = NodeContext::elementTypeOf(context, tensor.scalarType);
  SmallVector<int64_t> channels;
  if (tensor.axis >= 0)
    channels.push_back(tensor.scales.size());
  auto scaleType = RankedTensorType::get(channels, builder.getF32Type()),
       zeroType = RankedTensorType::get(channels, element);
  SmallVector<Attribute> scales, zeros;
  for (auto [scale, zero] : llvm::zip_equal(tensor.scales, tensor.zeroPoints)) {
    scales.push_back(builder.getF32FloatAttr(float(scale)));
    zeros.push_back(builder.getIntegerAttr(element, zero));
  }
  Value scale = makeConstant(
      scaleType, DenseElementsAttr::get(scaleType, scales), location);
  Value zero =
      makeConstant(zeroType, DenseElementsAttr::get(zeroType, zeros), location);
  auto real = mp::DequantizeOp::create(
      builder, location, getUnknownTensor(context), stored, scale, zero,
      std::max<int64_t>(tensor.axis, 0), 0, TypeAttr(), DenseI64ArrayAttr());
  finish(real);
  return real.getResult();
}

/// The type that stands in for an op's: what training changes, or does not.
static StringRef typeOf(const Tensor &tensor) {
  // Lists of parameters are attributes of their own.
  if (tensor.name.empty() || tensor.requiresGrad)
    return "Parameter";
  return tensor.isParameter ? "FrozenParameter" : "Buffer";
}

Value GraphImporter::importTensor(const Tensor &tensor, Location location) {
  if (Tensor distinct = withoutRepeats(tensor); distinct.sizes != tensor.sizes)
    return repeat(importTensor(distinct, location), tensor.sizes);
  auto opaque = [&](mlir::Type type) {
    return mp::OpaqueOp::create(builder, location, TypeRange(type),
                                "torch::tensor", ValueRange(), 0)
        ->getResult(0);
  };
  mlir::Type element = NodeContext::elementTypeOf(context, tensor.scalarType);
  if (!element)
    return opaque(getUnknownTensor(context));
  SmallVector<int64_t> order = memoryOrder(tensor);
  SmallVector<int64_t> sizes;
  for (int64_t dim : order)
    sizes.push_back(tensor.sizes[dim]);
  // Complex numbers lie in the file as pairs of real ones.
  int64_t length = byteLength(element, countOf(sizes));
  auto complex = dyn_cast<ComplexType>(element);
  if (complex) {
    element = complex.getElementType();
    order.push_back(int64_t(sizes.size()));
    sizes.push_back(2);
  }
  auto type = RankedTensorType::get(sizes, element);
  Attribute elements = storedElements(tensor, type, length);
  if (!elements)
    return opaque(type);
  Location origin =
      makeOrigin(context, tensor.name.empty() ? "constant" : tensor.name,
                 typeOf(tensor), "", {tensor.name}, location);
  Value result = makeConstant(type, elements, origin);
  if (!llvm::is_sorted(order)) {
    SmallVector<int64_t> inverse(order.size());
    for (auto [position, dim] : llvm::enumerate(order))
      inverse[dim] = position;
    auto transpose =
        mp::TransposeOp::create(builder, origin, getUnknownTensor(context),
                                result, builder.getDenseI64ArrayAttr(inverse));
    finish(transpose);
    result = transpose.getResult();
  }
  if (complex)
    return makeComplexOfPairs(builder, origin, result,
                              [&](Operation *op) { finish(op); });
  return tensor.scales.empty() ? result : dequantize(tensor, result, origin);
}

Value GraphImporter::repeat(Value value, ArrayRef<int64_t> sizes) {
  auto type =
      RankedTensorType::get(int64_t(sizes.size()), builder.getI64Type());
  Location location = value.getLoc();
  Value shape =
      makeConstant(type, DenseElementsAttr::get(type, sizes), location);
  auto expand = mp::ExpandOp::create(builder, location,
                                     getUnknownTensor(context), value, shape);
  finish(expand);
  return expand.getResult();
}

Item GraphImporter::importConstant(const Constant &constant, const Node &node) {
  using Kind = Constant::Kind;
  std::vector<Item> members;
  for (const Constant &element : constant.elements)
    members.push_back(importConstant(element, node));
  switch (constant.kind) {
  case Kind::None:
    return Item::none();
  case Kind::Bool:
    return Item::boolean(constant.integer);
  case Kind::Int:
    return Item::integerOf(constant.integer);
  case Kind::Float:
    return Item::floating(constant.real);
  case Kind::Complex: {
    Item item = Item::floating(constant.real);
    item.kind = Item::Kind::Complex;
    item.imaginary = constant.imaginary;
    return item;
  }
  case Kind::String:
    return Item::string(constant.string);
  case Kind::Device: {
    Item item = Item::string(constant.string);
    item.kind = Item::Kind::Device;
    return item;
  }
  case Kind::Tensor:
    return savedTensor(constant.integer, node);
  case Kind::List:
    return Item::list(std::move(members));
  case Kind::Tuple:
    return Item::tuple(std::move(members));
  case Kind::Dict:
    return Item::collectionOf(Item::Kind::Dict, std::move(members));
  case Kind::Object: {
    Item item = Item::collectionOf(Item::Kind::Object, {});
    item.text = constant.string;
    return item;
  }
  }
  llvm_unreachable("unknown kind of constant");
}

Item GraphImporter::savedTensor(int64_t index, const Node &node) {
  const Tensor &tensor = graph.tensors[index];
  if (entry.memory.count(tensor.memory)) {
    mlir::Type type = getUnknownTensor(context);
    mlir::Type element = NodeContext::elementTypeOf(context, tensor.scalarType);
    if (element && tensor.scales.empty())
      type = RankedTensorType::get(tensor.sizes, element);
    return changedTensor(type, tensor.name,
                         tensor.name.empty() || isSharedMemory(tensor.memory),
                         locationOf(node));
  }
  Value &value = tensorValues[index];
  if (!value) {
    // At the start of the function, so that every block can use it, in the
    // order of use: which weight is the last one is asked of training.
    OpBuilder::InsertionGuard guard(builder);
    auto function = *result.module->getOps<func::FuncOp>().begin();
    if (lastTensor)
      builder.setInsertionPointAfter(lastTensor);
    else
      builder.setInsertionPointToStart(&function.getBody().front());
    value = importTensor(tensor, locationOf(node));
    lastTensor = value.getDefiningOp();
  }
  // Tracing writes the numbers of a program as tensors. They still count as
  // numbers in type promotion (c10's is_wrapped_number).
  auto literal = value.getDefiningOp<mp::ConstantOp>();
  auto elements = literal && tensor.name.empty() && tensor.sizes.empty()
                      ? dyn_cast<DenseElementsAttr>(literal.getValue())
                      : DenseElementsAttr();
  if (elements && elements.getElementType().isF64())
    return Item::floating(elements.getSplatValue<APFloat>().convertToDouble());
  Item item = tensorItem(value);
  item.variable->memory = tensor.memory;
  return item;
}

Item GraphImporter::changedTensor(mlir::Type type, StringRef name,
                                  bool isShared, Location location) {
  OpBuilder::InsertionGuard guard(builder);
  // Shared memory may have changed between two reads: each gets its own value.
  if (!isShared) {
    auto function = *result.module->getOps<func::FuncOp>().begin();
    builder.setInsertionPointToStart(&function.getBody().front());
  }
  Location origin = makeOrigin(context, name.empty() ? "constant" : name,
                               "Buffer", "", {name}, location);
  auto opaque = mp::OpaqueOp::create(builder, origin, TypeRange(type),
                                     "torch::buffer", ValueRange(), 0);
  return tensorItem(opaque->getResult(0));
}

bool GraphImporter::isSharedMemory(int64_t memory) const {
  return llvm::count_if(graph.tensors, [&](const Tensor &tensor) {
           return tensor.memory == memory;
         }) > 1;
}

bool GraphImporter::isSharedSlot(StringRef path) const {
  int64_t slot = graph.slots.at(path.str());
  return entry.slots.count(slot) &&
         llvm::count_if(graph.slots, [&](const auto &other) {
           return other.second == slot;
         }) > 1;
}

static void setSlot(const Item &item, int64_t slot) {
  if (!item.collection)
    return;
  item.collection->slot = slot;
  for (const Item &member : item.collection->items)
    setSlot(member, slot);
}

Item GraphImporter::attribute(StringRef path, const StaticType &type,
                              const Node &node) {
  if (const Item *known = state.findAttribute(path))
    return *known;
  auto saved = graph.attributes.find(path.str());
  if (saved == graph.attributes.end())
    return Item();
  int64_t slot = graph.slots.at(path.str());
  auto set = entry.slots.find(slot);
  if (set == entry.slots.end()) {
    Item item = importConstant(saved->second, node);
    // Another name of the same memory may be written between two reads.
    if (saved->second.kind == Constant::Kind::Tensor) {
      int64_t memory = graph.tensors[saved->second.integer].memory;
      if (entry.memory.count(memory) && isSharedMemory(memory))
        return item;
    }
    setSlot(item, slot);
    state.addAttribute(path, item);
    return item;
  }
  bool isShared = isSharedSlot(path);
  Item item;
  if (type.kind == StaticType::Kind::Tensor && set->second) {
    item = changedTensor(set->second, path, isShared, locationOf(node));
  } else {
    OpBuilder::InsertionGuard guard(builder);
    if (!isShared) {
      auto function = *result.module->getOps<func::FuncOp>().begin();
      builder.setInsertionPointToStart(&function.getBody().front());
    }
    item = unknownItem(type, locationOf(node));
  }
  if (!isShared)
    state.addAttribute(path, item);
  return item;
}

void GraphImporter::setAttribute(StringRef path, const StaticType &type,
                                 const Item &item, const Node &node) {
  attribute(path, type, node);
  int64_t slot = graph.slots.at(path.str());
  auto [set, isNew] = state.written.slots.try_emplace(slot);
  auto hold = [&](mlir::Type tensor) {
    set->second = set->second ? joinTypes(set->second, tensor) : tensor;
  };
  if (isNew)
    if (auto saved = graph.attributes.find(path.str());
        saved != graph.attributes.end() &&
        saved->second.kind == Constant::Kind::Tensor)
      hold(valueOf(importConstant(saved->second, node)).getType());
  // The value of the attribute can from now on be written by its name, too.
  auto share = [&](auto &self, const Item &held) -> void {
    if (held.isTensor() && State::rootOf(held.variable)->memory >= 0)
      state.written.memory.insert(State::rootOf(held.variable)->memory);
    if (held.collection)
      for (const Item &member : held.collection->items)
        self(self, member);
  };
  share(share, item);
  if (item.isTensor())
    hold(valueOf(item).getType());
  else if (type.kind == StaticType::Kind::Tensor)
    hold(getUnknownTensor(context));
  if (!isSharedSlot(path))
    state.setAttribute(path, item);
}
