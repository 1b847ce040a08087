//===- ModelImporter.h - A validated ONNX model to mp IR
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_MODELIMPORTER_H
#define MPOPT_LIB_IMPORT_ONNX_MODELIMPORTER_H

#include "Functions.h"
#include "ModelFile.h"
#include "Registry.h"
#include "TensorData.h"
#include "Types.h"
#include "Validate.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace mpopt::onnx_import {

/// The function instance that is being expanded, or the main graph.
struct Frame {
  const OpsetMap *opsets = nullptr;
  /// Targets of attribute references.
  llvm::StringMap<const onnx::AttributeProto *> attributes;
  unsigned depth = 0;
  /// Values inside have no names of the model's.
  bool expanded = false;
  /// In the body of an operator's definition: the location of the node that has
  /// that operator, which all ops made from it share.
  mlir::LocationAttr location;

  const onnx::AttributeProto *
  resolve(const onnx::AttributeProto &attribute) const;
};

/// The values visible in one graph.
struct Scope {
  const Scope *outer = nullptr;
  const Frame *frame = nullptr;
  std::string path;
  // Keys point into the model's own strings.
  llvm::DenseMap<llvm::StringRef, mlir::Value> values;
  llvm::DenseMap<llvm::StringRef, const onnx::TypeProto *> declared;

  /// Null if there is no such value.
  mlir::Value find(llvm::StringRef name) const;
};

/// Facts about a node before it is lowered.
struct NodeInfo {
  const onnx::NodeProto &node;
  std::string name;
  llvm::StringRef domain;
  int64_t opset;
  /// Unknown while the node is lowered, unless it has bodies: most nodes become
  /// one op, whose location also has the names of its results.
  mlir::Location location;
};

class ModelImporter {
public:
  ModelImporter(mlir::MLIRContext *context, const ModelFile &file,
                const ImportOptions &options, ErrorSink &sink,
                ImportResult &result);

  /// Fills in the result; its module is null after an error.
  void run(const FunctionTable &functions, const NodeOrders &orders,
           bool valid);

  // For lowerings.
  void importBody(const onnx::GraphProto &graph, mlir::Region &region,
                  mlir::TypeRange arguments, const Scope &outer,
                  const NodeInfo &info, llvm::StringRef branch);
  mlir::Value makeConstant(const TensorValue &value, mlir::Location location);
  void countParameters(uint64_t count) { result.parameters += count; }
  /// A value of which nothing is known, after an error.
  mlir::Value makeUnknown(llvm::StringRef name, mlir::Location location);
  /// Gives output `index` of a node its value. `before` is the op that was last
  /// in the block when the node was begun (null: none).
  void bind(const NodeInfo &info, unsigned index, mlir::Value value,
            Scope &scope, mlir::Operation *before);
  /// Infers and verifies a new op; what is wrong goes to the sink, under the
  /// node being imported.
  bool finish(mlir::Operation *op);

  mlir::Operation *lastOp();

  mlir::OpBuilder builder;
  ShapeFacts facts;
  ErrorSink &sink;
  TensorReader tensors;
  TypeReader types;
  const Registry registry;

private:
  struct Mark {
    ErrorSink::Mark sink;
    mlir::Operation *last;
    unsigned opaques;
    std::optional<Coverage> coverage;
  };

  NodeInfo describe(const onnx::NodeProto &node, unsigned index,
                    const Scope &scope);
  void importMain(const onnx::GraphProto &graph, const OpsetMap &opsets);
  void importInputs(const onnx::GraphProto &graph, mlir::func::FuncOp function,
                    Scope &scope);
  mlir::Type overrideInput(llvm::StringRef name, mlir::Type type);
  void importInitializers(const onnx::GraphProto &graph, Scope &scope);
  void
  importNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes,
              Scope &scope);
  void declareTypes(const onnx::GraphProto &graph, Scope &scope);

  void importNode(NodeInfo info, Scope &scope);
  /// The location of ops made from the node, whose results have these names.
  mlir::Location locate(const NodeInfo &info, const Scope &scope,
                        llvm::ArrayRef<llvm::StringRef> values);
  /// Gives the ops after `before` (null: all) that have none their location.
  void locateSteps(const NodeInfo &info, const Scope &scope,
                   mlir::Operation *before);
  /// Adds `name`, of the graph `scope`, to the location of the value's op.
  void nameResult(mlir::OpResult value, llvm::StringRef name,
                  const NodeInfo &info, const Scope &scope);
  /// True if what was reported since `start` only says that shapes contradict
  /// each other, in a branch: exporters write branches for shapes that the
  /// model turns out not to have, and runtimes never take them.
  bool isDead(const Mark &start) const;
  /// Nothing if there is no lowering for this form.
  std::optional<bool> lower(const NodeInfo &info, Scope &scope);
  bool expandFunction(const NodeInfo &info, Scope &scope);
  bool expandSchema(const NodeInfo &info, Scope &scope);
  /// The node with attribute references resolved, and its operands' types, as
  /// the ONNX library wants to see them.
  onnx::NodeProto resolveAttributes(const NodeInfo &info, const Scope &scope);
  std::vector<onnx::TypeProto> operandTypes(const NodeInfo &info,
                                            const Scope &scope);
  bool expand(const onnx::FunctionProto &function, const NodeInfo &info,
              Scope &scope, Frame &frame, std::string path);
  /// After an error, which `refused` says there was, its bodies are left out:
  /// they were imported once.
  void makeOpaque(const NodeInfo &info, Scope &scope, bool refused = false);
  mlir::Attribute convertAttribute(const onnx::AttributeProto &attribute,
                                   llvm::StringRef node);
  llvm::SmallVector<mlir::Type> opaqueTypes(const NodeInfo &info, Scope &scope,
                                            bool refused);
  mlir::Type declaredType(const onnx::NodeProto &node, unsigned index,
                          const Scope &scope);

  Mark mark(const onnx::NodeProto &node);
  void rollBack(const Mark &mark);

  mlir::MLIRContext *context;
  const ModelFile &file;
  const ImportOptions &options;
  ImportResult &result;
  const FunctionTable *functions = nullptr;
  const NodeOrders *orders = nullptr;
  std::string currentNode;
  /// Nodes, expanded ones too, that no lowering was found for.
  unsigned opaques = 0;
};

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_MODELIMPORTER_H
