//===- GraphImporter.h - A graph of aten ops to an mp module ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the importer, one file each: GraphImporter.cpp (function,
// inputs, outputs), NodeImport.cpp (one node), If.cpp, Loop.cpp,
// LoopOp.cpp and ControlFlow.cpp (what both do with bodies), Evaluation.cpp
// (nodes that are no tensor ops; their handlers are listed in Evaluation.h),
// Constants.cpp (literals and parameters), Autocast.cpp (autocast regions).
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_INTERPRETER_GRAPHIMPORTER_H
#define MPOPT_LIB_IMPORT_ATEN_INTERPRETER_GRAPHIMPORTER_H

#include "Item.h"

#include "mpopt/Dialect/Interfaces/FreshFacts.h"
#include "mpopt/Import/Aten/Graph.h"
#include "mpopt/Import/Aten/Lowering.h"
#include "mpopt/Import/ErrorSink.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpopt::aten {

class Registry : public LoweringRegistry {
public:
  Registry();
  using LoweringRegistry::add;
  void add(llvm::StringRef name, Lowering lowering) override {
    lowerings[name] = lowering;
  }
  /// Null if there is none. `inPlace` is set if the op has a trailing `_` that
  /// was taken off to find it.
  Lowering find(const Node &node, bool &inPlace) const;

private:
  llvm::StringMap<Lowering> lowerings;
};

/// An autocast region that a node is in.
struct AutocastState {
  bool isSet = false; ///< whether a region says anything
  bool enabled = false;
  mlir::Type dtype;
  std::string device;
};

/// The opaque op that stands for a write that is not followed.
inline constexpr llvm::StringLiteral kLostName = "torch::write_to_view";

class GraphImporter {
public:
  GraphImporter(const Graph &graph, llvm::StringRef path,
                const ImportOptions &options, mlir::MLIRContext &context,
                ErrorSink &sink, ImportResult &result,
                const WrittenState &written);

  void run();
  /// The state that the constructor got, with the writes found since.
  const WrittenState &written() const { return state.written; }

private:
  friend class Evaluation;
  friend class NodeLowering;

  void describeModule(mlir::ModuleOp module);

  // Inputs.cpp
  Item importInput(const StaticType &type, const std::string &name,
                   const GraphPlace &place, mlir::func::FuncOp function);
  Item importDict(const StaticType &type, const std::string &name,
                  const GraphPlace &place, mlir::func::FuncOp function);
  /// The type of an input that is a tensor.
  mlir::Type inputType(llvm::StringRef name);
  /// The type that the file declares; `given` (null: none) may narrow it.
  mlir::Type declaredInputType(const GraphValue &value,
                               const InputShape *given);
  /// The names under which a value of this type appears among the inputs.
  void collectInputNames(const StaticType &type, const std::string &name,
                         std::vector<std::string> &names) const;

  // GraphImporter.cpp
  void returnItem(const Item &item, const std::string &name,
                  llvm::SmallVectorImpl<mlir::Value> &values);
  /// The node's location, with names for the results of an op.
  mlir::Location locationOf(const Node &node,
                            llvm::ArrayRef<llvm::StringRef> values = {}) const;
  /// The graph's name of a value; its path is the scope in front of that.
  std::string valueName(ValueId value) const;
  std::string nodeName(const Node &node) const;
  void finish(mlir::Operation *op);

  // NodeImport.cpp
  void importNodes(llvm::ArrayRef<Node> nodes);
  void importNode(const Node &node);
  void importOp(const Node &node);
  /// True if every input that is typed as a tensor, or as a list of tensors, is
  /// one.
  bool hasTensors(const Node &node);
  void lower(const Node &node);
  /// Gives the ops that were made after `before` the node's location, if they
  /// have none yet.
  void locateSteps(const Node &node, mlir::Operation *before);
  mlir::Operation *lastOp() const;
  void makeOpaque(const Node &node);
  /// The result of an opaque op for a value: a tensor of the type that the file
  /// declares, else an unknown one, or a number. Null for anything else.
  mlir::Type opaqueType(const GraphValue &value) const;
  /// Gives the node what the results of its opaque op stand for.
  void bindOpaque(const Node &node, mlir::Operation *opaque);
  /// Normalisation writes its running statistics while training, of which the
  /// schema says nothing.
  bool updatesStatistics(const Node &node, unsigned input) const;
  /// Marks the outputs of an unmodelled op as possible views of its inputs.
  void shareOutputs(const Node &node);
  /// True if the node counts as an op of the model.
  bool isOp(const Node &node) const;
  Item &item(ValueId id) { return items[id]; }
  void set(const Node &node, unsigned index, Item item);
  /// The tensor, or number as a rank-0 tensor; null for anything else.
  mlir::Value valueOf(const Item &item);
  Item tensorItem(mlir::Value value);
  /// An item of this type. Nothing is known of it but the variables that its
  /// tensors may share their storage with.
  Item unknownItem(const StaticType &type, mlir::Location location,
                   const Roots &shared = {});
  /// The same for all that a node gives.
  void setUnknown(const Node &node, const Roots &shared);
  void writeTensor(TensorVariable *variable, mlir::Value value);
  /// Anything of the value's type: it was written in a way that is not known.
  mlir::Value loseValue(mlir::Value before);
  /// An mp value that gets the name of the graph's, or of a member of that
  /// list.
  struct NamedResult {
    mlir::Value value;
    ValueId id;
    int64_t member = -1;
  };
  /// Names what the node gives: the location of an op is made once, with the
  /// names of all its results.
  void nameResults(const Node &node, llvm::ArrayRef<NamedResult> results);
  std::string memberName(ValueId list, int64_t member,
                         const std::string &name) const;
  /// Remembers what the name of an mp value stands for.
  void recordPlace(mlir::Value value, ValueId id, int64_t member = -1);
  void recordPlace(const std::string &name, GraphPlace place);
  /// Remembers that nothing is known of a tensor that the code names, or of all
  /// that a block makes.
  void recordUnfollowed(const StaticType &type, const std::string &name);
  void recordUnfollowed(const GraphBlock &block);

  // Constants.cpp
  // `node`: the one that reads or sets it.
  Item importConstant(const Constant &constant, const Node &node);
  mlir::Value importTensor(const Tensor &tensor, mlir::Location location);
  /// Broadcast to `sizes`.
  mlir::Value repeat(mlir::Value value, llvm::ArrayRef<int64_t> sizes);
  /// The elements of a tensor in the order in which they are stored, or the
  /// place of their bytes. Null if the archive does not hold `length` bytes.
  mlir::Attribute storedElements(const Tensor &tensor,
                                 mlir::RankedTensorType type, int64_t length);
  mlir::Value makeConstant(mlir::Type type, mlir::Attribute elements,
                           mlir::Location location);
  /// The real numbers that the integers `stored` of a quantised tensor mean.
  mlir::Value dequantize(const Tensor &tensor, mlir::Value stored,
                         mlir::Location location);
  /// A tensor that the archive holds.
  Item savedTensor(int64_t index, const Node &node);
  /// A tensor that an earlier call may have changed.
  Item changedTensor(mlir::Type type, llvm::StringRef name, bool isShared,
                     mlir::Location location);
  /// `type`: what the node says that it is.
  Item attribute(llvm::StringRef path, const StaticType &type,
                 const Node &node);
  void setAttribute(llvm::StringRef path, const StaticType &type,
                    const Item &item, const Node &node);
  /// True if the attribute is changed and has other names: it is then read anew
  /// each time.
  bool isSharedSlot(llvm::StringRef path) const;
  bool isSharedMemory(int64_t memory) const;

  // Evaluation.cpp
  /// Runs a node that is no tensor op; whether it was one.
  bool evaluate(const Node &node);

  // ControlFlow.cpp
  struct Body;
  /// Imports a block into a region of its own and takes its changes back.
  Body importBody(const GraphBlock &block, llvm::ArrayRef<Item> arguments,
                  mlir::TypeRange argumentTypes, mlir::Location location,
                  llvm::function_ref<void(mlir::Block &, Body &)> prepare = {});
  /// Nothing is known any more of these lists and dicts.
  void forgetCollections(llvm::ArrayRef<std::shared_ptr<Collection>> owners);
  /// The same of those that the body changed, which may hold what it put there.
  void forgetCollections(const Body &body);

  // If.cpp, Loop.cpp, LoopOp.cpp
  class IfOp;
  class LoopOp;
  void importIf(const Node &node);
  /// The branch that runs, if that is known.
  const GraphBlock *onlyBranch(const Node &node);
  void importLoop(const Node &node);
  bool unrollLoop(const Node &node, int64_t limit);
  /// Nothing is known of what the loop gives and changes.
  void forgetLoop(const Node &node);

  // Autocast.cpp
  void enter(const Item &object);
  void exit();
  void markAutocast(mlir::Operation *op) const;
  /// The ops from `first` on are what the node became: by which name autocast
  /// lists it, if that is none of theirs. `self`: what it changes in place.
  void markParts(const Node &node, mlir::Value self, mlir::Operation *first);

  const Graph &graph;
  std::string path;
  const ImportOptions &options;
  mlir::MLIRContext *context;
  ErrorSink &sink;
  ImportResult &result;

  Registry registry;
  mlir::OpBuilder builder;
  /// Where the ops of the node are that is being imported.
  const mlir::Location pending;
  ShapeFacts facts;
  FreshFacts freshFacts{facts};
  State state;
  const WrittenState entry; ///< what is not as saved when a call starts
  std::vector<Item> items;  ///< by ValueId
  /// Values that were not known, and became unknown tensors where a lowering
  /// took them: those of the body at hand come last.
  std::vector<ValueId> resolved;
  mlir::Operation *lastTensor = nullptr; ///< the one imported last
  std::vector<mlir::Value> tensorValues; ///< by index into graph.tensors
  std::vector<AutocastState> autocast;
  std::string autocastDevice; ///< of the first region; empty without any
  mlir::Type defaultFloat;    ///< what the parameters are, for open inputs
  /// Values that are read from members of dictionaries, by the inputs' names.
  std::map<std::string, std::vector<ValueId>> memberReads;
  std::string currentNode;
  std::string iteration; ///< `#3` in the fourth round of an unrolled loop
  /// The counters of the loops that `iteration` is about.
  std::vector<std::pair<ValueId, int64_t>> rounds;
  unsigned trial = 0; ///< above 0 nothing is counted
};

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_INTERPRETER_GRAPHIMPORTER_H
