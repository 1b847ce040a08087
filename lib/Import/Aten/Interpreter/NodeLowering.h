//===- NodeLowering.h - The context that lowerings see ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_IMPORT_ATEN_INTERPRETER_NODELOWERING_H
#define MPOPT_LIB_IMPORT_ATEN_INTERPRETER_NODELOWERING_H

#include "GraphImporter.h"

namespace mpopt::aten {

class NodeLowering : public NodeContext {
public:
  NodeLowering(GraphImporter &importer, const Node &node, bool inPlace);

  llvm::StringRef name() const override { return opName; }
  llvm::StringRef overload() const override { return node.overload; }
  std::function<NodeContext &()> keep() const override;
  unsigned numOutputs() const override { return node.outputs.size(); }
  bool has(llvm::StringRef input) const override;
  mlir::Value tensor(llvm::StringRef input) override;
  bool isScalar(llvm::StringRef input) const override;
  std::optional<llvm::SmallVector<mlir::Value>>
  tensors(llvm::StringRef input) override;
  std::optional<int64_t> findInt(llvm::StringRef input) const override;
  std::optional<double> findNumber(llvm::StringRef input) const override;
  std::optional<llvm::StringRef>
  findString(llvm::StringRef input) const override;
  std::optional<llvm::SmallVector<int64_t>>
  findInts(llvm::StringRef input) const override;
  std::optional<llvm::SmallVector<double>>
  findNumbers(llvm::StringRef input) const override;
  mlir::Value array(llvm::StringRef input) override;
  mlir::Value shapeOf(llvm::StringRef input) override;
  void setOutput(unsigned index, mlir::Value value) override;
  void setOutputTensors(unsigned index,
                        llvm::ArrayRef<mlir::Value> values) override;
  void setOutputNumber(unsigned index, mlir::Value value) override;
  void setOutputSharing(unsigned index, mlir::Value value,
                        llvm::StringRef of) override;
  void setAlias(unsigned index, llvm::StringRef input) override;
  void setView(
      unsigned index, llvm::StringRef of, mlir::Value value,
      std::function<mlir::Value(mlir::Value)> derive,
      std::function<mlir::Value(mlir::Value, mlir::Value)> writeBack) override;
  void setOutputViews(unsigned index, llvm::StringRef of,
                      llvm::ArrayRef<TensorView> views) override;
  void write(llvm::StringRef input, mlir::Value value) override;
  llvm::LogicalResult error(const llvm::Twine &reason) override;

  bool hasFailed() const { return failed; }
  /// Does the writes of in-place forms and `out=` overloads; names results.
  void complete();

protected:
  void finish(mlir::Operation *op) override { importer.finish(op); }

private:
  /// Null if absent or None.
  const Item *find(llvm::StringRef input) const;
  Item viewItem(const Item *base, TensorView view);

  GraphImporter &importer;
  const Node &node;
  llvm::StringRef opName;
  bool inPlace;
  bool failed = false;
};

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_INTERPRETER_NODELOWERING_H
