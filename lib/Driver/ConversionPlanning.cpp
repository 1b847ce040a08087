//===- ConversionPlanning.cpp - From casts to the plan of a file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ConversionPlanning.h"

#include "mpopt/Dialect/Origin.h"
#include "mpopt/Report/RuleTable.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace mpopt;

static std::string describeReason(const OpCasts &casts,
                                  ArrayRef<FindingList::Entry> entries) {
  if (!casts.why.empty())
    return casts.why;
  for (size_t reason : casts.reasons) {
    const Finding &finding = entries[reason].finding;
    const RuleInfo *rule = findRule(finding.rule);
    if (rule && !finding.tensor.empty())
      return std::string(rule->name) + " of '" + finding.tensor + "'";
    if (rule)
      return std::string(rule->name);
  }
  return "its rounding counts in an output";
}

ConversionPlan mpopt::planConversion(ModuleOp module, const CastPlan &plan,
                                     ArrayRef<FindingList::Entry> entries) {
  llvm::MapVector<PlannedNode, WideNode, std::map<PlannedNode, unsigned>> nodes;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto kept = plan.find(op);
    if (kept == plan.end() || getNodeName(op).empty())
      return;
    PlannedNode node{getScope(op).str(), getNodeName(op).str()};
    auto [entry, isNew] = nodes.insert({node, WideNode()});
    WideNode &wide = entry->second;
    wide.node = node;
    if (wide.why.empty())
      wide.why = describeReason(kept->second, entries);
    // An op of several that keeps all of its operands keeps the node's.
    if (!isNew && wide.tensors.empty())
      return;
    if (kept->second.operands.empty())
      return wide.tensors.clear();
    for (unsigned operand : kept->second.operands)
      if (StringRef name = getValueName(op->getOperand(operand)); !name.empty())
        wide.tensors.push_back(name.str());
  });
  ConversionPlan result;
  for (auto &[node, wide] : nodes)
    result.wide.push_back(std::move(wide));
  return result;
}
