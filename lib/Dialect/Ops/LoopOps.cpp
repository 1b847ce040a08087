//===- LoopOps.cpp - Loops and scans
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ControlFlowSupport.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeJoin.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::mp;

/// `type` with `dim` inserted at `axis`, which may be negative and counts in
/// the result.
static Type insertDim(Type type, int64_t axis, int64_t dim) {
  MaybeShape shape = getShape(type);
  if (!shape)
    return isa<TensorType>(type) ? type : getUnknownTensor(type.getContext());
  if (std::optional<int64_t> at = normalizeAxis(axis, shape->size() + 1))
    shape->insert(shape->begin() + *at, dim);
  else
    shape.reset();
  return getTensorType(shape, getElementType(type));
}

/// `type` without the dim at `axis`.
static Type removeDim(Type type, int64_t axis) {
  MaybeShape shape = getShape(type);
  if (!shape)
    return type;
  if (std::optional<int64_t> at = normalizeAxis(axis, shape->size()))
    shape->erase(shape->begin() + *at);
  else
    shape.reset();
  return getTensorType(shape, getElementType(type));
}

static int64_t getDim(Type type, int64_t axis) {
  MaybeShape shape = getShape(type);
  std::optional<int64_t> at =
      shape ? normalizeAxis(axis, shape->size()) : std::nullopt;
  return at ? (*shape)[*at] : kDynamic;
}

/// Sets block arguments from `first` on to `types`.
static void setArguments(Region &body, unsigned first, ArrayRef<Type> types,
                         bool widest) {
  if (body.empty())
    return;
  for (auto [index, type] : llvm::enumerate(types))
    if (first + index < body.getNumArguments())
      body.getArgument(first + index)
          .setType(widest ? forgetShape(type) : type);
}

/// Joins block arguments from `first` on with yielded values.
static bool widenArguments(Region &body, unsigned first, ValueRange yielded,
                           bool widest) {
  bool changed = false;
  for (auto [index, value] : llvm::enumerate(yielded)) {
    if (first + index >= body.getNumArguments())
      break;
    BlockArgument argument = body.getArgument(first + index);
    Type joined = joinTypes(argument.getType(), value.getType());
    if (joined == argument.getType())
      continue;
    argument.setType(widest ? forgetShape(joined) : joined);
    changed = true;
  }
  return changed;
}

/// `count` values of `range` from `first`, as many as there are: counts that do
/// not fit are the verifier's to report, after the values that enter and leave
/// the body are checked.
template <typename RangeT>
static RangeT clampedSlice(RangeT range, size_t first, size_t count) {
  size_t size = range.size();
  first = std::min(first, size);
  return range.slice(first, std::min(count, size - first));
}

//===----------------------------------------------------------------------===//
// LoopOp
//===----------------------------------------------------------------------===//

/// Arguments before the carried ones: iteration number and condition.
constexpr unsigned kLoopArguments = 2;

/// True if `value` is the condition the body was entered with.
static bool isEntryCondition(Value value, Region &body) {
  while (auto identity = value.getDefiningOp<IdentityOp>())
    value = identity.getInput();
  return body.getNumArguments() > 1 && value == body.getArgument(1);
}

/// A single number, if it is known.
static std::optional<int64_t> findNumber(Value value, const ShapeFacts &facts) {
  std::optional<SmallVector<int64_t>> known = facts.constants(value);
  if (!known || known->size() != 1)
    return std::nullopt;
  return known->front();
}

bool LoopOp::keepsRunning(const ShapeFacts &facts) {
  YieldOp yield = getYield(getBody());
  if (!yield || yield->getNumOperands() == 0)
    return false;
  Value next = yield->getOperand(0);
  return isEntryCondition(next, getBody()) ||
         findNumber(next, facts).value_or(0) != 0;
}

std::optional<int64_t> LoopOp::getKnownTripCount(const ShapeFacts &facts) {
  if (Value condition = getCondition()) {
    std::optional<int64_t> first = findNumber(condition, facts);
    if (first == 0)
      return 0;
    if (!first)
      return std::nullopt;
  }
  if (!keepsRunning(facts))
    return std::nullopt;
  std::optional<int64_t> count =
      getTripCount() ? findNumber(getTripCount(), facts) : std::nullopt;
  return count ? std::max<int64_t>(*count, 0) : count;
}

LogicalResult LoopOp::inferResultTypes(const ShapeFacts &facts,
                                       SmallVectorImpl<Type> &types) {
  YieldOp yield = getYield(getBody());
  unsigned carried = getInitial().size();
  if (!yield || yield->getNumOperands() != getNumResults() + 1 ||
      getNumResults() < carried) {
    llvm::append_range(types, getResultTypes());
    return success();
  }
  for (unsigned index = 0; index < carried; ++index)
    types.push_back(joinTypes(getInitial()[index].getType(),
                              yield->getOperand(1 + index).getType()));
  int64_t count = getKnownTripCount(facts).value_or(kDynamic);
  for (Value slice : yield->getOperands().drop_front(1 + carried))
    types.push_back(insertDim(slice.getType(), 0, count));
  return success();
}

void LoopOp::setRegionArguments(bool widest) {
  setArguments(getBody(), kLoopArguments,
               llvm::to_vector(getInitial().getTypes()), widest);
}

bool LoopOp::widenRegionArguments(bool widest) {
  YieldOp yield = getYield(getBody());
  return yield && widenArguments(getBody(), kLoopArguments,
                                 clampedSlice(yield->getOperands(), 1,
                                              getInitial().size()),
                                 widest);
}

OperandRange LoopOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getInitial();
}

/// Both ends of a loop's body and its entry lead to the body or out of it.
template <typename OpT>
static void getLoopSuccessors(OpT op, unsigned firstArgument,
                              SmallVectorImpl<RegionSuccessor> &successors) {
  unsigned carried = op.getInitial().size();
  if (!op.getBody().empty())
    successors.emplace_back(
        &op.getBody(), Block::BlockArgListType(op.getBody().getArguments())
                           .slice(std::min<size_t>(
                               firstArgument, op.getBody().getNumArguments()))
                           .take_front(carried));
  successors.emplace_back(op.getOperation(),
                          clampedSlice(op->getResults(), 0, carried));
}

void LoopOp::getSuccessorRegions(RegionBranchPoint,
                                 SmallVectorImpl<RegionSuccessor> &successors) {
  getLoopSuccessors(*this, kLoopArguments, successors);
}

bool LoopOp::areTypesCompatible(Type lhs, Type rhs) {
  return mayMeet(lhs, rhs, /*sameRank=*/true);
}

bool LoopOp::isPrecisionOperand(unsigned index) {
  return index >= getOperation()->getNumOperands() - getInitial().size();
}

LogicalResult LoopOp::verifyRegions() {
  unsigned carried = getInitial().size();
  if (getBody().getNumArguments() != carried + kLoopArguments)
    return emitOpError("body must have ")
           << carried + kLoopArguments
           << " arguments (iteration, condition, carried values), has "
           << getBody().getNumArguments();
  YieldOp yield = getYield(getBody());
  if (!yield)
    return emitOpError("body must end in mp.yield");
  if (getNumResults() < carried)
    return emitOpError("has fewer results than carried values");
  if (yield->getNumOperands() != getNumResults() + 1)
    return emitOpError("body must yield ")
           << getNumResults() + 1 << " values (condition, carried, scanned), "
           << "yields " << yield->getNumOperands();
  return success();
}

//===----------------------------------------------------------------------===//
// ScanOp
//===----------------------------------------------------------------------===//

static int64_t getAxis(std::optional<ArrayRef<int64_t>> axes, unsigned index,
                       bool batched) {
  if (batched)
    return 1;
  return axes && index < axes->size() ? (*axes)[index] : 0;
}

int64_t ScanOp::getInputAxis(unsigned index) {
  return getAxis(getInputAxes(), index, getBatched());
}

int64_t ScanOp::getOutputAxis(unsigned index) {
  return getAxis(getOutputAxes(), index, getBatched());
}

LogicalResult ScanOp::inferResultTypes(const ShapeFacts &,
                                       SmallVectorImpl<Type> &types) {
  YieldOp yield = getYield(getBody());
  unsigned states = getInitial().size();
  if (!yield || yield->getNumOperands() != getNumResults() ||
      getNumResults() < states) {
    llvm::append_range(types, getResultTypes());
    return success();
  }
  int64_t count = kDynamic, batch = kDynamic;
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    int64_t dim = getDim(input.getType(), getInputAxis(index));
    if (count != kDynamic && dim != kDynamic && dim != count)
      return emitOpError("scans over tensors of ")
             << count << " and " << dim << " slices";
    if (dim != kDynamic)
      count = dim;
    if (int64_t outer = getDim(input.getType(), 0); outer != kDynamic)
      batch = outer;
  }
  for (unsigned index = 0; index < states; ++index) {
    Type next = yield->getOperand(index).getType();
    types.push_back(joinTypes(getInitial()[index].getType(),
                              getBatched() ? insertDim(next, 0, batch) : next));
  }
  for (unsigned index = states; index < getNumResults(); ++index) {
    Type slice = yield->getOperand(index).getType();
    if (getBatched())
      types.push_back(insertDim(insertDim(slice, 0, count), 0, batch));
    else
      types.push_back(insertDim(slice, getOutputAxis(index - states), count));
  }
  return success();
}

void ScanOp::setRegionArguments(bool widest) {
  SmallVector<Type> states, slices;
  for (Type type : getInitial().getTypes())
    states.push_back(getBatched() ? removeDim(type, 0) : type);
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes())) {
    Type slice = removeDim(type, getInputAxis(index));
    slices.push_back(getBatched() ? removeDim(slice, 0) : slice);
  }
  setArguments(getBody(), 0, states, widest);
  setArguments(getBody(), states.size(), slices, /*widest=*/false);
}

bool ScanOp::widenRegionArguments(bool widest) {
  YieldOp yield = getYield(getBody());
  return yield && widenArguments(getBody(), 0,
                                 clampedSlice(yield->getOperands(), 0,
                                              getInitial().size()),
                                 widest);
}

OperandRange ScanOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getInitial();
}

void ScanOp::getSuccessorRegions(RegionBranchPoint,
                                 SmallVectorImpl<RegionSuccessor> &successors) {
  getLoopSuccessors(*this, 0, successors);
}

// Inside a batched scan, states have one dim less than outside.
bool ScanOp::areTypesCompatible(Type lhs, Type rhs) {
  return mayMeet(lhs, rhs, /*sameRank=*/!getBatched());
}

bool ScanOp::isPrecisionOperand(unsigned index) {
  return !getLengths() || index > 0;
}

LogicalResult ScanOp::verify() {
  auto check = [&](std::optional<ArrayRef<int64_t>> list, size_t size,
                   StringRef what) -> LogicalResult {
    if (list && !list->empty() && list->size() != size)
      return emitOpError("has ")
             << list->size() << " " << what << " for " << size << " tensors";
    return success();
  };
  size_t inputs = getInputs().size();
  if (inputs == 0)
    return emitOpError("needs a tensor to scan");
  if (getNumResults() < getInitial().size())
    return emitOpError("has fewer results than states");
  size_t outputs = getNumResults() - getInitial().size();
  if (failed(check(getInputAxes(), inputs, "input axes")) ||
      failed(check(getInputDirections(), inputs, "input directions")) ||
      failed(check(getOutputAxes(), outputs, "output axes")) ||
      failed(check(getOutputDirections(), outputs, "output directions")))
    return failure();
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    MaybeShape shape = getShape(input);
    if (shape && !normalizeAxis(getInputAxis(index), shape->size()))
      return emitOpError("axis ") << getInputAxis(index)
                                  << " is out of range of " << input.getType();
  }
  return success();
}

LogicalResult ScanOp::verifyRegions() {
  unsigned arguments = getInitial().size() + getInputs().size();
  if (getBody().getNumArguments() != arguments)
    return emitOpError("body must have ")
           << arguments << " arguments (states, slices), has "
           << getBody().getNumArguments();
  YieldOp yield = getYield(getBody());
  if (!yield)
    return emitOpError("body must end in mp.yield");
  if (yield->getNumOperands() != getNumResults())
    return emitOpError("body must yield ")
           << getNumResults() << " values, yields " << yield->getNumOperands();
  return success();
}
