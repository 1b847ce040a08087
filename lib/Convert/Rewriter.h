//===- Rewriter.h - The protobuf of a decided model, in steps ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_REWRITER_H
#define MPOPT_LIB_CONVERT_REWRITER_H

#include "Graph.h"

#include "mpopt/Convert/Convert.h"

#include "llvm/ADT/MapVector.h"

namespace mpopt::convert {

/// The index of a type in Value::names.
enum Width { kLow = 0, kWide = 1 };

class Rewriter {
public:
  Rewriter(Model &model, Conversion &report) : model(model), report(report) {}
  void run();
  /// Describes what stays in FP32, and leaves the model as it is.
  void describeAll();

private:
  using Nodes = NodeList;
  using Tensors = google::protobuf::RepeatedPtrField<onnx::TensorProto>;
  using ValueInfos = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

  // Names.cpp: in which types each value is there, and what it is called.
  static Width widthOf(const Group *group);
  static Width widthOf(const Value &value);
  static bool isTyped(const Value &value);
  void findNeeds(Value &value);
  void nameValue(Value &value);
  std::string makeTwinName(Value &value, Width width);
  std::string nameFor(const Value &value, const Group *group) const;

  // Rewrite.cpp: nodes.
  void emitGraph(Graph &graph);
  void emitNode(Node &node, Nodes &out);
  void emitConstant(Node &node, Nodes &out);
  void emitTwins(Value &value, Nodes &out);
  void emitOutputs(Graph &graph, Nodes &out);
  void retype(Node &node, onnx::NodeProto &out);
  void emitCall(Node &node, onnx::NodeProto &out);

  // Declarations.cpp: what a graph says of its values.
  void emitDeclarations(Graph &graph);
  void declareInputs(onnx::GraphProto &graph, Graph &of);
  void declareValues(ValueInfos &values, Graph &of);
  void emitInitializers(onnx::GraphProto &graph, Graph &of);
  void storeConstant(const Value &value, llvm::StringRef name, Width width,
                     onnx::TensorProto &to) const;
  void store(const onnx::TensorProto &from, llvm::StringRef name, Width width,
             onnx::TensorProto &to) const;
  int32_t dtypeOf(Width width) const;
  std::string typeOf(Width width) const;
  void setType(onnx::TypeProto &type, Width width) const;

  void describe(Node &node);
  void describeOwnCast(Node &node);

  Model &model;
  Conversion &report;
  /// The forms of each function: its content without a name, and its name.
  llvm::MapVector<const onnx::FunctionProto *,
                  std::vector<std::pair<std::string, std::string>>>
      forms;
};

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_REWRITER_H
