//===- Checks.cpp - ONNX's own checks of a model
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checks.h"

#include "Signature.h"

#include "lib/Import/Onnx/TopologicalOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

#include "onnx/checker.h"
#include "onnx/shape_inference/implementation.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;

/// The line that says most: the checker puts where it is behind what it is.
static std::string firstLine(const std::exception &error) {
  llvm::StringRef text = llvm::StringRef(error.what()).ltrim();
  return text.split('\n').first.trim().str();
}

// Constants up to this size may be shapes and scales, which inference reads.
static constexpr uint64_t kMostRead = 1 << 16;

/// Large weights as inputs: the checker wants data of all others.
static void replaceWeights(onnx::ModelProto &model) {
  onnx::GraphProto &graph = *model.mutable_graph();
  llvm::StringSet<> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    inputs.insert(input.name());
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    if (!TensorSource::isPending(tensor) ||
        TensorSource::getSize(tensor) <= kMostRead) {
      kept.Add()->Swap(&tensor);
      continue;
    }
    if (inputs.contains(tensor.name()))
      continue;
    onnx::ValueInfoProto &input = *graph.add_input();
    input.set_name(tensor.name());
    auto &type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    type.mutable_shape();
    for (int64_t dim : tensor.dims())
      type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  *graph.mutable_initializer() = kept;
}

/// Ops that ONNX Runtime has put into ONNX's own domain go to its own, which
/// the checker does not look into; as the runtime has it, that needs no import.
static void nameContrib(onnx::ModelProto &model) {
  auto opsets = onnx_import::OpsetMap::read(model.opset_import(),
                                            model.ir_version(), "", nullptr);
  bool isUsed = false;
  std::function<void(google::protobuf::RepeatedPtrField<onnx::NodeProto> &)>
      visit = [&](auto &nodes) {
        for (onnx::NodeProto &node : nodes) {
          bool isContrib = isContribOp(node.op_type());
          if (isContrib && !onnx_import::findSchema(node, opsets) &&
              onnx_import::normalizeDomain(node.domain()).empty())
            node.set_domain("com.microsoft");
          isUsed |= isContrib && node.domain() == "com.microsoft";
          for (onnx::AttributeProto &attribute : *node.mutable_attribute())
            if (attribute.has_g())
              visit(*attribute.mutable_g()->mutable_node());
        }
      };
  visit(*model.mutable_graph()->mutable_node());
  if (!isUsed || opsets.version("com.microsoft") > 0)
    return;
  auto &import = *model.add_opset_import();
  import.set_domain("com.microsoft");
  import.set_version(1);
}

void convert::sortNodes(onnx::GraphProto &graph) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
  for (unsigned index : onnx_import::sortNodes(graph.node()).order)
    sorted.Add()->Swap(graph.mutable_node(int(index)));
  *graph.mutable_node() = sorted;
  for (onnx::NodeProto &node : *graph.mutable_node())
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        sortNodes(*attribute.mutable_g());
}

static std::string checkStructure(const onnx::ModelProto &model) {
  try {
    onnx::checker::check_model(model);
  } catch (const std::exception &error) {
    // Runtimes take these: equal names in two branches (names that clash the
    // importer refuses), an output without a shape.
    std::string line = firstLine(error);
    bool isTaken = StringRef(line).contains("single static assignment") ||
                   StringRef(line).contains("Field 'shape' of 'type'");
    return isTaken ? "" : line;
  }
  return "";
}

static std::string inferStrictly(onnx::ModelProto &model) {
  try {
    onnx::ShapeInferenceOptions options{/*check_type=*/true,
                                        /*strict_mode=*/1,
                                        /*data_prop=*/true};
    onnx::shape_inference::InferShapes(
        model, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception &error) {
    return firstLine(error);
  }
  return "";
}

/// True of what inference says of types: of shapes files in circulation say
/// what is stale, and runtimes only warn.
static bool isAboutTypes(StringRef said) {
  return said.contains("nconsistent type") ||
         said.contains("unsupported type") ||
         said.contains("TypeInferenceError") || said.contains("data type");
}

/// A copy for the library's checks, without large weights.
static onnx::ModelProto copyForChecks(const onnx::ModelProto &model,
                                      TensorSource &source) {
  onnx::ModelProto copy = model;
  replaceWeights(copy);
  forEachTensor(copy, [&](onnx::TensorProto &tensor) {
    if (!TensorSource::isPending(tensor))
      return;
    uint64_t size = TensorSource::getSize(tensor);
    std::string raw(size, '\0'), storage;
    if (size <= kMostRead) {
      if (auto data = source.read(tensor, storage))
        raw.assign(data->data(), data->size());
      else
        llvm::consumeError(data.takeError());
    }
    TensorSource::setRaw(tensor, std::move(raw));
  });
  nameContrib(copy);
  // Runtimes do not insist on an order.
  sortNodes(*copy.mutable_graph());
  return copy;
}

void convert::mendShapes(onnx::ModelProto &model, TensorSource &source) {
  model.mutable_graph()->clear_value_info();
  onnx::ModelProto copy = copyForChecks(model, source);
  for (onnx::ValueInfoProto &output : *copy.mutable_graph()->mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
  try {
    onnx::shape_inference::InferShapes(copy);
  } catch (const std::exception &) {
    return;
  }
  for (auto [mine, inferred] : llvm::zip(
           *model.mutable_graph()->mutable_output(), copy.graph().output()))
    if (mine.type().has_tensor_type() &&
        inferred.type().tensor_type().has_shape())
      *mine.mutable_type()->mutable_tensor_type()->mutable_shape() =
          inferred.type().tensor_type().shape();
}

Faults convert::findFaults(const onnx::ModelProto &model,
                           TensorSource &source) {
  onnx::ModelProto copy = copyForChecks(model, source);
  Faults faults;
  faults.fatal = checkStructure(copy);
  if (!faults.fatal.empty())
    return faults;
  std::string said = inferStrictly(copy);
  (isAboutTypes(said) ? faults.fatal : faults.stale) = said;
  return faults;
}
