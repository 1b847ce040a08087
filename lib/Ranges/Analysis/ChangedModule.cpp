//===- ChangedModule.cpp - A copy in which some ops differ
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mpopt/Ranges/Analysis/ChangedModule.h"

#include "mpopt/Dialect/Ops/CoreOps.h"

using namespace mlir;
using namespace mpopt;

/// How many ops away rules look for a logarithm, a mask, a guard.
static constexpr unsigned kHops = 8;
/// Values with more readers are not followed: rules give up there, too.
static constexpr unsigned kMostReaders = 64;

static bool hasManyReaders(Value value) {
  unsigned count = 0;
  for (auto it = value.use_begin(); it != value.use_end(); ++it)
    if (++count > kMostReaders)
      return true;
  return false;
}

void ChangedModule::setScope(Operation *module, ArrayRef<Operation *> visited) {
  std::vector<Operation *> front;
  auto add = [&](Operation *op) {
    if (op && members.insert(op).second)
      front.push_back(op);
  };
  for (Operation *op : visited)
    op->walk(add);
  for (Operation *op : changed)
    add(op);
  for (Operation *op : around)
    add(op);
  for (unsigned hop = 0; hop < kHops && !front.empty(); ++hop) {
    std::vector<Operation *> last = std::move(front);
    front.clear();
    for (Operation *op : last) {
      for (Value operand : op->getOperands())
        add(operand.getDefiningOp());
      // A constant's other readers are no neighbours of each other.
      if (isa<mp::ConstantOp>(op) && !changed.contains(op))
        continue;
      for (Value result : op->getResults())
        if (!hasManyReaders(result))
          for (Operation *user : result.getUsers())
            add(user);
    }
  }
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (members.contains(op))
      ops.push_back(op);
  });
}

const ChangedModule *mpopt::getChange(AnalysisManager &manager) {
  auto known = manager.getCachedAnalysis<KnownChange>();
  return known ? known->get().change : nullptr;
}
