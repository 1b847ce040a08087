//===- Expand.cpp - Nodes replaced by the body of their function
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two kinds of function: the model's own, whose nodes are nodes of the file and
// keep their names under a scope named after the call, and the definition of an
// operator in the ONNX standard, whose nodes exist nowhere: all ops made from
// it carry the location of the node that was expanded.
//
//===----------------------------------------------------------------------===//

#include "ModelImporter.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

#include "onnx/defs/function.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

bool ModelImporter::expand(const onnx::FunctionProto &function,
                           const NodeInfo &info, Scope &scope, Frame &frame,
                           std::string path) {
  frame.depth = scope.frame->depth + 1;
  frame.expanded = true;
  if (frame.depth > FunctionTable::kMaxCallDepth)
    return false;
  for (const onnx::AttributeProto &attribute : info.node.attribute())
    if (const onnx::AttributeProto *resolved = scope.frame->resolve(attribute))
      frame.attributes[attribute.name()] = resolved;

  Operation *before = lastOp();
  Scope body;
  body.frame = &frame;
  body.path = std::move(path);
  for (const auto &value : function.value_info())
    if (value.has_type())
      body.declared[value.name()] = &value.type();
  for (int index = 0; index < function.input_size(); ++index)
    if (index < info.node.input_size())
      body.values[function.input(index)] = scope.find(info.node.input(index));
  importNodes(function.node(), body);
  for (int index = 0; index < info.node.output_size(); ++index) {
    if (info.node.output(index).empty())
      continue;
    Value value = index < function.output_size()
                      ? body.find(function.output(index))
                      : Value();
    if (!value)
      return false;
    bind(info, index, value, scope, before);
  }
  return true;
}

bool ModelImporter::expandFunction(const NodeInfo &info, Scope &scope) {
  const onnx::FunctionProto *function = functions->find(info.node);
  if (!function)
    return false;
  OpsetMap opsets = OpsetMap::read(function->opset_import(),
                                   file.model.ir_version(), "", nullptr);
  Frame frame;
  frame.opsets = &opsets;
  frame.location = scope.frame->location;
  for (const onnx::AttributeProto &attribute : function->attribute_proto())
    frame.attributes[attribute.name()] = &attribute;
  std::string path = scope.path + (scope.path.empty() ? "" : "/") + info.name;
  return expand(*function, info, scope, frame, std::move(path));
}

onnx::NodeProto ModelImporter::resolveAttributes(const NodeInfo &info,
                                                 const Scope &scope) {
  onnx::NodeProto result = info.node;
  result.clear_attribute();
  for (const onnx::AttributeProto &attribute : info.node.attribute())
    if (const auto *resolved = scope.frame->resolve(attribute)) {
      onnx::AttributeProto *copy = result.add_attribute();
      *copy = *resolved;
      copy->set_name(attribute.name());
    }
  return result;
}

std::vector<onnx::TypeProto> ModelImporter::operandTypes(const NodeInfo &info,
                                                         const Scope &scope) {
  std::vector<onnx::TypeProto> types;
  for (const std::string &input : info.node.input()) {
    Value value = input.empty() ? Value() : scope.find(input);
    types.push_back(value ? toOnnxType(value.getType()) : onnx::TypeProto());
  }
  return types;
}

/// The ONNX library's builders of function bodies take it for granted that
/// required attributes are there, that others have their defaults, and that the
/// types of all operands are known. False if that cannot be had.
static bool completeForBuilder(const onnx::OpSchema &schema,
                               onnx::NodeProto &node,
                               ArrayRef<onnx::TypeProto> inputs) {
  for (const auto &[name, attribute] : schema.attributes()) {
    if (llvm::any_of(node.attribute(), [&](const onnx::AttributeProto &given) {
          return given.name() == name;
        }))
      continue;
    if (attribute.required)
      return false;
    if (attribute.default_value.has_type())
      *node.add_attribute() = attribute.default_value;
  }
  for (auto [name, type] : llvm::zip(node.input(), inputs))
    if (!name.empty() && type.value_case() == onnx::TypeProto::VALUE_NOT_SET)
      return false;
  return true;
}

bool ModelImporter::expandSchema(const NodeInfo &info, Scope &scope) {
  const onnx::OpSchema *schema = findSchema(info.node, *scope.frame->opsets);
  if (!schema ||
      (!schema->HasFunction() && !schema->HasContextDependentFunction()))
    return false;
  // The version of the standard's own operators decides which body fits.
  int64_t version = scope.frame->opsets->version("");
  int requested =
      version > 0 ? int(version) : onnx::OpSchema::kUninitializedSinceVersion;
  onnx::FunctionProto built;
  const onnx::FunctionProto *function = nullptr;
  try {
    if (schema->HasFunction())
      function = schema->GetFunction(requested);
    if (!function && schema->HasContextDependentFunction()) {
      onnx::NodeProto node = resolveAttributes(info, scope);
      std::vector<onnx::TypeProto> inputs = operandTypes(info, scope);
      if (!completeForBuilder(*schema, node, inputs))
        return false;
      onnx::FunctionBodyBuildContextImpl build(node, inputs);
      if (schema->BuildContextDependentFunction(build, built, requested))
        function = &built;
    }
  } catch (const std::exception &) {
    // It needs a type that is not known here.
    return false;
  }
  if (!function)
    return false;
  // A body that is built for a node may use operators of domains that it does
  // not import: they are the model's.
  OpsetMap opsets = OpsetMap::read(function->opset_import(),
                                   file.model.ir_version(), "", nullptr);
  opsets.addMissing(*scope.frame->opsets);
  Frame frame;
  frame.opsets = &opsets;
  frame.location = info.location;
  for (const auto &[name, attribute] : schema->attributes())
    if (attribute.default_value.has_type())
      frame.attributes[name] = &attribute.default_value;
  return expand(*function, info, scope, frame, scope.path);
}
