//===- Nodes.cpp - The nodes of a model, as a keep list names them
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Nodes.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Interfaces/Interfaces.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/LoopStates.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Repair/Places.h"
#include "mpopt/Report/RuleTable.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <map>

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value mpopt::getPlace(Value value) {
  Value source = peel(value, Peel::CastsAndViews);
  if (source.getDefiningOp<mp::ConstantOp>())
    return source;
  return peel(value, Peel::InsertedCasts);
}

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

FixAction mpopt::keepAround(const FindingList::Entry &entry,
                            const Composites &composites) {
  llvm::SetVector<Operation *> ops;
  const RuleInfo &rule = *findRule(entry.finding.rule);
  if (!isInserted(entry.op))
    ops.insert(entry.op);
  // The lists judge a composite as a whole.
  if (const Composite *composite = composites.get(entry.op);
      composite && rule.byList)
    ops.insert(composite->members.begin(), composite->members.end());
  if (entry.value.getDefiningOp() != entry.op)
    addProducers(entry.value, ops);
  // A list names the op alone; a range past the dtype also has to fit the
  // readers of the value.
  else if (isInserted(entry.op) || !rule.byList)
    addReaders(entry.value, ops);
  if (rule.about == Subject::Arguments)
    for (Value operand : entry.op->getOperands())
      if (isa<FloatType>(getElementType(operand)))
        addProducers(operand, ops);
  return FixAction::keep(ops.getArrayRef());
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// As keepInFp32 treats them: the others stay as they are.
static bool canBeKept(Operation *op) {
  return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
         isa<mp::CastOp, PrecisionOpInterface>(op);
}

Nodes::Nodes(ModuleOp module) {
  std::map<std::pair<std::string, std::string>, Node> byName;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isInserted(op) || isa<mp::ConstantOp>(op) || !canBeKept(op))
      return;
    Node node = Node(members.size());
    // A rule names the ops of the backward graph that it means.
    if (!getNodeName(op).empty() && !op->hasAttr(kBackwardAttr)) {
      OpRef name = getOpRef(op);
      node = byName.try_emplace({name.scope, name.name}, node).first->second;
    }
    if (node == members.size())
      members.emplace_back();
    members[node].push_back(op);
    nodeOf[op] = node;
  });
}

bool Nodes::add(Operation *op, NodeSet &nodes) const {
  auto found = nodeOf.find(op);
  if (found == nodeOf.end())
    return false;
  nodes.insert(found->second);
  return true;
}

ArrayRef<Node> Nodes::nodesOf(Value value) {
  auto [entry, isNew] = known.try_emplace(value);
  if (isNew)
    entry->second = findNodes(value);
  return entry->second;
}

SmallVector<Node, 4> Nodes::findNodes(Value value) const {
  NodeSet nodes;
  Value source = peel(value, Peel::InsertedCasts);
  // Stored once behind the loop, it is as good as exact.
  if (std::optional<LoopState> state = findLoopState(source)) {
    for (Operation *op : state->ops)
      if (!isInserted(op) && !add(op, nodes))
        return {};
    return SmallVector<Node, 4>(nodes.begin(), nodes.end());
  }
  auto argument = dyn_cast<BlockArgument>(source);
  bool isInput =
      argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!isInput && !isConstant(source)) {
    llvm::SetVector<Operation *> makers;
    addProducers(source, makers);
    if (makers.empty())
      return {};
    for (Operation *op : makers)
      if (!add(op, nodes))
        return {};
  }
  llvm::SetVector<Operation *> readers;
  addReaders(value, readers);
  for (Operation *op : readers) {
    // Indices, shapes and comparisons pass no rounding on.
    bool passesOn = (deciding && getOpKind(op) != OpKind::Source) ||
                    llvm::any_of(op->getResults(), [](Value result) {
                      return isa<FloatType>(getElementType(result));
                    });
    if (passesOn && !add(op, nodes))
      return {};
  }
  return SmallVector<Node, 4>(nodes.begin(), nodes.end());
}

std::string Nodes::kindOf(Node node) const {
  std::string kind;
  for (Operation *op : members[node]) {
    llvm::SetVector<Operation *> readers;
    for (Value result : op->getResults())
      addReaders(result, readers, 1);
    kind += op->getName().getStringRef();
    for (Value operand : op->getOperands()) {
      Operation *maker = getMaker(operand, Peel::InsertedCasts);
      kind += '<';
      kind += maker ? maker->getName().getStringRef() : "";
    }
    for (Operation *reader : readers) {
      kind += '>';
      kind += reader->getName().getStringRef();
    }
  }
  return kind;
}
