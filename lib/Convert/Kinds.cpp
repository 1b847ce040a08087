//===- Kinds.cpp - The element type of every value
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's definitions say it by type variables; what they leave open an
// attribute says, or the operand that the op is about.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;
using onnx::TensorProto;

const onnx::AttributeProto *convert::findAttribute(const Node &node,
                                                   StringRef name) {
  for (const onnx::AttributeProto &attribute : node.proto->attribute())
    if (attribute.name() == name)
      return attribute.ref_attr_name().empty()
                 ? &attribute
                 : node.graph->frame->attributes.lookup(
                       attribute.ref_attr_name());
  return nullptr;
}

int64_t convert::getInt(const Node &node, StringRef name, int64_t otherwise) {
  const onnx::AttributeProto *found = findAttribute(node, name);
  return found ? found->i() : otherwise;
}

Kind convert::readKind(const onnx::TypeProto &type) {
  const onnx::TypeProto *inner = &type;
  Kind kind;
  while (true) {
    if (inner->has_sequence_type())
      inner = &inner->sequence_type().elem_type();
    else if (inner->has_optional_type())
      inner = &inner->optional_type().elem_type();
    else
      break;
    ++kind.depth;
  }
  if (inner->has_tensor_type())
    kind.dtype = inner->tensor_type().elem_type();
  return kind;
}

static Kind operand(const Node &node, unsigned index) {
  return index < node.inputs.size() && node.inputs[index]
             ? node.inputs[index]->kind
             : Kind();
}

/// The type that an attribute of a constant has.
static int32_t readConstant(const Node &node) {
  for (const onnx::AttributeProto &attribute : node.proto->attribute()) {
    const onnx::AttributeProto *found = findAttribute(node, attribute.name());
    if (!found)
      continue;
    if (attribute.name() == "value")
      return found->t().data_type();
    if (attribute.name() == "sparse_value")
      return found->sparse_tensor().values().data_type();
    int32_t dtype =
        llvm::StringSwitch<int32_t>(StringRef(attribute.name()).rtrim('s'))
            .Case("value_float", TensorProto::FLOAT)
            .Case("value_int", TensorProto::INT64)
            .Case("value_string", TensorProto::STRING)
            .Default(0);
    if (dtype)
      return dtype;
  }
  return 0;
}

/// Ops whose result has a type that an attribute names; without it the type is
/// `otherwise`, or (0) that of the first operand.
static const struct {
  StringRef op, attribute;
  int32_t otherwise;
} kByAttribute[] = {{"Cast", "to", 0},
                    {"BitCast", "to", 0},
                    {"EyeLike", "dtype", 0},
                    {"RandomNormal", "dtype", TensorProto::FLOAT},
                    {"RandomUniform", "dtype", TensorProto::FLOAT},
                    {"RandomNormalLike", "dtype", 0},
                    {"RandomUniformLike", "dtype", 0},
                    {"Bernoulli", "dtype", 0},
                    {"Multinomial", "dtype", TensorProto::INT32},
                    {"HannWindow", "output_datatype", TensorProto::FLOAT},
                    {"HammingWindow", "output_datatype", TensorProto::FLOAT},
                    {"BlackmanWindow", "output_datatype", TensorProto::FLOAT},
                    {"MelWeightMatrix", "output_datatype", TensorProto::FLOAT}};

/// Opsets before 6 had the type as a word.
static int32_t readWord(StringRef word) {
  TensorProto::DataType dtype;
  return TensorProto::DataType_Parse(word.str(), &dtype) ? dtype : 0;
}

static std::optional<Kind> inferSpecial(const Node &node) {
  StringRef op = node.proto->op_type();
  for (const auto &row : kByAttribute) {
    if (op != row.op)
      continue;
    const onnx::AttributeProto *found = findAttribute(node, row.attribute);
    int32_t dtype = !found               ? row.otherwise
                    : found->s().empty() ? int32_t(found->i())
                                         : readWord(found->s());
    return Kind{dtype ? dtype : operand(node, 0).dtype, 0};
  }
  Kind first = operand(node, 0);
  auto with = [&](int change) {
    Kind kind = first;
    if (change > 0 || kind.depth > 0)
      kind.depth = uint8_t(kind.depth + change);
    return kind;
  };
  if (op == "Constant")
    return Kind{readConstant(node), 0};
  if (op == "ConstantOfShape") {
    const onnx::AttributeProto *value = findAttribute(node, "value");
    return Kind{value ? value->t().data_type() : int32_t(TensorProto::FLOAT),
                0};
  }
  if (op == "CastLike")
    return operand(node, 1);
  if (op == "QuantizeLinear" || op == "DequantizeLinear") {
    if (int64_t dtype = getInt(node, "output_dtype", 0))
      return Kind{int32_t(dtype), 0};
    bool down = op == "QuantizeLinear";
    int32_t other = operand(node, down ? 2 : 1).dtype;
    return Kind{other  ? other
                : down ? int32_t(TensorProto::UINT8)
                       : int32_t(TensorProto::FLOAT),
                0};
  }
  if (op == "SequenceConstruct" || op == "SplitToSequence")
    return with(1);
  if (op == "SequenceInsert" || op == "SequenceErase")
    return first;
  if (op == "SequenceAt" || op == "ConcatFromSequence" ||
      op == "OptionalGetElement")
    return with(-1);
  if (op == "SequenceEmpty")
    return Kind{int32_t(getInt(node, "dtype", TensorProto::FLOAT)), 1};
  if (op == "Optional") {
    if (const onnx::AttributeProto *type = findAttribute(node, "type");
        type && node.inputs.empty())
      first = readKind(type->tp());
    return with(1);
  }
  return std::nullopt;
}

/// The only type that a variable can be; 0 if there are several.
static int32_t onlyType(const Slot &slot, const Node &node) {
  switch (slot.accepts) {
  case kTakesFloat:
    return TensorProto::FLOAT;
  case kTakesHalf:
    return TensorProto::FLOAT16;
  case kTakesBfloat:
    return TensorProto::BFLOAT16;
  case kTakesInt64:
    return TensorProto::INT64;
  default:
    // As the mean of LayerNormalization.
    return slot.accepts & kTakesFloat
               ? int32_t(getInt(node, "stash_type", TensorProto::FLOAT))
               : 0;
  }
}

llvm::SmallVector<Kind> convert::inferKinds(const Node &node) {
  llvm::SmallVector<Kind> kinds(node.proto->output_size());
  bool isStandard = onnx_import::normalizeDomain(node.proto->domain()).empty();
  if (isStandard)
    if (std::optional<Kind> special = inferSpecial(node)) {
      llvm::fill(kinds, *special);
      return kinds;
    }
  if (!node.signature)
    return kinds;
  llvm::StringMap<Kind> bound;
  for (auto [index, value] : llvm::enumerate(node.inputs))
    if (const Slot *slot = node.signature->input(index); value && slot)
      if (value->kind.dtype)
        bound.try_emplace(slot->variable, value->kind);
  for (auto [index, kind] : llvm::enumerate(kinds)) {
    const Slot *slot = node.signature->output(index);
    if (!slot)
      continue;
    if (auto it = bound.find(slot->variable); it != bound.end())
      kind = it->second;
    // An operand whose type is not known, as that of a comparison, is as good
    // as any other.
    else if (!node.signature->hasInput(slot->variable))
      kind.dtype = onlyType(*slot, node);
  }
  return kinds;
}
