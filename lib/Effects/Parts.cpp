//===- Parts.cpp - Parts that an output is joined of
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Parts.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/OpKind.h"

#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpopt;

/// The op that joins what the value holds in some order, or null.
static Operation *findJoin(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (hasRole(op, Role::Concatenation))
      return op;
    if (getOpKind(op) != OpKind::Copy)
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
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

Value mpopt::findDoubtful(Value output, const RangeAnalysis &ranges) {
  auto sigmoid = getMaker<mp::SigmoidOp>(output, Peel::CastsAndViews);
  if (!sigmoid)
    return {};
  Value logits = sigmoid->getOperand(0);
  const AbstractValue &x = ranges.preRounding(logits);
  return x.hasLikely() && x.hull().likelyHi < 0 ? logits : Value();
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
