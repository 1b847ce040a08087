//===- LoopOp.h - A loop that becomes mp.loop -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The types that a loop carries and the variables that it changes are not known
// before its body was imported: the body is imported on trial until both are
// stable, then once more for good.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_IMPORT_ATEN_INTERPRETER_LOOPOP_H
#define MPOPT_LIB_IMPORT_ATEN_INTERPRETER_LOOPOP_H

#include "ControlFlow.h"

namespace mpopt::aten {

/// One `prim::Loop`, whose inputs are the trip count, the first condition and
/// what it carries.
class GraphImporter::LoopOp {
public:
  LoopOp(GraphImporter &importer, const Node &node);

  /// Imports the body on trial until its types are stable. False if it changes
  /// more than tensors and attributes (it appends to a list), or carries items
  /// of changing form: there is no mp.loop of that.
  bool settle();
  /// Makes the op and binds the node's outputs. Precondition: `settle()`.
  void make();

private:
  Body importOnce();
  void bindArguments(mlir::Block &inner, std::vector<Item> &arguments);
  /// Collects the leaves that the body yields, or clears `regular`.
  void collectCarried(const Body &body);
  void collectHeld(const Body &body);

  /// Each of these adds what the body gave and changed to what the loop
  /// carries; false if that was more than before.
  bool addShared(const Body &body);
  bool addTypes(unsigned round);
  bool addRoots(const Body &body, unsigned round);
  bool addHeld(const Body &body);
  bool widen(mlir::Type &type, mlir::Type after, unsigned round);

  mlir::Operation *makeOp(Body body);
  void bindResults(mlir::Operation *op);

  llvm::SmallVector<mlir::Type> argumentTypes() const;
  void collect(const Item &item, llvm::SmallVectorImpl<mlir::Value> &leaves);

  GraphImporter &importer;
  State &state;
  const Node &node;
  const GraphBlock &block;
  mlir::Location location;
  const Item trips, start;

  std::vector<Item> initial; ///< the carried items before the loop
  /// For each carried item the tensors that it may be: the one that the loop
  /// began with, or one that a round made of tensors outside.
  std::vector<Roots> shared;
  unsigned numCarried = 0; ///< leaves of the carried items

  // Tensors from before the loop and attributes that the body changes.
  Roots roots;
  llvm::MapVector<llvm::StringRef, Item> held;

  // Leaves of the carried items and of the attributes, before the loop.
  llvm::SmallVector<mlir::Value> values, heldValues;
  llvm::SmallVector<mlir::Type> types, rootTypes, heldTypes;

  // The last import of the body.
  llvm::SmallVector<mlir::Value> yielded, heldYielded;
  Item next; ///< the condition of the next round
  bool regular = true;
};

} // namespace mpopt::aten

#endif // MPOPT_LIB_IMPORT_ATEN_INTERPRETER_LOOPOP_H
