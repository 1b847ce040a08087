//===- Parts.cpp - Parts that an output is joined of
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Parts.h"

#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/QuantizationOps.h"
#include "mpopt/Dialect/Ops/ShapeOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Propagate/QuantizationErrors.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpopt;

/// The numbers that a pair quantises which changes none of them; null for
/// others.
static Value beforePair(Operation *op) {
  auto numbers = dyn_cast<mp::DequantizeOp>(op);
  auto codes = numbers ? numbers.getInput().getDefiningOp<mp::QuantizeOp>()
                       : mp::QuantizeOp();
  return codes && codes.getScale() == numbers.getScale() &&
                 codes.getZeroPoint() == numbers.getZeroPoint() &&
                 isOnGrid(codes.getInput(), codes)
             ? codes.getInput()
             : Value();
}

/// The op that joins what the value holds in some order, or null; `isSlice`:
/// in the order of the value.
static Operation *findJoin(Value value, bool isSlice = false) {
  while (Operation *op = value.getDefiningOp()) {
    if (hasRole(op, Role::Concatenation))
      return op;
    if (Value numbers = beforePair(op)) {
      value = numbers;
      continue;
    }
    if (isSlice ? !isa<mp::IdentityOp>(op) : getOpKind(op) != OpKind::Copy)
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
}

std::vector<EffectSlice> mpopt::findSlices(Value output,
                                           ArrayRef<Value> blocks) {
  auto join =
      dyn_cast_if_present<mp::ConcatOp>(findJoin(output, /*isSlice=*/true));
  MaybeShape shape = getShape(output);
  std::optional<int64_t> axis =
      join && shape ? normalizeAxis(join.getAxis(), shape->size())
                    : std::nullopt;
  if (!axis)
    return {};
  std::vector<EffectSlice> slices(blocks.size());
  int64_t from = 0;
  for (Value operand : join.getInputs()) {
    MaybeShape own = getShape(operand);
    if (!own || (*own)[*axis] == kDynamic)
      return {};
    int64_t to = from + (*own)[*axis];
    for (auto [block, slice] : llvm::zip_equal(blocks, slices))
      if (block == operand && slice.to == 0)
        slice = {from, to, *axis};
    from = to;
  }
  if (llvm::any_of(slices, [](const EffectSlice &s) { return s.to == 0; }))
    return {};
  return slices;
}

SmallVector<Value> mpopt::findParts(Value output) {
  // Each part takes a backward graph of its own.
  constexpr size_t kMost = 8;
  SmallVector<Value> parts = {output};
  for (size_t index = 0; index < parts.size();) {
    Operation *join = findJoin(parts[index]);
    if (!join) {
      ++index;
      continue;
    }
    if (parts.size() - 1 + join->getNumOperands() > kMost)
      return {output};
    parts.erase(parts.begin() + index);
    for (Value operand : join->getOperands())
      if (isa<FloatType>(getElementType(operand)))
        parts.push_back(operand);
  }
  return parts;
}

size_t mpopt::countOpsBehind(Value value) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    SetVector<Value> read(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), read);
    llvm::append_range(work, read);
  }
  return seen.size();
}
