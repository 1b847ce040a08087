//===- OnnxNode.h - A node as lowerings see it
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ONNX_ONNXNODE_H
#define MPOPT_LIB_IMPORT_ONNX_ONNXNODE_H

#include "ModelImporter.h"

namespace mpopt::onnx_import {

class OnnxNode final : public NodeContext {
public:
  OnnxNode(ModelImporter &importer, const NodeInfo &info, Scope &scope);

  /// True if an error was reported, by the lowering or by inference.
  bool failed() const { return hasFailed; }

  llvm::StringRef type() const override;
  llvm::StringRef domain() const override;
  int64_t opset() const override;
  unsigned numInputs() const override;
  mlir::Value input(unsigned index) const override;
  unsigned numOutputs() const override;
  bool hasOutput(unsigned index) const override;
  bool hasAttr(llvm::StringRef name) const override;
  std::optional<int64_t> findInt(llvm::StringRef name) const override;
  std::optional<double> findFloat(llvm::StringRef name) const override;
  std::optional<llvm::StringRef>
  findString(llvm::StringRef name) const override;
  std::optional<llvm::SmallVector<int64_t>>
  findInts(llvm::StringRef name) const override;
  std::optional<llvm::SmallVector<double>>
  findFloats(llvm::StringRef name) const override;
  std::optional<llvm::SmallVector<llvm::StringRef>>
  findStrings(llvm::StringRef name) const override;
  mlir::Value makeConstantOf(llvm::StringRef name) override;
  mlir::Type findType(llvm::StringRef name) const override;
  mlir::Type elementTypeOf(int64_t dtype) const override;
  llvm::LogicalResult importBody(llvm::StringRef name, mlir::Region &region,
                                 mlir::TypeRange arguments) override;
  void setOutput(unsigned index, mlir::Value value) override;
  llvm::LogicalResult error(const llvm::Twine &reason) override;

private:
  void finish(mlir::Operation *op) override;
  const onnx::AttributeProto *find(llvm::StringRef name) const;
  /// The attribute, if it is of this type. Files from before attributes had
  /// types are read by what they hold.
  const onnx::AttributeProto *
  find(llvm::StringRef name, int type,
       bool (*holds)(const onnx::AttributeProto &)) const;

  ModelImporter &importer;
  const NodeInfo &info;
  Scope &scope;
  mlir::Operation *before;
  bool hasFailed = false;
};

} // namespace mpopt::onnx_import

#endif // MPOPT_LIB_IMPORT_ONNX_ONNXNODE_H
