//===- SchemaTypes.cpp - Result types by the ONNX library
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SchemaTypes.h"

#include "onnx/shape_inference/implementation.h"

#include <unordered_map>

using namespace mpopt;

std::vector<onnx::TypeProto>
onnx_import::inferBySchema(const onnx::OpSchema &schema, onnx::NodeProto node,
                           std::vector<onnx::TypeProto> inputs) {
  if (!schema.has_type_and_shape_inference_function())
    return {};
  std::unordered_map<std::string, onnx::TypeProto *> types;
  for (size_t index = 0; index < inputs.size(); ++index)
    if (inputs[index].value_case() != onnx::TypeProto::VALUE_NOT_SET)
      types[node.input(int(index))] = &inputs[index];
  try {
    onnx::ShapeInferenceOptions options;
    onnx::shape_inference::InferenceContextImpl context(node, types, {}, {},
                                                        options);
    schema.GetTypeAndShapeInferenceFunction()(context);
    std::vector<onnx::TypeProto> results;
    for (size_t index = 0; index < context.getNumOutputs(); ++index)
      results.push_back(*context.getOutputType(index));
    return results;
  } catch (const std::exception &) {
    // Bodies, or operands that do not fit: unknown it stays.
    return {};
  }
}
