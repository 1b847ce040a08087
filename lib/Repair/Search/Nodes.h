//===- Nodes.h - The nodes of a model, as a keep list names them *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converters keep nodes by name, and a node may have become several ops: all
// of them are kept, or none.
//
//===----------------------------------------------------------------------===//

#ifndef MPOPT_LIB_REPAIR_SEARCH_NODES_H
#define MPOPT_LIB_REPAIR_SEARCH_NODES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <string>
#include <vector>

namespace mpopt {

using Node = unsigned;
using NodeSet = llvm::SetVector<Node>;

class Nodes {
public:
  explicit Nodes(mlir::ModuleOp module);

  unsigned size() const { return members.size(); }
  llvm::ArrayRef<mlir::Operation *> opsOf(Node node) const {
    return members[node];
  }
  /// Adds the node of an op that can be kept. False if there is none.
  bool add(mlir::Operation *op, NodeSet &nodes) const;
  /// The nodes that have to be kept, all of them, so that a value is not
  /// rounded where it is stored; none if no list does that.
  llvm::ArrayRef<Node> nodesOf(mlir::Value value);
  /// If `counts`, roundings count by the decisions that they change, too.
  void setDeciding(bool counts) { deciding = counts; }
  /// The types of a node and of those around it. Repeated layers have many of
  /// one kind.
  std::string kindOf(Node node) const;

private:
  llvm::SmallVector<Node, 4> findNodes(mlir::Value value) const;

  bool deciding = false;
  std::vector<llvm::SmallVector<mlir::Operation *, 1>> members;
  llvm::DenseMap<mlir::Operation *, Node> nodeOf;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Node, 4>> known;
};

} // namespace mpopt

#endif // MPOPT_LIB_REPAIR_SEARCH_NODES_H
