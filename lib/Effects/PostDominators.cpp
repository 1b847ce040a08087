//===- PostDominators.cpp - Tensors behind a value
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PostDominators.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Operation.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mpopt;

static SetVector<Value> readBy(Operation *op) {
  SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return read;
}

/// The ops of the block that read a value, themselves or within their bodies.
static unsigned countReaders(Value value, Block *block) {
  llvm::SmallPtrSet<Operation *, 8> readers;
  for (Operation *user : value.getUsers())
    readers.insert(block->findAncestorOpInBlock(*user));
  return readers.size();
}

SmallVector<Value> mpopt::findPostDominators(Value value) {
  // A norm or an attention takes some tens of ops; a bound on time alone.
  constexpr unsigned kMost = 256;
  SmallVector<Value> found;
  Block *block = value.getParentBlock();
  Operation *op = value.getDefiningOp();
  op = op ? op->getNextNode() : &block->front();
  // Values that depend on it, with the readers that are still to come.
  llvm::DenseMap<Value, unsigned> alive = {{value, countReaders(value, block)}};
  for (unsigned count = 0; count < kMost && !alive.empty(); ++count) {
    if (!op || op->hasTrait<OpTrait::IsTerminator>())
      break;
    bool depends = false;
    for (Value read : readBy(op)) {
      auto entry = alive.find(read);
      if (entry == alive.end())
        continue;
      depends = true;
      if (--entry->second == 0)
        alive.erase(entry);
    }
    if (depends)
      for (Value result : op->getResults())
        if (!result.use_empty())
          alive[result] = countReaders(result, block);
    if (depends && alive.size() == 1 && op->getNumResults() == 1 &&
        alive.contains(op->getResult(0)))
      found.push_back(op->getResult(0));
    op = op->getNextNode();
  }
  return found;
}
