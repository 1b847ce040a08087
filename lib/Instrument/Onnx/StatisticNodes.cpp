//===- StatisticNodes.cpp - Statistics of a tensor by standard ops --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For runtimes that take no custom op. Two outputs for each probe:
//
//   mpopt.probe.ID.counts  int64[13]: elements, NaN, +Inf, -Inf, zero, and for
//                          FP16, BF16, E4M3 and E5M2 the finite elements that
//                          would become infinite (past the largest value, in
//                          E4M3) and those that would become 0
//   mpopt.probe.ID.values  float[4] (double[4] of a tensor whose values FP32
//                          does not hold: FP64, 32-bit integers): least and
//                          greatest finite element, greatest magnitude, least
//                          magnitude but 0; inf, -inf, 0, inf where there is
//                          none
//
// Ops of opset 10, whose forms are the same in all later ones. Each reduction
// gets its neutral element, since a maximum over no elements is an error.
//
//===----------------------------------------------------------------------===//

#include "ProbeNodes.h"

#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Numerics/Infinity.h"

#include "llvm/ADT/StringSet.h"

#include "onnx/onnx_pb.h"

#include <cmath>
#include <set>

using namespace mpopt;
using namespace mpopt::onnx_instrument;
using llvm::StringRef;

namespace {

/// Formats of the counts, in their order.
const llvm::StringLiteral kFormats[] = {"f16", "bf16", "f8E4M3FN", "f8E5M2"};

/// True if FP32 may not hold all values of the dtype.
bool needsDouble(StringRef dtype) {
  static const llvm::StringSet<> kHeld = {"f32", "f16", "bf16", "i1",
                                          "i8",  "ui8", "i16",  "ui16"};
  return !kHeld.contains(dtype) && !dtype.starts_with("f8");
}

class Writer {
public:
  Writer(onnx::GraphProto &graph, const ProbeNode &probe,
         std::set<std::string> &constants)
      : graph(graph), prefix("mpopt.probe." + std::to_string(probe.id)),
        isDouble(needsDouble(probe.dtype)), constants(constants) {}

  void run(const std::string &value);

private:
  std::string add(const char *type, std::vector<std::string> inputs,
                  std::string output = "");
  onnx::NodeProto &last() { return *graph.mutable_node(graph.node_size() - 1); }
  void setInt(const char *name, int64_t value);
  std::string number(double value);
  std::string edge(double least);
  std::string int64s(std::vector<int64_t> values);
  std::string cast(const std::string &value, int type);
  std::string count(const std::string &flags);
  std::string reduce(const char *type, const std::string &value,
                     const std::string &neutral);
  void declare(const std::string &name, int type, int64_t size);

  onnx::GraphProto &graph;
  std::string prefix;
  bool isDouble;
  std::set<std::string> &constants;
  unsigned values = 0;
};

} // namespace

std::string Writer::add(const char *type, std::vector<std::string> inputs,
                        std::string output) {
  onnx::NodeProto &node = *graph.add_node();
  if (output.empty())
    output = prefix + "." + std::to_string(values++);
  node.set_op_type(type);
  node.set_name(output);
  for (std::string &input : inputs)
    node.add_input(std::move(input));
  node.add_output(output);
  return output;
}

void Writer::setInt(const char *name, int64_t value) {
  onnx::AttributeProto &attribute = *last().add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

/// A vector of one element, shared by all probes.
std::string Writer::number(double value) {
  std::string name =
      std::string("mpopt.") + (isDouble ? "double." : "float.") +
      std::to_string(value) + "." +
      std::to_string(std::isfinite(value) && value != 0 ? std::ilogb(value)
                                                        : 0);
  if (constants.insert(name).second) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.add_dims(1);
    if (isDouble) {
      tensor.set_data_type(onnx::TensorProto::DOUBLE);
      tensor.add_double_data(value);
    } else {
      tensor.set_data_type(onnx::TensorProto::FLOAT);
      tensor.add_float_data(float(value));
    }
  }
  return name;
}

/// The least element that is not below `least`, which an FP32 tensor may have
/// no number for (just above 464, for E4M3).
std::string Writer::edge(double least) {
  float rounded = float(least);
  if (isDouble || rounded >= least)
    return number(least);
  return number(std::nextafter(rounded, float(kInfinity)));
}

std::string Writer::int64s(std::vector<int64_t> values) {
  std::string name = "mpopt.int64";
  for (int64_t value : values)
    name += "." + std::to_string(value);
  if (constants.insert(name).second) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.add_dims(int64_t(values.size()));
    tensor.set_data_type(onnx::TensorProto::INT64);
    for (int64_t value : values)
      tensor.add_int64_data(value);
  }
  return name;
}

std::string Writer::cast(const std::string &value, int type) {
  std::string result = add("Cast", {value});
  setInt("to", type);
  return result;
}

std::string Writer::reduce(const char *type, const std::string &value,
                           const std::string &neutral) {
  std::string padded = add("Concat", {value, neutral});
  setInt("axis", 0);
  std::string result = add(type, {padded});
  setInt("keepdims", 1);
  return result;
}

std::string Writer::count(const std::string &flags) {
  return reduce("ReduceSum", cast(flags, onnx::TensorProto::INT64),
                int64s({0}));
}

void Writer::declare(const std::string &name, int type, int64_t size) {
  onnx::ValueInfoProto &output = *graph.add_output();
  output.set_name(name);
  auto &tensor = *output.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_value(size);
}

void Writer::run(const std::string &value) {
  int type = isDouble ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT;
  // Not the cast first: ONNX Runtime, which computes FP16 in FP32 on the CPU,
  // drops two casts in a row with the rounding to FP16 between them.
  std::string x = cast(add("Reshape", {value, int64s({-1})}), type);
  std::string nan = add("IsNaN", {x});
  std::string posInf = add("IsInf", {x});
  setInt("detect_negative", 0);
  std::string negInf = add("IsInf", {x});
  setInt("detect_positive", 0);
  std::string bad = add("Or", {add("Or", {nan, posInf}), negInf});
  std::string magnitude = add("Abs", {add("Where", {bad, number(0), x})});
  std::string nonZero = add("Greater", {magnitude, number(0)});

  std::string elements = add("Reshape", {add("Size", {x}), int64s({1})});
  std::string counted =
      add("Sub", {add("Sub", {elements, count(nonZero)}), count(bad)});
  std::vector<std::string> counts = {elements, count(nan), count(posInf),
                                     count(negInf), counted};
  for (StringRef name : kFormats) {
    const FloatFormat &format = *FloatFormat::byName(name);
    std::string over = add("Less", {magnitude, edge(format.overflowFrom)});
    counts.push_back(count(add("Not", {over})));
    std::string large = add("Greater", {magnitude, number(format.flushAt)});
    counts.push_back(count(add("And", {nonZero, add("Not", {large})})));
  }
  std::vector<std::string> extremes = {
      reduce("ReduceMin", add("Where", {bad, number(kInfinity), x}),
             number(kInfinity)),
      reduce("ReduceMax", add("Where", {bad, number(-kInfinity), x}),
             number(-kInfinity)),
      reduce("ReduceMax", magnitude, number(0)),
      reduce("ReduceMin", add("Where", {nonZero, magnitude, number(kInfinity)}),
             number(kInfinity))};

  std::string names[] = {prefix + ".counts", prefix + ".values"};
  add("Concat", counts, names[0]);
  setInt("axis", 0);
  add("Concat", extremes, names[1]);
  setInt("axis", 0);
  declare(names[0], onnx::TensorProto::INT64, int64_t(counts.size()));
  declare(names[1], type, int64_t(extremes.size()));
}

void onnx_instrument::addStatistics(onnx::GraphProto &graph,
                                    llvm::ArrayRef<ProbeNode> nodes) {
  std::set<std::string> constants;
  for (const ProbeNode &probe : nodes)
    Writer(graph, probe, constants).run(probe.value);
}
