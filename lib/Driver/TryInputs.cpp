//===- TryInputs.cpp - Which input's declaration decides ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All candidates are declared together, and those that are not needed are
// dropped one at a time: two inputs of one sum help together alone.
//
//===----------------------------------------------------------------------===//

#include "TryInputs.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Effects/Severity.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "mpopt/Report/Keys.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// Typical values of floats and of whole numbers, in the order of trials:
/// shares and positions or time steps, signals, flags, and pixels.
static constexpr std::pair<Interval, Interval> kTypical[] = {
    {{0, 1}, {0, 999}},
    {{-1, 1}, {0, 999}},
    {{-1, 1}, {0, 1}},
    {{0, 255}, {0, 255}}};
/// The trials together look at about as many ops as this, which takes a second;
/// one of each kind of value is always made.
static constexpr size_t kMostOps = 1 << 16;

/// The inputs that are declared in a trial.
using Declared = SmallVector<std::pair<BlockArgument, Interval>>;

static bool isFloat(BlockArgument input) {
  return isa<FloatType>(getElementType(input));
}

/// True if neither an option nor the model describes the input.
static bool isUndeclared(BlockArgument input) {
  DictionaryAttr assume = getAssumption(input);
  if (isFloat(input)) {
    auto source = assume ? assume.getAs<StringAttr>("source") : StringAttr();
    return source && source.getValue() == "default" &&
           !assume.contains(kMaskKey);
  }
  return isa<IntegerType>(getElementType(input)) && !assume &&
         !describeInteger(input).expected;
}

static unsigned countUnknown(ArrayRef<EffectReport> outputs,
                             ArrayRef<DecisionReport> decisions) {
  return llvm::count_if(outputs,
                        [](const EffectReport &output) {
                          return std::isnan(output.error);
                        }) +
         llvm::count_if(decisions, [](const DecisionReport &decision) {
           return std::isnan(decision.share);
         });
}

static DictionaryAttr describe(Interval bound, Builder builder) {
  NamedAttrList entries;
  entries.set("source", builder.getStringAttr("option"));
  for (auto [key, number] :
       {std::pair<StringRef, double>("lo", bound.lo),
        {"hi", bound.hi},
        {"mean", (bound.lo + bound.hi) / 2},
        {keys::kStd, (bound.hi - bound.lo) / std::sqrt(12.0)}})
    entries.set(key, builder.getF64FloatAttr(number));
  return entries.getDictionary(builder.getContext());
}

/// The effects with these declarations. Nothing if an output overflows: the
/// model is hardly made for such values.
static std::optional<TriedInputs>
judge(ModuleOp module, const Declared &declared, Analyze analyze) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  (*copy)->setAttr(kEstimatesAttr, UnitAttr::get(module.getContext()));
  ChangedModule change;
  for (auto [from, to] : mapping.getValueMap())
    change.originals[to] = from;
  TriedInputs tried;
  for (auto [input, bound] : declared) {
    auto its = cast<BlockArgument>(mapping.lookup(input));
    cast<func::FuncOp>(its.getOwner()->getParentOp())
        .setArgAttr(its.getArgNumber(), "mp.assume",
                    describe(bound, Builder(module.getContext())));
    change.changed.insert(its.user_begin(), its.user_end());
    tried.inputs.emplace_back(getInputName(input), bound);
  }
  Verdict verdict = analyze(*copy, &change);
  tried.worst.error = -1;
  std::vector<EffectReport> outputs =
      describeEffects(*copy, *verdict.effects, {});
  tried.open =
      countUnknown(outputs, describeDecisions(*copy, *verdict.effects));
  for (EffectReport &output : outputs)
    if (output.error > tried.worst.error)
      tried.worst = std::move(output);
  if (tried.worst.error < 0 || std::isinf(tried.worst.error))
    return std::nullopt;
  return tried;
}

std::optional<TriedInputs>
mpopt::findDecidingInputs(ModuleOp module, ArrayRef<EffectReport> outputs,
                          ArrayRef<DecisionReport> decisions, Analyze analyze) {
  unsigned open = countUnknown(outputs, decisions);
  if (open == 0)
    return std::nullopt;
  Block &body = (*module.getOps<func::FuncOp>().begin()).getBody().front();
  size_t left = std::max(kMostOps / (body.getOperations().size() + 1),
                         std::size(kTypical));
  std::optional<TriedInputs> best;
  Declared declared, before;
  for (const auto &[floats, integers] : kTypical) {
    declared.clear();
    for (BlockArgument input : body.getArguments())
      if (isUndeclared(input))
        declared.emplace_back(input, isFloat(input) ? floats : integers);
    if (declared == before) // of one kind alone, or none
      continue;
    before = declared;
    --left;
    best = judge(module, declared, analyze);
    if (best && best->open < open)
      break;
    best.reset();
  }
  // Floats are dropped first: their default is a guess, a whole number has
  // none.
  for (bool floats : {true, false})
    for (size_t index = 0; best && index < declared.size();) {
      Declared fewer = declared;
      fewer.erase(fewer.begin() + index);
      std::optional<TriedInputs> tried;
      if (isFloat(declared[index].first) == floats && !fewer.empty() && left) {
        --left;
        tried = judge(module, fewer, analyze);
      }
      if (!tried || tried->open > best->open) {
        ++index;
        continue;
      }
      best = std::move(tried);
      declared = std::move(fewer);
    }
  return best;
}
