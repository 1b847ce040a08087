//===- Restore.cpp - 16-bit models as FP32 with their roundings
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX Runtime has few 16-bit kernels on the CPU: it computes in FP32 and
// leaves roundings out, so that a run there flatters the file. Here each op
// reads rounded values and computes in FP32, and a pair of casts rounds what it
// gives. What a kernel accumulates in 16 bits is not covered.
//
//===----------------------------------------------------------------------===//

#include "Restore.h"

#include "Tensors.h"
#include "WidenAll.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpopt;
using namespace mpopt::convert;
using onnx::TensorProto;

static bool isLow(const Value *value) {
  return value && (value->kind.dtype == TensorProto::FLOAT16 ||
                   value->kind.dtype == TensorProto::BFLOAT16);
}

/// Behind each op, in bodies too. Constants were rounded when they were stored,
/// and a sequence or a state holds tensors that were.
static void restoreGraph(Graph &graph) {
  NodeList nodes;
  for (auto &node : graph.nodes) {
    for (auto &body : node->bodies)
      restoreGraph(*body);
    onnx::NodeProto &copy = *nodes.Add();
    copy = *node->proto;
    if (node->isStandard("Constant"))
      continue;
    for (auto [index, value] : llvm::enumerate(node->outputs)) {
      if (!isLow(value) || value->kind.depth > 0)
        continue;
      std::string exact = graph.makeName(value->name + "_exact");
      std::string stored = graph.makeName(value->name + "_stored");
      copy.set_output(int(index), exact);
      emitCast(graph, exact, stored, value->kind.dtype, nodes);
      emitCast(graph, stored, value->name, TensorProto::FLOAT, nodes);
    }
  }
  graph.proto->mutable_node()->Swap(&nodes);
}

/// True for integers and truth values. Values without a stated type count too:
/// truth values that ops give have none.
static bool isWhole(const Value *value) {
  return value && !value->kind.isFloat() && !isLow(value) &&
         value->kind.dtype != TensorProto::DOUBLE;
}

/// True if casts made the floats of integers or truth values.
static bool isOfWhole(const Value *value) {
  while (value && value->maker && value->maker->isStandard("Cast") &&
         !value->maker->inputs.empty()) {
    value = value->maker->inputs.front();
    if (isWhole(value))
      return true;
  }
  return false;
}

RestoredModel convert::restoreRoundings(Model &model) {
  RestoredModel restored;
  for (const Value *input : model.main.inputs)
    if (isLow(input))
      restored.lowInputs.push_back(
          {input->name,
           input->kind.dtype == TensorProto::FLOAT16 ? "f16" : "bf16"});
  for (auto &node : model.main.nodes)
    for (const Value *value : node->outputs)
      if (value && value->kind.depth == 0 &&
          (value->kind.isFloat() || isLow(value)) &&
          !node->isStandard("Constant") &&
          !llvm::is_contained(model.main.outputs, value))
        restored.tensors.push_back(value->name);
  for (const Value *output : model.main.outputs)
    if (isOfWhole(output))
      restored.wholeOutputs.push_back(output->name);
  Conversion ignored;
  restored.isChanged = convert::widenAll(model.proto, ignored);
  if (restored.isChanged)
    restoreGraph(model.main);
  return restored;
}
