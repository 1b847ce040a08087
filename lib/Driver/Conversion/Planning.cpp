//===- Planning.cpp - From casts to the plan of a file
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Planning.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Origin.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Numerics/FloatFormat.h"
#include "mpopt/Policy/Policy.h"
#include "mpopt/Propagate/LoopStates.h"
#include "mpopt/Report/RuleTable.h"
#include "passes/transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
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
    wide.type = getNodeType(op).str();
    if (FileLineColLoc source = getSourceLine(op->getLoc())) {
      wide.file = source.getFilename().str();
      wide.line = source.getLine();
    }
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

llvm::Error mpopt::carryStates(ModuleOp module, ArrayRef<CarriedState> states) {
  auto functions = module.getOps<func::FuncOp>();
  if (states.empty() || functions.empty())
    return llvm::Error::success();
  func::FuncOp function = *functions.begin();
  auto findInput = [&](StringRef name) -> std::optional<int64_t> {
    for (BlockArgument argument : function.getArguments())
      if (getInputName(argument) == name)
        return argument.getArgNumber();
    return std::nullopt;
  };
  auto findOutput = [&](StringRef name) -> std::optional<int64_t> {
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      if (auto its = function.getResultAttrOfType<StringAttr>(index, "mp.name");
          its && its.getValue() == name)
        return index;
    for (auto [index, value] : llvm::enumerate(
             function.getFunctionBody().front().getTerminator()->getOperands()))
      if (getTensorName(value) == name)
        return index;
    return std::nullopt;
  };
  SmallVector<int64_t> numbers;
  for (const CarriedState &state : states) {
    std::optional<int64_t> input = findInput(state.input);
    std::optional<int64_t> output = findOutput(state.output);
    if (!input)
      return llvm::createStringError("--state: the model has no input '" +
                                     state.input + "'");
    if (!output)
      return llvm::createStringError("--state: the model has no output '" +
                                     state.output + "'");
    numbers.append({*input, *output, int64_t(state.steps)});
  }
  function->setAttr(kCarriedAttr,
                    Builder(module.getContext()).getDenseI64ArrayAttr(numbers));
  return llvm::Error::success();
}

Value mpopt::storeIn(OpBuilder &builder, Value value, Type type) {
  auto rounded = mp::CastOp::create(builder, value.getLoc(), type, value,
                                    mp::CastOrigin::Storage,
                                    /*saturate=*/false, StringAttr());
  setLimits(rounded, {0, getFloatFormat(getElementType(type))->maxFinite});
  return rounded.getResult();
}

void mpopt::roundInputs(ModuleOp result, ArrayRef<ConvertedBorder> io) {
  auto functions = result.getOps<func::FuncOp>();
  if (functions.empty())
    return;
  func::FuncOp function = *functions.begin();
  for (BlockArgument input : function.getArguments()) {
    auto type = dyn_cast<TensorType>(input.getType());
    bool isRounded = llvm::any_of(io, [&](const ConvertedBorder &border) {
      return border.name == getInputName(input) && border.from != border.to;
    });
    if (!isRounded || !type ||
        !(type.getElementType().isF16() || type.getElementType().isBF16()))
      continue;
    OpBuilder builder = OpBuilder::atBlockBegin(input.getOwner());
    // A caller feeds finite numbers.
    Value rounded = storeIn(builder, input, type);
    input.setType(type.clone(builder.getF32Type()));
    input.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }
  function.setType(FunctionType::get(function.getContext(),
                                     function.front().getArgumentTypes(),
                                     function.getResultTypes()));
}

std::vector<WideNode> mpopt::listByPolicy(ModuleOp module, StringRef policy) {
  std::vector<WideNode> nodes;
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createRecognizeIdioms());
  ApplyPrecisionOptions precision;
  precision.mode = "autocast-fp16";
  precision.policy = policy.str();
  passes.addPass(createApplyPrecision(precision));
  if (failed(passes.run(*copy)))
    return nodes;
  // By what the kinds of tables call it.
  constexpr Category kWide[] = {Category::Fp32, Category::Banned,
                                Category::Deny, Category::Block};
  copy->walk([&](Operation *op) {
    auto category = op->getAttrOfType<StringAttr>("mp.category");
    if (category && !getNodeName(op).empty() &&
        llvm::any_of(kWide, [&](Category wide) {
          return category.getValue() == toString(wide);
        }))
      nodes.push_back({{getScope(op).str(), getNodeName(op).str()},
                       {},
                       "the policy " + policy.str() + " lists it"});
  });
  return nodes;
}
