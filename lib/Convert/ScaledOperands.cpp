//===- ScaledOperands.cpp - Operands of products in FP8
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand x is read as s * q, where q is the E4M3 code nearest to x / s;
// past the last code it saturates, as QuantizeLinear has it by default. Weights
// are stored as codes. Pairs are in FP32, so that a scale has all its digits;
// the conversion behind this puts its casts around them. Products in bodies
// and functions stay as they are.
//
//===----------------------------------------------------------------------===//

#include "ScaledOperands.h"

#include "Checks.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

using namespace mpopt;
using namespace mpopt::convert;
using llvm::Expected;
using llvm::StringRef;
using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

/// The largest code of E4M3 (FN).
static constexpr float kLargestCode = 448;

namespace {
class OperandScaler {
public:
  OperandScaler(onnx::GraphProto &graph, TensorSource &source,
                const ScaledProducts &products)
      : graph(graph), source(source), products(products) {}
  Expected<std::vector<TensorInFp8>> run();

private:
  const TensorProto *findWeight(const std::string &name) const;
  bool isScaled(const std::string &name) const;
  Expected<std::string> scaleActivation(const std::string &name);
  Expected<std::string> scaleWeight(const std::string &name, int axis);
  std::string makeName(const std::string &wanted);
  std::string addScales(const std::string &name, llvm::ArrayRef<float> scales);
  NodeProto &addNode(StringRef op, const std::string &name,
                     std::vector<std::string> operands);
  void dropUnused();

  onnx::GraphProto &graph;
  TensorSource &source;
  const ScaledProducts &products;
  llvm::StringSet<> names;
  std::map<std::string, const TensorProto *> weights;
  std::map<std::string, std::string> done;
  std::set<std::string> replaced;
  NodeList made;
  std::vector<TensorInFp8> scaled;
};
} // namespace

/// The axis of the second operand that has a scale an element; nothing for ops
/// that are no product of two operands.
static std::optional<int> findColumns(const NodeProto &node, int rank) {
  auto getInt = [&](StringRef name) -> int64_t {
    for (const AttributeProto &attribute : node.attribute())
      if (attribute.name() == name)
        return attribute.i();
    return 0;
  };
  if (!onnx_import::normalizeDomain(node.domain()).empty() ||
      node.input_size() < 2)
    return std::nullopt;
  if (node.op_type() == "MatMul")
    return rank - 1;
  if (node.op_type() == "Gemm")
    return getInt("transB") ? 0 : 1;
  if (node.op_type() == "Conv")
    return 0;
  if (node.op_type() == "ConvTranspose")
    return 1;
  return std::nullopt;
}

const TensorProto *OperandScaler::findWeight(const std::string &name) const {
  auto it = weights.find(name);
  return it == weights.end() ? nullptr : it->second;
}

bool OperandScaler::isScaled(const std::string &name) const {
  return findWeight(name) || products.scales.count(name);
}

std::string OperandScaler::makeName(const std::string &wanted) {
  std::string name = wanted;
  for (unsigned count = 1; !names.insert(name).second; ++count)
    name = wanted + "_" + std::to_string(count);
  return name;
}

std::string OperandScaler::addScales(const std::string &name,
                                     llvm::ArrayRef<float> scales) {
  TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(makeName(name + "_scale"));
  tensor.set_data_type(TensorProto::FLOAT);
  if (scales.size() > 1)
    tensor.add_dims(int64_t(scales.size()));
  tensor.set_raw_data(scales.data(), scales.size() * sizeof(float));
  TensorInFp8 &noted = scaled.emplace_back();
  noted.tensor = name;
  noted.scales.assign(scales.begin(), scales.end());
  return tensor.name();
}

NodeProto &OperandScaler::addNode(StringRef op, const std::string &name,
                                  std::vector<std::string> operands) {
  NodeProto &node = *made.Add();
  node.set_op_type(op.str());
  node.set_name(makeName(name + "_" + op.str()));
  for (const std::string &operand : operands)
    node.add_input(operand);
  node.add_output(node.name());
  return node;
}

Expected<std::string> OperandScaler::scaleActivation(const std::string &name) {
  std::string &result = done[name];
  if (!result.empty())
    return result;
  std::string scale =
      addScales(name, {float(products.scales.find(name)->second.front())});
  // Its type is that of the codes.
  TensorProto &zero = *graph.add_initializer();
  zero.set_name(makeName(name + "_zero"));
  zero.set_data_type(TensorProto::FLOAT8E4M3FN);
  zero.set_raw_data(std::string(1, '\0'));
  std::string codes =
      addNode("QuantizeLinear", name, {name, scale, zero.name()}).output(0);
  result =
      addNode("DequantizeLinear", name, {codes, scale, zero.name()}).output(0);
  return result;
}

static uint8_t encode(float value) {
  llvm::APFloat number(std::clamp(value, -kLargestCode, kLargestCode));
  bool inexact;
  number.convert(llvm::APFloat::Float8E4M3FN(),
                 llvm::APFloat::rmNearestTiesToEven, &inexact);
  return uint8_t(number.bitcastToAPInt().getZExtValue());
}

/// The scale with which the largest of the numbers is the largest code, rounded
/// up: nothing saturates.
static float fit(llvm::ArrayRef<float> numbers) {
  float most = 0;
  for (float number : numbers)
    most = std::max(most, std::fabs(number));
  float scale = most / kLargestCode;
  if (scale * kLargestCode < most)
    scale = std::nextafter(scale, INFINITY);
  return most > 0 && std::isnormal(scale) ? scale : 1;
}

/// One scale, or one an element of `axis` where those are listed; -1: one.
Expected<std::string> OperandScaler::scaleWeight(const std::string &name,
                                                 int axis) {
  std::string &result = done[name + "\n" + std::to_string(axis)];
  if (!result.empty())
    return result;
  const TensorProto &tensor = *findWeight(name);
  std::string storage;
  Expected<llvm::ArrayRef<char>> bytes = source.read(tensor, storage);
  if (!bytes)
    return bytes.takeError();
  std::vector<float> numbers(bytes->size() / sizeof(float));
  std::memcpy(numbers.data(), bytes->data(), numbers.size() * sizeof(float));
  std::vector<float> scales;
  auto listed = products.scales.find(name);
  if (axis >= 0 && listed != products.scales.end() &&
      int64_t(listed->second.size()) == tensor.dims(axis))
    scales.assign(listed->second.begin(), listed->second.end());
  else
    scales = {fit(numbers)};
  size_t inner = 1;
  for (int at = axis + 1; at < tensor.dims_size(); ++at)
    inner *= size_t(tensor.dims(at));
  std::string codes(numbers.size(), '\0');
  for (size_t at = 0; at < numbers.size(); ++at)
    codes[at] = char(encode(numbers[at] / scales[at / inner % scales.size()]));
  std::string scale = addScales(name, scales);
  TensorProto &stored = *graph.add_initializer();
  stored.set_name(makeName(name + "_fp8"));
  stored.set_data_type(TensorProto::FLOAT8E4M3FN);
  *stored.mutable_dims() = tensor.dims();
  stored.set_raw_data(std::move(codes));
  NodeProto &node = addNode("DequantizeLinear", name, {stored.name(), scale});
  if (scales.size() > 1) {
    AttributeProto &along = *node.add_attribute();
    along.set_name("axis");
    along.set_type(AttributeProto::INT);
    along.set_i(axis);
  }
  replaced.insert(name);
  result = node.output(0);
  return result;
}

/// FP32 weights that only products read.
void OperandScaler::dropUnused() {
  std::set<std::string> used;
  std::function<void(const onnx::GraphProto &)> note =
      [&](const onnx::GraphProto &of) {
        for (const NodeProto &node : of.node()) {
          used.insert(node.input().begin(), node.input().end());
          for (const AttributeProto &attribute : node.attribute())
            if (attribute.has_g())
              note(attribute.g());
        }
        for (const onnx::ValueInfoProto &output : of.output())
          used.insert(output.name());
      };
  note(graph);
  auto isDropped = [&](const std::string &name) {
    return replaced.count(name) && !used.count(name);
  };
  auto drop = [&](auto &list) {
    list.erase(llvm::remove_if(
                   list, [&](const auto &it) { return isDropped(it.name()); }),
               list.end());
  };
  drop(*graph.mutable_initializer());
  drop(*graph.mutable_input());
  auto &nodes = *graph.mutable_node();
  nodes.erase(llvm::remove_if(nodes,
                              [&](const NodeProto &node) {
                                return node.op_type() == "Constant" &&
                                       isDropped(node.output(0));
                              }),
              nodes.end());
}

Expected<std::vector<TensorInFp8>> OperandScaler::run() {
  for (const TensorProto &tensor : graph.initializer()) {
    names.insert(tensor.name());
    if (tensor.data_type() == TensorProto::FLOAT)
      weights[tensor.name()] = &tensor;
  }
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const NodeProto &node : graph.node()) {
    names.insert(node.name());
    for (const std::string &output : node.output())
      names.insert(output);
    if (node.op_type() == "Constant" && node.attribute_size() == 1 &&
        node.attribute(0).t().data_type() == TensorProto::FLOAT)
      weights[node.output(0)] = &node.attribute(0).t();
  }
  for (auto [index, node] : llvm::enumerate(*graph.mutable_node())) {
    // A node without a name goes by its place, which changes.
    if (node.name().empty())
      node.set_name(makeName(node.op_type() + "_" + std::to_string(index)));
    const TensorProto *weight =
        node.input_size() > 1 ? findWeight(node.input(1)) : nullptr;
    std::optional<int> axis =
        findColumns(node, weight ? weight->dims_size() : 1);
    if (!axis || !products.nodes.count(node.name()) ||
        !isScaled(node.input(0)) || !isScaled(node.input(1)) ||
        (weight && *axis >= weight->dims_size()))
      continue;
    for (int operand : {0, 1}) {
      std::string name = node.input(operand);
      const TensorProto *its = findWeight(name);
      Expected<std::string> with =
          !its ? scaleActivation(name)
               : scaleWeight(name, operand == 1 ? *axis : -1);
      if (!with)
        return with.takeError();
      node.set_input(operand, *with);
    }
  }
  for (NodeProto &node : made)
    graph.add_node()->Swap(&node);
  dropUnused();
  sortNodes(graph);
  return std::move(scaled);
}

Expected<std::vector<TensorInFp8>>
convert::scaleOperands(onnx::ModelProto &model, TensorSource &source,
                       const ScaledProducts &products) {
  // The first ones in which QuantizeLinear, and a file, may have FP8.
  constexpr int64_t kFirstOpset = 19, kFirstVersion = 9;
  auto opsets = onnx_import::OpsetMap::read(model.opset_import(),
                                            model.ir_version(), "", nullptr);
  if (opsets.version("") < kFirstOpset)
    return llvm::createStringError(
        "--to fp8-qdq: the model is of opset " +
        std::to_string(opsets.version("")) + ", and FP8 came with " +
        std::to_string(kFirstOpset) + ": --opset raises it");
  model.set_ir_version(std::max(model.ir_version(), kFirstVersion));
  return OperandScaler(*model.mutable_graph(), source, products).run();
}
