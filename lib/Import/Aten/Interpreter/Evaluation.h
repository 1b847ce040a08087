//===- Evaluation.h - Runs the nodes that are no tensor ops -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program mixes tensor ops with Python's containers, numbers and questions
// about tensors. Each such op has a handler, a small function in a table by the
// op's name; there is a table for each kind of thing that an op is asked of.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_INTERPRETER_EVALUATION_H
#define MPOPT_LIB_IMPORT_ATEN_INTERPRETER_EVALUATION_H

#include "GraphImporter.h"

namespace mpopt::aten {

/// One node as handlers see it. Inputs and results are items, which handlers
/// take apart; ops that they make are named by the node.
class Evaluation final : public OpMaker {
public:
  /// `name` is the op without its namespace (`append`).
  Evaluation(GraphImporter &importer, const Node &node, llvm::StringRef name)
      : OpMaker(importer.builder, importer.pending, importer.facts),
        importer(importer), node(node), opName(name) {}

  llvm::StringRef name() const { return opName; }
  unsigned numInputs() const { return node.inputs.size(); }
  unsigned numOutputs() const { return node.outputs.size(); }
  Item &input(unsigned index) const {
    return importer.items[node.inputs[index]];
  }
  std::vector<Item> inputs() const;
  /// The static types of an input and of the first output.
  const StaticType &inputType(unsigned index) const {
    return importer.graph.values[node.inputs[index]].type;
  }
  const StaticType &resultType() const {
    return importer.graph.values[node.outputs.front()].type;
  }
  /// Null if the node has no such attribute.
  const Constant *findAttribute(llvm::StringRef name) const;
  /// An attribute that is a string; empty if there is none.
  llvm::StringRef getString(llvm::StringRef name) const;

  // Each of these binds results of the node, and succeeds.
  llvm::LogicalResult give(Item item, unsigned index = 0);
  /// Binds the first output to a number or a list of unknown content.
  llvm::LogicalResult giveUnknown();
  llvm::LogicalResult giveIfKnown(std::optional<Item> item) {
    return item ? give(std::move(*item)) : giveUnknown();
  }
  /// Binds all outputs to something that may be a member of the first `count`
  /// inputs.
  llvm::LogicalResult giveUnknownMember(unsigned count);

  /// A tensor, or a number as a rank-0 tensor; null for anything else.
  mlir::Value valueOf(const Item &item) { return importer.valueOf(item); }
  Item tensorItem(mlir::Value value) { return importer.tensorItem(value); }
  Item unknownItem(const StaticType &type) {
    return importer.unknownItem(type, loc());
  }
  Item importConstant(const Constant &constant) {
    return importer.importConstant(constant, node);
  }

  /// Says that the collection is about to change, or that nothing is known of
  /// it any more.
  void touch(const Item &item) { importer.state.touch(item.collection); }
  void forget(const Item &item) { importer.state.forget(item.collection); }

  // Attributes of modules, by path, and autocast regions.
  Item readModule(llvm::StringRef path);
  void writeModule(llvm::StringRef path, const StaticType &type,
                   const Item &item);
  void enterRegion(const Item &object) { importer.enter(object); }
  void exitRegion() { importer.exit(); }
  bool isAutocastEnabled() const;

  void finish(mlir::Operation *op) override { importer.finish(op); }

private:
  GraphImporter &importer;
  const Node &node;
  llvm::StringRef opName;
};

/// Runs one node. It fails, without having bound a result, if the inputs are
/// not of the form that the handler is for.
using Handler = llvm::LogicalResult (*)(Evaluation &);

class HandlerTable {
public:
  void add(std::initializer_list<llvm::StringRef> names, Handler handler) {
    for (llvm::StringRef name : names)
      handlers[name] = handler;
  }
  void add(llvm::StringRef name, Handler handler) { handlers[name] = handler; }
  /// Fails if the op has no handler, or that fails.
  llvm::LogicalResult run(Evaluation &evaluation) const {
    Handler handler = handlers.lookup(evaluation.name());
    return handler ? handler(evaluation) : llvm::failure();
  }

private:
  llvm::StringMap<Handler> handlers;
};

// One a file. A table may have several files.
void registerModuleHandlers(HandlerTable &prims);
void registerPrimHandlers(HandlerTable &prims);
void registerListHandlers(HandlerTable &lists);
void registerDictHandlers(HandlerTable &dicts);
void registerTensorHandlers(HandlerTable &tensors);
void registerModeHandlers(HandlerTable &modes);
void registerScalarHandlers(HandlerTable &scalars);
void registerStringHandlers(HandlerTable &scalars);
void registerRangeHandlers(HandlerTable &scalars);

/// The position of a member, of which Python counts negative ones from the end;
/// nothing if it is not known or out of bounds.
std::optional<size_t> positionIn(const Item &collection, const Item &index);

/// Computes the result, none of whose inputs holds a tensor, by a handler of
/// `handlers`, by folding what is known or by ops on rank-0 tensors. Fails if
/// the result holds a tensor.
llvm::LogicalResult evaluateScalar(Evaluation &evaluation,
                                   const HandlerTable &handlers);

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_INTERPRETER_EVALUATION_H
