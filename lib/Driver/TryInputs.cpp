//===- TryInputs.cpp - Which input's declaration decides ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All candidates are declared together, and those that are not needed are
// dropped one at a time: two inputs of one sum help together alone.
//
//===----------------------------------------------------------------------===//

#include "TryInputs.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Effects/Severity.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

namespace {
/// Declared values of floats and of whole numbers, in the order of trials:
/// shares and positions or time steps, signals, flags, and pixels.
struct Typical {
  Interval floats, integers;
};
constexpr Typical kTypical[] = {{{0, 1}, {0, 999}},
                                {{-1, 1}, {0, 999}},
                                {{0, 1}, {0, 1}},
                                {{0, 255}, {0, 255}}};

/// The trials together read about as many ops as this, which takes a second;
/// one of each kind of value is always made.
constexpr size_t kMostOps = 1 << 16;

class InputTrials {
public:
  InputTrials(ModuleOp module, Analyze analyze);
  std::optional<TriedInputs> find(unsigned open);

private:
  using Declared = SmallVector<std::pair<BlockArgument, Interval>>;
  /// The results with these declarations; the effects that stay unknown.
  TriedInputs judge(const Declared &declared);
  Declared declareAll(const Typical &typical) const;
  /// Drops declarations without which no more is unknown than `best` says.
  void dropNeedless(Declared declared, TriedInputs &best);

  ModuleOp module;
  Analyze analyze;
  SmallVector<BlockArgument> candidates;
  size_t left;
};
} // namespace

/// True if neither an option nor the model describes the input.
static bool isUndeclared(BlockArgument input) {
  DictionaryAttr assume = getAssumption(input);
  if (isa<FloatType>(getElementType(input))) {
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

/// Values with which the model overflows are hardly those that it is for.
static bool helps(const TriedInputs &tried) {
  return !tried.worst.output.empty() && std::isfinite(tried.worst.error);
}

InputTrials::InputTrials(ModuleOp module, Analyze analyze)
    : module(module), analyze(analyze) {
  Block &body = (*module.getOps<func::FuncOp>().begin()).getBody().front();
  llvm::copy_if(body.getArguments(), std::back_inserter(candidates),
                isUndeclared);
  left = std::max(kMostOps / (body.getOperations().size() + 1),
                  std::size(kTypical));
}

static DictionaryAttr describe(Interval bound, Builder builder) {
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("source", builder.getStringAttr("option"))};
  for (auto [key, number] :
       {std::pair("lo", bound.lo), std::pair("hi", bound.hi),
        std::pair("mean", (bound.lo + bound.hi) / 2),
        std::pair("std", (bound.hi - bound.lo) / std::sqrt(12.0))})
    entries.push_back(
        builder.getNamedAttr(key, builder.getF64FloatAttr(number)));
  return builder.getDictionaryAttr(entries);
}

TriedInputs InputTrials::judge(const Declared &declared) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
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
  std::vector<EffectReport> outputs =
      describeEffects(*copy, *verdict.effects, {});
  tried.open =
      countUnknown(outputs, describeDecisions(*copy, *verdict.effects));
  llvm::erase_if(outputs, [](const EffectReport &output) {
    return std::isnan(output.error);
  });
  auto worst = llvm::max_element(
      outputs, [](const EffectReport &lhs, const EffectReport &rhs) {
        return lhs.error < rhs.error;
      });
  if (worst != outputs.end())
    tried.worst = std::move(*worst);
  return tried;
}

InputTrials::Declared InputTrials::declareAll(const Typical &typical) const {
  Declared declared;
  for (BlockArgument input : candidates)
    declared.emplace_back(input, isa<FloatType>(getElementType(input))
                                     ? typical.floats
                                     : typical.integers);
  return declared;
}

void InputTrials::dropNeedless(Declared declared, TriedInputs &best) {
  // Floats first: the default of a float is a guess, a whole number has none.
  for (bool floats : {true, false})
    for (size_t index = 0; index < declared.size() && declared.size() > 1;) {
      Declared fewer = declared;
      fewer.erase(fewer.begin() + index);
      bool isFloat = isa<FloatType>(getElementType(declared[index].first));
      if (isFloat == floats && left > 0) {
        --left;
        if (TriedInputs tried = judge(fewer);
            helps(tried) && tried.open <= best.open) {
          best = std::move(tried);
          declared = std::move(fewer);
          continue;
        }
      }
      ++index;
    }
}

std::optional<TriedInputs> InputTrials::find(unsigned open) {
  if (candidates.empty())
    return std::nullopt;
  SmallVector<Declared> seen;
  for (const Typical &typical : kTypical) {
    Declared declared = declareAll(typical);
    if (llvm::is_contained(seen, declared))
      continue;
    seen.push_back(declared);
    left -= left > 0;
    TriedInputs tried = judge(declared);
    if (tried.open >= open || !helps(tried))
      continue;
    dropNeedless(std::move(declared), tried);
    return tried;
  }
  return std::nullopt;
}

std::optional<TriedInputs> mpopt::findDecidingInputs(
    ModuleOp module, ArrayRef<EffectReport> outputs,
    ArrayRef<DecisionReport> decisions, Analyze analyze) {
  unsigned open = countUnknown(outputs, decisions);
  if (open == 0)
    return std::nullopt;
  return InputTrials(module, analyze).find(open);
}
