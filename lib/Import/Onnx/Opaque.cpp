//===- Opaque.cpp - Nodes that nothing is known of
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ModelImporter.h"
#include "SchemaTypes.h"

#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;
using onnx::AttributeProto;

Attribute ModelImporter::convertAttribute(const AttributeProto &attribute,
                                          StringRef node) {
  switch (attribute.type()) {
  case AttributeProto::INT:
    return builder.getI64IntegerAttr(attribute.i());
  case AttributeProto::FLOAT:
    return builder.getF32FloatAttr(attribute.f());
  case AttributeProto::STRING:
    return builder.getStringAttr(attribute.s());
  case AttributeProto::INTS:
    return builder.getDenseI64ArrayAttr(
        SmallVector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
  case AttributeProto::FLOATS:
    return builder.getDenseF32ArrayAttr(SmallVector<float>(
        attribute.floats().begin(), attribute.floats().end()));
  case AttributeProto::STRINGS:
    return builder.getStrArrayAttr(SmallVector<StringRef>(
        attribute.strings().begin(), attribute.strings().end()));
  case AttributeProto::TENSOR:
    return tensors.read(attribute.t(), node).value;
  case AttributeProto::SPARSE_TENSOR:
    return tensors.read(attribute.sparse_tensor(), node).value;
  case AttributeProto::TENSORS: {
    SmallVector<Attribute> values;
    for (const onnx::TensorProto &tensor : attribute.tensors())
      if (TensorValue value = tensors.read(tensor, node))
        values.push_back(value.value);
    return builder.getArrayAttr(values);
  }
  case AttributeProto::TYPE_PROTO:
    return TypeAttr::get(types.read(attribute.tp(), node));
  default:
    return {}; // graphs become regions
  }
}

/// An attribute name that cannot be taken for another dialect's or for the op's
/// own.
static std::string attributeName(StringRef name) {
  std::string result = name.str();
  llvm::replace(result, '.', '_');
  if (result == "name")
    result += '_';
  return result;
}

/// A type for every output, also for those without a name.
SmallVector<Type> ModelImporter::opaqueTypes(const NodeInfo &info, Scope &scope,
                                             bool refused) {
  SmallVector<Type> results;
  std::vector<onnx::TypeProto> inferred;
  // The library makes lists as long as an attribute says (Split's num_outputs):
  // it is not asked of what makes no sense.
  const onnx::OpSchema *schema =
      refused ? nullptr : findSchema(info.node, *scope.frame->opsets);
  if (schema)
    inferred = inferBySchema(*schema, resolveAttributes(info, scope),
                             operandTypes(info, scope));
  for (int index = 0; index < info.node.output_size(); ++index) {
    Type type = declaredType(info.node, index, scope);
    if (size_t(index) < inferred.size())
      type = refineType(types.read(inferred[index], info.name), type)
                 .value_or(type);
    results.push_back(type);
  }
  return results;
}

void ModelImporter::makeOpaque(const NodeInfo &info, Scope &scope,
                               bool refused) {
  SmallVector<Value> inputs;
  SmallVector<int64_t> omitted;
  for (auto [index, name] : llvm::enumerate(info.node.input())) {
    Value value = name.empty() ? Value() : scope.find(name);
    if (value)
      inputs.push_back(value);
    else
      omitted.push_back(index);
  }
  NamedAttrList attributes;
  SmallVector<std::pair<const onnx::GraphProto *, std::string>> bodies;
  for (const AttributeProto &attribute : info.node.attribute()) {
    const AttributeProto *resolved = scope.frame->resolve(attribute);
    if (!resolved || attribute.name().empty())
      continue;
    if (!refused && resolved->has_g())
      bodies.push_back({&resolved->g(), attribute.name()});
    for (const onnx::GraphProto &graph : resolved->graphs())
      if (!refused)
        bodies.push_back({&graph, attribute.name()});
    if (Attribute value = convertAttribute(*resolved, info.name))
      attributes.set(attributeName(attribute.name()), value);
  }
  if (!omitted.empty())
    attributes.set("mp.omitted_inputs", builder.getDenseI64ArrayAttr(omitted));

  Operation *before = lastOp();
  auto opaque = mp::OpaqueOp::create(
      builder, info.location, opaqueTypes(info, scope, refused),
      qualifiedType(info.domain, info.node.op_type()), inputs, bodies.size());
  for (const NamedAttribute &attribute : attributes)
    opaque->setDiscardableAttr(attribute.getName(), attribute.getValue());
  for (auto [index, body] : llvm::enumerate(bodies)) {
    SmallVector<Type> arguments;
    for (const auto &input : body.first->input())
      arguments.push_back(types.read(input.type(), input.name()));
    importBody(*body.first, opaque->getRegion(index), arguments, scope, info,
               body.second);
  }
  for (int index = 0; index < info.node.output_size(); ++index)
    if (!info.node.output(index).empty())
      bind(info, index, opaque->getResult(index), scope, before);
}
