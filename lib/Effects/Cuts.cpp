//===- Cuts.cpp - Tensors that all of an output depends on
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In any order of the ops that puts operands first, a tensor is a cut if
// nothing that was made before it is read behind it.
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"

#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

using namespace mlir;
using namespace mpopt;

static SetVector<Value> readBy(Operation *op) {
  SetVector<Value> read(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return read;
}

llvm::DenseSet<Value> mpopt::findCuts(Value output) {
  Block *block = output.getParentBlock();
  llvm::DenseSet<Operation *> behind;
  SmallVector<Operation *> work;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp();
        op && op->getBlock() == block && behind.insert(op).second)
      work.push_back(op);
  };
  add(output);
  while (!work.empty())
    llvm::for_each(readBy(work.pop_back_val()), add);

  // Where floats that depend on arguments are made, and last read.
  auto isFloat = [](Value value) {
    return isa<FloatType>(getElementType(value));
  };
  llvm::DenseMap<Value, unsigned> places;
  llvm::DenseMap<Value, unsigned> last;
  for (BlockArgument argument : block->getArguments())
    if (isFloat(argument))
      places[argument] = 0;
  unsigned place = 0;
  for (Operation &op : *block) {
    if (!behind.contains(&op))
      continue;
    ++place;
    bool depends = false;
    for (Value value : readBy(&op))
      if (places.contains(value)) {
        depends = true;
        last[value] = place;
      }
    if (!depends)
      continue;
    for (Value result : op.getResults())
      if (isFloat(result))
        places[result] = place;
  }
  last[output] = place + 1;
  // How many values are alive between two places.
  std::vector<int> changes(place + 3);
  for (auto [value, end] : last) {
    auto made = places.find(value);
    if (made == places.end() || made->second + 1 >= end)
      continue;
    ++changes[made->second + 1];
    --changes[end];
  }
  std::vector<int> alive(changes.size());
  int now = 0;
  for (size_t index = 0; index < changes.size(); ++index)
    alive[index] = now += changes[index];
  llvm::DenseSet<Value> cuts;
  for (auto [value, made] : places) {
    // A value that is read behind its place crosses those, not its own.
    bool single = made > 0 || block->getNumArguments() == 1;
    if (single && last.contains(value) && alive[made] == 0 &&
        (made == 0 || value.getDefiningOp()->getNumResults() == 1))
      cuts.insert(value);
  }
  return cuts;
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
