//===- ProbeNodes.cpp - Nodes mpopt::Probe --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A probe has no output: nothing downstream is renamed, and no runtime can tell
// its consumers apart from those of the original. The model carries a function
// of the same name, which runs where no op library is registered; its body
// reads its input, since ONNX Runtime accepts 8-bit floats only then.
//
//===----------------------------------------------------------------------===//

#include "ProbeNodes.h"

#include "GraphMap.h"

#include "mpopt/Report/JsonSupport.h"

#include "llvm/Support/JSON.h"

#include "onnx/onnx_pb.h"

using namespace mpopt;
using namespace mpopt::onnx_instrument;
using llvm::StringRef;

static void addNumber(onnx::NodeProto &node, StringRef name, int64_t value) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

static void addNode(onnx::GraphProto &graph, const ProbeNode &probe,
                    StringRef ledgerHash) {
  onnx::NodeProto &node = *graph.add_node();
  node.add_input(probe.value);
  node.set_name("mpopt.probe." + std::to_string(probe.id));
  node.set_op_type("Probe");
  node.set_domain(kDomain.str());
  addNumber(node, "id", probe.id);
  if (probe.channelAxis >= 0)
    addNumber(node, "channel_axis", probe.channelAxis);
  onnx::AttributeProto &ledger = *node.add_attribute();
  ledger.set_name("ledger");
  ledger.set_type(onnx::AttributeProto::STRING);
  ledger.set_s(ledgerHash.str());
}

std::string onnx_instrument::encodeProbes(llvm::ArrayRef<ProbeNode> nodes,
                                          StringRef ledgerHash) {
  onnx::GraphProto graph;
  for (const ProbeNode &probe : nodes)
    addNode(graph, probe, ledgerHash);
  return graph.SerializeAsString();
}

static void addFallback(onnx::ModelProto &model, int64_t opset,
                        bool keepsChannels) {
  onnx::FunctionProto &function = *model.add_functions();
  function.set_domain(kDomain.str());
  function.set_name("Probe");
  function.add_input("x");
  function.add_attribute("id");
  function.add_attribute("ledger");
  if (keepsChannels)
    function.add_attribute("channel_axis");
  onnx::NodeProto &node = *function.add_node();
  node.set_op_type("Identity");
  node.add_input("x");
  node.add_output("unused");
  onnx::OperatorSetIdProto &import = *function.add_opset_import();
  import.set_domain("");
  import.set_version(opset);
}

static void addFacts(onnx::ModelProto &model, const TailFacts &facts) {
  if (facts.irVersion)
    model.set_ir_version(facts.irVersion);
  onnx::StringStringEntryProto &undo = *model.add_metadata_props();
  undo.set_key(kUndoKey.str());
  undo.set_value(facts.undo);
  onnx::StringStringEntryProto &ledger = *model.add_metadata_props();
  ledger.set_key("mpopt.ledger_sha256");
  ledger.set_value(facts.ledgerHash);
}

std::string onnx_instrument::encodeOpTail(llvm::ArrayRef<ProbeNode> nodes,
                                          const TailFacts &facts) {
  onnx::ModelProto model;
  for (const ProbeNode &probe : nodes)
    addNode(*model.mutable_graph(), probe, facts.ledgerHash);
  addFallback(model, facts.opset, facts.keepsChannels);
  if (facts.importDomain) {
    onnx::OperatorSetIdProto &import = *model.add_opset_import();
    import.set_domain(kDomain.str());
    import.set_version(1);
  }
  addFacts(model, facts);
  return model.SerializeAsString();
}

static std::string describeOutputs(llvm::ArrayRef<ProbeNode> nodes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    for (const ProbeNode &probe : nodes)
      json.attributeObject(std::to_string(probe.id), [&] {
        json.attribute("dtype", probe.dtype);
        if (probe.isInput)
          json.attribute("input", jsonText(probe.value));
      });
  });
  return text;
}

std::string onnx_instrument::encodeOutputTail(llvm::ArrayRef<ProbeNode> nodes,
                                              const TailFacts &facts) {
  onnx::ModelProto model;
  addStatistics(*model.mutable_graph(), nodes);
  onnx::StringStringEntryProto &outputs = *model.add_metadata_props();
  outputs.set_key("mpopt.outputs");
  outputs.set_value(describeOutputs(nodes));
  addFacts(model, facts);
  return model.SerializeAsString();
}
