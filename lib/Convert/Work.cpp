//===- Work.cpp - Multiplications of products
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Work.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mpopt;
using namespace mpopt::convert;
using llvm::StringRef;

using Dims = std::optional<std::vector<int64_t>>;

namespace {
class Counter {
public:
  Counter(const ConvertRequest &request, Conversion &report)
      : request(request), report(report) {}
  void count(const Graph &graph, double times);

private:
  Dims shape(const Value *value) const;
  Dims operand(const Node &node, unsigned index) const {
    return index < node.inputs.size() ? shape(node.inputs[index]) : Dims();
  }
  Dims result(const Node &node) const {
    return node.outputs.empty() ? Dims() : shape(node.outputs[0]);
  }
  double countNode(const Node &node) const;
  double countEinsum(const Node &node) const;
  double countAttention(const Node &node) const;
  double countTrips(const Node &node) const;

  const ConvertRequest &request;
  Conversion &report;
};
} // namespace

Dims Counter::shape(const Value *value) const {
  if (!value || !request.findShape)
    return std::nullopt;
  const Graph &graph = *value->graph;
  if (!graph.frame->function)
    return request.findShape(graph.path, value->name);
  // Values of functions have no names of the file's.
  if (const Node *maker = value->maker) {
    size_t index = llvm::find(maker->outputs, value) - maker->outputs.begin();
    return maker->callee
               ? shape(maker->bodies.front()->outputs[index])
               : request.findShape(graph.path, nameResult(maker->label, index));
  }
  const Node *call = graph.owner;
  if (!graph.function)
    return std::nullopt;
  for (auto [index, name] : llvm::enumerate(graph.function->input()))
    if (name == value->name && index < call->inputs.size())
      return shape(call->inputs[index]);
  return std::nullopt;
}

static double product(const Dims &dims, size_t from = 0, size_t to = SIZE_MAX) {
  double size = 1;
  for (size_t at = from; at < std::min(to, dims->size()); ++at)
    size *= double((*dims)[at]);
  return size;
}

double Counter::countEinsum(const Node &node) const {
  const onnx::AttributeProto *equation = findAttribute(node, "equation");
  if (!equation)
    return 0;
  std::string text = equation->s();
  llvm::erase(text, ' ');
  llvm::SmallVector<StringRef> terms;
  StringRef(text).split("->").first.split(terms, ',');
  std::map<char, int64_t> sizes;
  for (auto [index, term] : llvm::enumerate(terms)) {
    Dims dims = operand(node, index);
    if (!dims || dims->size() != term.size())
      return 0;
    for (auto [label, size] : llvm::zip(term, *dims))
      sizes[label] = size;
  }
  double size = 1;
  for (auto [label, dim] : sizes)
    size *= double(dim);
  return size;
}

double Counter::countAttention(const Node &node) const {
  Dims query = operand(node, 0), key = operand(node, 1);
  if (!query || query->size() < 3)
    return 0;
  if (node.proto->domain() != "com.microsoft")
    return key && key->size() > 1
               ? 2 * product(query) * double((*key)[key->size() - 2])
               : 0;
  double length = double((*query)[1]);
  double scores =
      2 * product(query, 0, 1) * length * length * double((*query)[2]);
  bool projects = node.proto->op_type() == "Attention";
  return scores + (projects && key && key->size() > 1
                       ? product(query) * double((*key)[1])
                       : 0);
}

double Counter::countNode(const Node &node) const {
  StringRef op = node.proto->op_type();
  Dims first = operand(node, 0), second = operand(node, 1), out = result(node);
  auto size = [](const Dims &dims) { return dims ? product(dims) : 0; };
  if (op == "MatMul" || op == "FusedMatMul" || op == "MatMulInteger") {
    if (!first || first->empty())
      return 0;
    bool flipped = getInt(node, "transA", 0) && first->size() > 1;
    return size(out) * double((*first)[first->size() - (flipped ? 2 : 1)]);
  }
  if (op == "Gemm")
    return first && first->size() == 2
               ? size(out) * double((*first)[getInt(node, "transA", 0) ? 0 : 1])
               : 0;
  if (op == "Conv" || op == "FusedConv" || op == "ConvInteger")
    return second ? size(out) * product(second, 1) : 0;
  if (op == "ConvTranspose")
    return second ? size(first) * product(second, 1) : 0;
  if (op == "LSTM" || op == "GRU" || op == "RNN")
    return first
               ? product(first, 0, 2) * (size(second) + size(operand(node, 2)))
               : 0;
  if (op == "Einsum")
    return countEinsum(node);
  if (op == "MatMulNBits")
    return size(first) * double(getInt(node, "N", 0));
  if (op == "Attention" || op == "MultiHeadAttention" ||
      op == "GroupQueryAttention")
    return countAttention(node);
  return 0;
}

/// How often the bodies of a node run: once where that is not known.
double Counter::countTrips(const Node &node) const {
  if (node.isStandard("Scan") && !node.inputs.empty()) {
    Dims scanned = shape(node.inputs.back());
    return scanned && !scanned->empty() ? double(scanned->front()) : 1;
  }
  if (!node.isStandard("Loop") || node.inputs.empty() || !node.inputs[0])
    return 1;
  constexpr int64_t kMostTrips = 10000; // a bound, not a count, beyond
  const Value &count = *node.inputs[0];
  const onnx::TensorProto *tensor = nullptr;
  if (count.maker && count.maker->isStandard("Constant")) {
    if (const auto *value = findAttribute(*count.maker, "value"))
      tensor = &value->t();
  } else if (count.graph->proto)
    for (const onnx::TensorProto &candidate : count.graph->proto->initializer())
      if (candidate.name() == count.name)
        tensor = &candidate;
  if (!tensor)
    return 1;
  int64_t trips = 0;
  if (tensor->int64_data_size() == 1)
    trips = tensor->int64_data(0);
  else if (tensor->raw_data().size() == sizeof trips)
    std::memcpy(&trips, tensor->raw_data().data(), sizeof trips);
  return trips >= 0 && trips <= kMostTrips ? double(trips) : 1;
}

void Counter::count(const Graph &graph, double times) {
  for (const auto &node : graph.nodes) {
    if (!node->isLive)
      continue;
    double macs = node->bodies.empty() ? times * countNode(*node) : 0;
    report.macs += macs;
    const auto *gives = llvm::find_if(
        node->gives, [](const Group *group) { return group != nullptr; });
    if (gives != node->gives.end() && Model::isWide(*gives))
      report.wideMacs += macs;
    for (const auto &body : node->bodies)
      count(*body, times * countTrips(*node));
  }
}

void convert::countWork(Model &model, const ConvertRequest &request,
                        Conversion &report) {
  Counter(request, report).count(model.main, 1);
}
