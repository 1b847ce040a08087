//===- ModulePatch.h - A changed module as changes of its file --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef MPOPT_LIB_CONVERT_MODULEPATCH_H
#define MPOPT_LIB_CONVERT_MODULEPATCH_H

#include "Graph.h"
#include "NodeWriter.h"
#include "Tensors.h"

#include "mpopt/Convert/ModuleCopy.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace mpopt::convert {

/// Where the numbers of a constant are: an initializer's, or those of a node
/// `Constant`.
class ConstantInFile {
public:
  explicit ConstantInFile(const Value &value);
  explicit operator bool() const { return tensor || attribute; }

  int32_t dtype() const;
  /// As doubles.
  llvm::Expected<std::vector<double>> read(TensorSource &source) const;
  /// Floats of the constant's type, in the form that the file has.
  void write(llvm::ArrayRef<char> raw);

private:
  onnx::TensorProto *tensor = nullptr;
  /// `value_float`, `value_floats`
  onnx::AttributeProto *attribute = nullptr;
};

/// A change of the messages of a model, by its graph.
struct ModulePatch {
  /// A node reads, or an output of a graph is, another value.
  struct Rewire {
    Node *node; ///< null: an output of `graph`
    Graph *graph;
    Value *from;
    std::string to;
  };
  /// A value whose name an output of the model takes.
  struct Rename {
    Value *value;
    std::string to;
  };
  struct Setting {
    Node *node;
    std::string attribute;
    double number;
  };
  struct Numbers {
    Value *value; ///< a constant
    mp::ConstantOp now;
  };

  llvm::MapVector<Graph *, AddedNodes> added;
  std::vector<Rewire> rewires;
  std::vector<Rename> renames;
  std::vector<Setting> settings;
  std::vector<Numbers> numbers;
  /// Nodes and initializers that nothing reads any more.
  llvm::SetVector<Node *> removed;
  llvm::SetVector<Value *> removedTensors;

  bool isEmpty() const {
    return rewires.empty() && settings.empty() && numbers.empty();
  }
};

/// The patch by which the file says what `copy.after` does. The error is one
/// line: why the change has no form in the file.
llvm::Expected<ModulePatch> planPatch(Model &model, const ModuleCopy &copy);

/// Describes the changes. `source` reads the constants.
llvm::Expected<ModelDiff> describePatch(const ModulePatch &patch,
                                        TensorSource &source);

/// Makes the changes. The model's messages are of another graph then.
llvm::Error applyPatch(ModulePatch &patch, TensorSource &source);

} // namespace mpopt::convert

#endif // MPOPT_LIB_CONVERT_MODULEPATCH_H
