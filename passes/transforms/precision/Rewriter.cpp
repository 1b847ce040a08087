//===- Rewriter.cpp - Applies a strategy to every op, in order
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One walk in program order: an op's operands are final when it is reached, its
// results are inferred at once. Bodies of control flow get their arguments'
// dtypes from the op's operands; where values meet (the ends of two branches,
// the start and the end of a loop's body) they need one dtype. A loop whose
// body yields a wider float than it was entered with is rewritten once more
// with the wider one: from its second iteration on that is what it carries.
//
//===----------------------------------------------------------------------===//

#include "passes/transforms/precision/Strategy.h"

#include "mpopt/Dialect/TypeInference.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

/// Loops nested deeper than this are not rewritten a second time (the work
/// would double with each level): they carry the model's own dtypes.
static constexpr unsigned kMaxLoopRewrites = 3;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

namespace {
class Rewriter {
public:
  Rewriter(PrecisionStrategy &strategy) : strategy(strategy) {}

  LogicalResult rewriteFunction(FunctionOpInterface function);

private:
  LogicalResult rewriteRegion(Region &region);
  LogicalResult rewrite(Operation *op);
  LogicalResult rewriteBodies(Operation *op);
  LogicalResult rewriteLoop(RegionBranchOpInterface op, RegionSuccessor entry);
  void joinBranches(RegionBranchOpInterface op);
  void castAll(MutableOperandRange operands, ArrayRef<Type> elementTypes);

  PrecisionStrategy &strategy;
  ShapeFacts facts;
  unsigned loopDepth = 0;
};
} // namespace

/// Block arguments stand for the op's last operands (the ones before are counts
/// and conditions), so they have those operands' element types.
static void setArgumentElements(Operation *op, Region &body) {
  unsigned count =
      std::min<unsigned>(body.getNumArguments(), op->getNumOperands());
  for (auto [argument, operand] :
       llvm::zip(body.getArguments().take_back(count),
                 op->getOperands().take_back(count)))
    if (isFloat(argument) && isFloat(operand))
      argument.setType(
          withElementType(argument.getType(), getElementType(operand)));
}

void Rewriter::castAll(MutableOperandRange operands,
                       ArrayRef<Type> elementTypes) {
  for (auto [operand, elementType] : llvm::zip(operands, elementTypes))
    if (isFloat(operand.get()) && isa<FloatType>(elementType))
      strategy.getCasts().castOperand(operand, elementType,
                                      CastOrigin::Promotion);
}

/// Where the bodies' results meet: the widest float of each.
void Rewriter::joinBranches(RegionBranchOpInterface op) {
  SmallVector<MutableOperandRange> ends;
  SmallVector<Type> joined;
  for (Region &body : op->getRegions()) {
    auto yield =
        body.empty()
            ? RegionBranchTerminatorOpInterface()
            : dyn_cast<RegionBranchTerminatorOpInterface>(body.front().back());
    if (!yield)
      continue;
    ends.push_back(yield.getMutableSuccessorOperands(
        RegionSuccessor(op, op->getResults())));
    for (auto [index, operand] : llvm::enumerate(ends.back())) {
      Type elementType = getElementType(operand.get());
      if (index < joined.size())
        joined[index] = promoteElementTypes(joined[index], elementType);
      else
        joined.push_back(elementType);
    }
  }
  for (const MutableOperandRange &end : ends)
    castAll(end, joined);
}

/// Rewrites a body with `entry`'s inputs carried from its end to its start (a
/// branch's has none).
LogicalResult Rewriter::rewriteLoop(RegionBranchOpInterface op,
                                    RegionSuccessor entry) {
  Region &body = *entry.getSuccessor();
  ValueRange carried = entry.getSuccessorInputs();
  OperandRange operands = op.getEntrySuccessorOperands(entry);
  MutableOperandRange initial(
      op, operands.empty() ? 0 : operands.getBeginOperandIndex(),
      operands.size());
  auto getElements = [](ValueRange values) {
    return llvm::map_to_vector(
        values, [](Value value) { return getElementType(value); });
  };
  bool mayRepeat = loopDepth <= kMaxLoopRewrites;
  if (!mayRepeat)
    castAll(initial, getElements(carried));
  setArgumentElements(op, body);
  if (failed(rewriteRegion(body)))
    return failure();
  auto yield = dyn_cast<RegionBranchTerminatorOpInterface>(body.front().back());
  if (!yield || carried.empty())
    return success();
  SmallVector<Type> before = getElements(carried), joined = before;
  for (auto [type, next] : llvm::zip(joined, yield.getSuccessorOperands(entry)))
    type = promoteElementTypes(type, getElementType(next));
  if (mayRepeat && joined != before) {
    castAll(initial, joined);
    strategy.getCasts().undo(op);
    setArgumentElements(op, body);
    if (failed(rewriteRegion(body)))
      return failure();
  }
  castAll(yield.getMutableSuccessorOperands(entry), getElements(carried));
  return success();
}

LogicalResult Rewriter::rewriteBodies(Operation *op) {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch || !strategy.promotesAtJoins()) {
    for (Region &body : op->getRegions())
      if (failed(rewriteRegion(body)))
        return failure();
    return success();
  }
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  bool isLoop = llvm::any_of(successors, [](RegionSuccessor &successor) {
    return successor.getSuccessor() && !successor.getSuccessorInputs().empty();
  });
  for (RegionSuccessor &successor : successors) {
    Region *body = successor.getSuccessor();
    if (!body || body->empty())
      continue;
    ++loopDepth;
    LogicalResult rewritten = rewriteLoop(branch, successor);
    --loopDepth;
    if (failed(rewritten))
      return failure();
  }
  if (!isLoop)
    joinBranches(branch);
  return success();
}

LogicalResult Rewriter::rewrite(Operation *op) {
  strategy.rewriteOperands(op);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (op->getNumRegions() && failed(rewriteBodies(op)))
    return failure();
  strategy.prepareResults(op);
  if (failed(inferTypes(op, facts)))
    return failure();
  strategy.finishResults(op);
  return success();
}

LogicalResult Rewriter::rewriteRegion(Region &region) {
  for (Block &block : region) {
    for (BlockArgument argument : block.getArguments())
      strategy.convertArgument(argument);
    // Casts are inserted behind ops that are done, so none is met here.
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(rewrite(&op)))
        return failure();
  }
  return success();
}

LogicalResult Rewriter::rewriteFunction(FunctionOpInterface function) {
  return rewriteRegion(function.getFunctionBody());
}

LogicalResult mpopt::rewritePrecision(ModuleOp module,
                                      PrecisionStrategy &strategy) {
  for (auto function : module.getOps<FunctionOpInterface>())
    if (failed(Rewriter(strategy).rewriteFunction(function)))
      return failure();
  strategy.getCasts().eraseUnused();
  return inferAllTypes(module);
}
