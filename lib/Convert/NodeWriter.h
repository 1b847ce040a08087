//===- NodeWriter.h - ONNX's nodes of ops of the dialect --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_NODEWRITER_H
#define MPOPT_LIB_CONVERT_NODEWRITER_H

#include "Graph.h"

#include "mlir/IR/Operation.h"

namespace mpopt::convert {

/// A value that new nodes read.
struct Operand {
  std::string name;
  int32_t dtype = 0;
};

/// Nodes that are added to one graph.
struct AddedNodes {
  NodeList nodes;
  google::protobuf::RepeatedPtrField<onnx::TensorProto> tensors;
};

/// Writes the ops that fixes make (lib/Repair/Actions), at the model's opset.
class NodeWriter {
public:
  NodeWriter(Graph &graph, AddedNodes &added)
      : graph(graph), added(added), opset(graph.frame->opsets.version("")) {}

  /// The result; nothing if ONNX has no form of the op at that opset. A number
  /// among the operands has no name yet, and gets the type of the others.
  std::optional<Operand> write(mlir::Operation *op,
                               llvm::MutableArrayRef<Operand> operands);

private:
  using Names = llvm::ArrayRef<std::string>;
  struct Form;
  static llvm::ArrayRef<Form> getForms();

  std::string plain(mlir::Operation *op, Names operands);
  std::string logSoftmax(mlir::Operation *op, Names operands);
  std::string logSigmoid(mlir::Operation *op, Names operands);
  std::string log1p(mlir::Operation *op, Names operands);
  std::string rsqrt(mlir::Operation *op, Names operands);
  std::string softplus(mlir::Operation *op, Names operands);
  std::string reduction(mlir::Operation *op, Names operands);
  std::string clip(mlir::Operation *op, Names operands);

  onnx::NodeProto &add(llvm::StringRef type, Names operands);
  std::string addNumber(double number);
  std::string addAxes(llvm::ArrayRef<int64_t> axes);
  static void setInt(onnx::NodeProto &node, llvm::StringRef name,
                     int64_t value);

  Graph &graph;
  AddedNodes &added;
  const int64_t opset;
  // The name of the op that is written, and its element type.
  std::string label;
  int32_t dtype = 0;
};

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_NODEWRITER_H
