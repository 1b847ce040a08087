//===- ControlFlowOps.cpp - Branches and their yield ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ControlFlowSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeJoin.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

#define GET_OP_CLASSES
#include "mpopt/Dialect/Ops/ControlFlowOps.cpp.inc"

void MPDialect::registerControlFlowOps() {
  addOperations<
#define GET_OP_LIST
#include "mpopt/Dialect/Ops/ControlFlowOps.cpp.inc"
      >();
}

YieldOp mp::getYield(Region &region) {
  if (region.empty() || region.front().empty())
    return {};
  return dyn_cast<YieldOp>(region.front().back());
}

bool mp::mayMeet(Type lhs, Type rhs, bool sameRank) {
  if (lhs == rhs)
    return true;
  // One of them may be missing: a body asks before it takes the value.
  for (auto [maybe, value] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    if (auto optional = dyn_cast<OptionalType>(maybe))
      if (!isa<OptionalType>(value))
        return mayMeet(optional.getElementType(), value, sameRank);
  if (!isa<TensorType>(lhs) || !isa<TensorType>(rhs))
    return lhs.getTypeID() == rhs.getTypeID() ||
           lhs == getUnknownTensor(lhs.getContext()) ||
           rhs == getUnknownTensor(rhs.getContext());
  Type left = getElementType(lhs), right = getElementType(rhs);
  if (left != right && !isUnknown(left) && !isUnknown(right) &&
      !(isa<FloatType>(left) && isa<FloatType>(right)))
    return false;
  return !sameRank || refineType(lhs, rhs).has_value();
}

//===----------------------------------------------------------------------===//
// YieldOp
//===----------------------------------------------------------------------===//

LogicalResult YieldOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (parent && !isa<RegionBranchOpInterface, OpaqueOp>(parent))
    return emitOpError("must end the body of an mp op");
  return success();
}

MutableOperandRange YieldOp::getMutableSuccessorOperands(RegionSuccessor) {
  MutableOperandRange values = getValuesMutable();
  Operation *parent = (*this)->getParentOp();
  auto slice = [&](unsigned first, unsigned count) {
    unsigned size = values.size();
    first = std::min(first, size);
    return values.slice(first, std::min(count, size - first));
  };
  if (isa<IfOp>(parent))
    return values;
  if (auto loop = dyn_cast<LoopOp>(parent))
    return slice(1, loop.getInitial().size());
  if (auto scan = dyn_cast<ScanOp>(parent))
    return slice(0, scan.getInitial().size());
  return slice(0, 0); // what a body of another op yields is the op's to collect
}

//===----------------------------------------------------------------------===//
// IfOp
//===----------------------------------------------------------------------===//

LogicalResult IfOp::inferResultTypes(const ShapeFacts &facts,
                                     SmallVectorImpl<Type> &types) {
  YieldOp thenYield = getYield(getThenBody()),
          elseYield = getYield(getElseBody());
  unsigned count = getNumResults();
  if (!thenYield || !elseYield || thenYield->getNumOperands() != count ||
      elseYield->getNumOperands() != count) {
    llvm::append_range(types, getResultTypes());
    return success();
  }
  std::optional<SmallVector<int64_t>> known = facts.constants(getCondition());
  for (unsigned index = 0; index < count; ++index) {
    Type left = thenYield->getOperand(index).getType(),
         right = elseYield->getOperand(index).getType();
    if (known && known->size() == 1)
      types.push_back(known->front() ? left : right);
    else
      types.push_back(joinTypes(left, right));
  }
  return success();
}

void IfOp::getSuccessorRegions(RegionBranchPoint point,
                               SmallVectorImpl<RegionSuccessor> &successors) {
  if (!point.isParent()) {
    successors.emplace_back(getOperation(), getResults());
    return;
  }
  successors.emplace_back(&getThenBody());
  successors.emplace_back(&getElseBody());
}

void IfOp::getEntrySuccessorRegions(
    ArrayRef<Attribute> operands,
    SmallVectorImpl<RegionSuccessor> &successors) {
  auto condition = dyn_cast_or_null<DenseElementsAttr>(
      operands.empty() ? Attribute() : operands[0]);
  bool known = condition && condition.getElementType().isInteger(1) &&
               condition.getNumElements() == 1;
  bool value = known && *condition.value_begin<bool>();
  if (!known || value)
    successors.emplace_back(&getThenBody());
  if (!known || !value)
    successors.emplace_back(&getElseBody());
}

// A body that never runs may yield another rank than the one that does.
bool IfOp::areTypesCompatible(Type lhs, Type rhs) {
  return mayMeet(lhs, rhs, /*sameRank=*/false);
}

LogicalResult IfOp::verifyRegions() {
  for (Region *body : {&getThenBody(), &getElseBody()}) {
    if (body->getNumArguments() != 0)
      return emitOpError("a branch has no arguments");
    YieldOp yield = getYield(*body);
    if (!yield)
      return emitOpError("a branch must end in mp.yield");
    if (yield->getNumOperands() != getNumResults())
      return emitOpError("has ")
             << getNumResults() << " results where a branch yields "
             << yield->getNumOperands() << " values";
  }
  return success();
}
