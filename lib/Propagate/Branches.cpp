//===- Branches.cpp - Branches of which the side is known
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Propagate/Branches.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpopt;

static SmallVector<Region *, 2> findLiveBodies(mp::IfOp op, const Cell &known) {
  // A number that is not 0 is true, as it is to the branch.
  if (known.lo > 0)
    return {&op.getThenBody()};
  if (known.lo == 0 && known.hi == 0)
    return {&op.getElseBody()};
  return {&op.getThenBody(), &op.getElseBody()};
}

SmallVector<Region *, 2> mpopt::findLiveBodies(mp::IfOp op,
                                               const RangeAnalysis &ranges) {
  return ::findLiveBodies(op, ranges.of(op.getCondition()).hull());
}

void mpopt::forEachLiveOp(Block &block, const RangeAnalysis &ranges,
                          llvm::function_ref<void(Operation *)> visit) {
  for (Operation &op : block) {
    if (auto branch = dyn_cast<mp::IfOp>(op))
      for (Region *body : findLiveBodies(branch, ranges))
        forEachLiveOp(body->front(), ranges, visit);
    visit(&op);
    ranges.limitRounded();
  }
}

/// True if one op can choose between what the bodies yield.
static bool canChoose(mp::IfOp op) {
  Operation *then = op.getThenBody().front().getTerminator(),
            *otherwise = op.getElseBody().front().getTerminator();
  return llvm::all_of(op.getResults(), [&](OpResult result) {
    Value a = then->getOperand(result.getResultNumber()),
          b = otherwise->getOperand(result.getResultNumber());
    return isa<TensorType>(a.getType()) && getShape(a) &&
           a.getType() == b.getType();
  });
}

void mpopt::inlineBranches(Block &copy, ChangedModule &change,
                           const RangeAnalysis &ranges,
                           llvm::function_ref<void(Value, Value)> replaced) {
  // Branches that stay are skipped, and bodies may hold further ones.
  for (Operation *op = &copy.front(), *next; op; op = next) {
    next = op->getNextNode();
    auto branch = dyn_cast<mp::IfOp>(op);
    if (!branch)
      continue;
    Value condition = change.originals.lookup(branch.getCondition());
    if (!condition)
      continue;
    SmallVector<Region *, 2> live =
        ::findLiveBodies(branch, ranges.of(condition).hull());
    if (live.size() > 1 && !canChoose(branch))
      continue;
    Operation *before = op->getPrevNode();
    SmallVector<SmallVector<Value>, 2> yielded;
    for (Region *body : live) {
      Operation *yield = body->front().getTerminator();
      yielded.emplace_back(yield->getOperands());
      yield->erase();
      copy.getOperations().splice(Block::iterator(op),
                                  body->front().getOperations());
    }
    OpBuilder builder(op);
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      Value stands = yielded[0][index];
      if (live.size() > 1 && stands != yielded[1][index]) {
        stands = mp::WhereOp::create(builder, op->getLoc(), stands.getType(),
                                     branch.getCondition(), stands,
                                     yielded[1][index])
                     .getResult();
        change.originals[stands] = change.originals.lookup(result);
      }
      replaced(result, stands);
      result.replaceAllUsesWith(stands);
    }
    // New ops may lie where those of a body that never runs did.
    op->walk([&](Operation *dead) {
      for (Value value : dead->getResults())
        change.originals.erase(value);
    });
    op->erase();
    next = before ? before->getNextNode() : &copy.front();
  }
}
