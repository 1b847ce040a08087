//===- OnnxNode.cpp - A node as lowerings see it
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OnnxNode.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;
using onnx::AttributeProto;

OnnxNode::OnnxNode(ModelImporter &importer, const NodeInfo &info, Scope &scope)
    : NodeContext(importer.builder, info.location, importer.facts),
      importer(importer), info(info), scope(scope), before(importer.lastOp()) {}

StringRef OnnxNode::type() const { return info.node.op_type(); }
StringRef OnnxNode::domain() const { return info.domain; }
int64_t OnnxNode::opset() const { return info.opset; }

unsigned OnnxNode::numInputs() const { return info.node.input_size(); }

Value OnnxNode::input(unsigned index) const {
  if (index >= numInputs() || info.node.input(int(index)).empty())
    return {};
  return scope.find(info.node.input(int(index)));
}

unsigned OnnxNode::numOutputs() const { return info.node.output_size(); }

bool OnnxNode::hasOutput(unsigned index) const {
  return index < numOutputs() && !info.node.output(int(index)).empty();
}

const AttributeProto *OnnxNode::find(StringRef name) const {
  for (const AttributeProto &attribute : info.node.attribute())
    if (attribute.name() == name)
      return scope.frame->resolve(attribute);
  return nullptr;
}

const AttributeProto *
OnnxNode::find(StringRef name, int type,
               bool (*holds)(const AttributeProto &)) const {
  const AttributeProto *attribute = find(name);
  if (!attribute || attribute->type() == type)
    return attribute;
  return attribute->type() == AttributeProto::UNDEFINED && holds(*attribute)
             ? attribute
             : nullptr;
}

bool OnnxNode::hasAttr(StringRef name) const { return find(name); }

std::optional<int64_t> OnnxNode::findInt(StringRef name) const {
  const AttributeProto *found =
      find(name, AttributeProto::INT,
           [](const AttributeProto &attribute) { return attribute.has_i(); });
  return found ? std::optional(found->i()) : std::nullopt;
}

std::optional<double> OnnxNode::findFloat(StringRef name) const {
  const AttributeProto *found =
      find(name, AttributeProto::FLOAT,
           [](const AttributeProto &attribute) { return attribute.has_f(); });
  return found ? std::optional(double(found->f())) : std::nullopt;
}

std::optional<StringRef> OnnxNode::findString(StringRef name) const {
  const AttributeProto *found =
      find(name, AttributeProto::STRING,
           [](const AttributeProto &attribute) { return attribute.has_s(); });
  return found ? std::optional(StringRef(found->s())) : std::nullopt;
}

std::optional<SmallVector<int64_t>> OnnxNode::findInts(StringRef name) const {
  const AttributeProto *found =
      find(name, AttributeProto::INTS, [](const AttributeProto &attribute) {
        return attribute.ints_size() > 0;
      });
  if (!found)
    return std::nullopt;
  return SmallVector<int64_t>(found->ints().begin(), found->ints().end());
}

std::optional<SmallVector<double>> OnnxNode::findFloats(StringRef name) const {
  const AttributeProto *found =
      find(name, AttributeProto::FLOATS, [](const AttributeProto &attribute) {
        return attribute.floats_size() > 0;
      });
  if (!found)
    return std::nullopt;
  return SmallVector<double>(found->floats().begin(), found->floats().end());
}

std::optional<SmallVector<StringRef>>
OnnxNode::findStrings(StringRef name) const {
  const AttributeProto *found =
      find(name, AttributeProto::STRINGS, [](const AttributeProto &attribute) {
        return attribute.strings_size() > 0;
      });
  if (!found)
    return std::nullopt;
  return SmallVector<StringRef>(found->strings().begin(),
                                found->strings().end());
}

Value OnnxNode::makeConstantOf(StringRef name) {
  const AttributeProto *found = find(name);
  if (!found || (!found->has_t() && !found->has_sparse_tensor()))
    return {};
  TensorValue value =
      found->has_t() ? importer.tensors.read(found->t(), info.name)
                     : importer.tensors.read(found->sparse_tensor(), info.name);
  if (!value) {
    hasFailed = true;
    return importer.makeUnknown("Constant", location);
  }
  // Some exporters write weights so.
  if (isa<FloatType>(value.type.getElementType()) &&
      value.type.getNumElements() > 1)
    importer.countParameters(value.type.getNumElements());
  return importer.makeConstant(value, location);
}

Type OnnxNode::findType(StringRef name) const {
  const AttributeProto *found = find(name);
  return found && found->has_tp() ? importer.types.read(found->tp(), info.name)
                                  : Type();
}

Type OnnxNode::elementTypeOf(int64_t dtype) const {
  return onnx_import::elementTypeOf(context(), dtype);
}

LogicalResult OnnxNode::importBody(StringRef name, Region &region,
                                   TypeRange arguments) {
  const AttributeProto *found = find(name);
  if (!found || !found->has_g())
    return error("has no graph '" + name + "'");
  if (found->g().input_size() != int(arguments.size()))
    return error("its graph '" + name + "' takes " +
                 Twine(found->g().input_size()) + " inputs, not " +
                 Twine(arguments.size()));
  importer.importBody(found->g(), region, arguments, scope, info, name);
  return success();
}

void OnnxNode::setOutput(unsigned index, Value value) {
  if (hasOutput(index))
    importer.bind(info, index, value, scope, before);
}

LogicalResult OnnxNode::error(const Twine &reason) {
  hasFailed = true;
  importer.sink.error(ImportCode::BadNode, info.name,
                      qualifiedType(info.domain, info.node.op_type()) + " " +
                          reason);
  return failure();
}

void OnnxNode::finish(Operation *op) {
  if (!importer.finish(op))
    hasFailed = true;
}
