//===- Places.cpp - Where a finding is, and what is around it
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Repair/Places.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Report/RuleTable.h"

using namespace mlir;
using namespace mpopt;

/// Where a finding is: a constant however it is moved, else before casts.
Value mpopt::getPlace(Value value) {
  Value source = peel(value, Peel::CastsAndViews);
  if (source.getDefiningOp<mp::ConstantOp>())
    return source;
  return peel(value, Peel::InsertedCasts);
}

/// Ops that compute with `value`, through inserted casts and ops that move it.
void mpopt::addReaders(Value value, llvm::SetVector<Operation *> &readers,
                       unsigned depth) {
  for (Operation *user : value.getUsers()) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      continue;
    if (!isInserted(user) && !readers.insert(user))
      continue;
    if (depth && (isInserted(user) || isViewLike(user)))
      for (Value result : user->getResults())
        addReaders(result, readers, depth - 1);
  }
}

/// The op that computes `value`, with those that move it on the way.
void mpopt::addProducers(Value value, llvm::SetVector<Operation *> &producers) {
  for (unsigned depth = 0; depth < 8; ++depth) {
    Operation *op = getMaker(value, Peel::InsertedCasts);
    if (!op || isa<mp::ConstantOp>(op))
      return;
    producers.insert(op);
    if (!isViewLike(op))
      return;
    value = op->getOperand(0);
  }
}

IdiomMembers mpopt::findMembers(ModuleOp module) {
  IdiomMembers members;
  module.walk([&](Operation *op) {
    if (auto idiom = op->getAttrOfType<mp::IdiomAttr>("mp.idiom"))
      members[idiom.getId()].push_back(op);
  });
  return members;
}

/// The default action of a `keep-fp32`, if its rule plans none itself.
FixAction mpopt::keepAround(const FindingList::Entry &entry,
                            const IdiomMembers &members) {
  llvm::SetVector<Operation *> ops;
  const RuleInfo &rule = *findRule(entry.finding.rule);
  if (!isInserted(entry.op))
    ops.insert(entry.op);
  // The lists judge a composite as a whole.
  auto idiom = entry.op->getAttrOfType<mp::IdiomAttr>("mp.idiom");
  if (idiom && rule.byList)
    if (auto found = members.find(idiom.getId()); found != members.end())
      ops.insert(found->second.begin(), found->second.end());
  if (entry.value.getDefiningOp() != entry.op)
    addProducers(entry.value, ops);
  // The lists ask for the op alone; a range has to be held on to by who reads.
  else if (isInserted(entry.op) || !rule.byList)
    addReaders(entry.value, ops);
  if (rule.about == Subject::Arguments)
    for (Value operand : entry.op->getOperands())
      if (isa<FloatType>(getElementType(operand)))
        addProducers(operand, ops);
  return FixAction::keep(ops.getArrayRef());
}
