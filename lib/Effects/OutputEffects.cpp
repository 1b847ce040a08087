//===- OutputEffects.cpp - What roundings do to a model's outputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Effects/OutputEffects.h"

#include "AssumedSizes.h"
#include "NonFiniteOrigins.h"
#include "OutputErrors.h"

#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/ChangedDecisions.h"
#include "mpopt/Propagate/OpKind.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// All outputs
//===----------------------------------------------------------------------===//

static bool storesNarrowly(ModuleOp module) {
  auto isNarrow = [](Value value) {
    return isLowPrecision(getElementType(value));
  };
  return module
      .walk([&](Operation *op) {
        if (auto function = dyn_cast<FunctionOpInterface>(op))
          return llvm::any_of(function.getArguments(), isNarrow)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        return llvm::any_of(op->getResults(), isNarrow)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void OutputEffects::findOutputs(ModuleOp module) {
  Operation *terminator = findReturn(module);
  if (!terminator)
    return;
  auto function = cast<FunctionOpInterface>(terminator->getParentOp());
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    auto given = function.getResultAttrOfType<StringAttr>(index, "mp.name");
    std::string name = given ? given.str() : getTensorName(value);
    if (isa<IntegerType>(getElementType(value))) {
      OutputDecision &decision = decisions.emplace_back();
      decision.value = value;
      decision.name = name;
    }
    if (!isa<FloatType>(getElementType(value)))
      continue;
    OutputEffect &output = outputs.emplace_back();
    output.value = value;
    output.name = std::move(name);
  }
  if (!ChangedDecisions::hasChoices(*terminator->getBlock()))
    decisions.clear();
}

void OutputEffects::setShares(const ChangedDecisions &changed) {
  for (OutputDecision &output : decisions) {
    output.unknown = changed.unknownBehind(output.value);
    if (!output.unknown)
      output.share = changed.shareOf(output.value);
  }
}

/// The floats by whose order or size the elements of `value` are decided, in
/// front of ops that round them to whole numbers.
static SmallVector<Value, 2> findDeciding(Value value) {
  SmallVector<Value, 2> deciding;
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || !seen.insert(next).second || getOpKind(op) == OpKind::Source)
      continue;
    for (Value operand : op->getOperands()) {
      if (!isa<FloatType>(getElementType(operand))) {
        work.push_back(operand);
        continue;
      }
      if (isConstant(operand))
        continue;
      Operation *maker = getMaker(operand, Peel::InsertedCasts);
      Value decider = roundsToWhole(maker) ? maker->getOperand(0) : operand;
      if (!llvm::is_contained(deciding, decider))
        deciding.push_back(decider);
    }
  }
  return deciding;
}

void OutputEffects::attribute(ArrayRef<OutputEffect> deciders) {
  for (OutputDecision &decision : decisions) {
    SmallVector<Value, 2> deciding = findDeciding(decision.value);
    for (const OutputEffect &decider : deciders) {
      double all = 0;
      for (auto [value, square] : decider.squares)
        all += square;
      if (all == 0 || !llvm::is_contained(deciding, decider.value))
        continue;
      CausedError::Sum &sum = decision.sums.emplace_back();
      for (auto [value, square] : decider.squares) {
        double &known = decision.squares[value];
        known = std::max(known, square / all * decision.share.value_or(0) *
                                    decision.share.value_or(0));
        sum.values.push_back(value);
      }
    }
  }
}

/// The floats that decide which elements `chosen` has, or which whole numbers.
static SmallVector<Value, 2> findChoosing(Value chosen) {
  SmallVector<Value, 2> choosing;
  if (roundsToWhole(chosen.getDefiningOp()))
    choosing.push_back(chosen.getDefiningOp()->getOperand(0));
  for (Value operand : chosen.getDefiningOp()->getOperands())
    if (!isa<FloatType>(getElementType(operand)))
      llvm::append_range(choosing, findDeciding(operand));
  return choosing;
}

/// Gives the squares of elements that are another choice to the tensors by
/// whose rounding they are.
static void attributeChoices(ModuleOp module, const RangeAnalysis &ranges,
                             const NonFinite &nonFinite,
                             const ChangedDecisions &changed,
                             MutableArrayRef<OutputEffect> outputs) {
  // A cause of a smaller share is not named: all of them are at most ten.
  constexpr double kLeast = 0.1;
  llvm::MapVector<Value, SmallVector<Value, 2>> choices;
  std::vector<OutputEffect> deciders;
  for (const OutputEffect &output : outputs) {
    double all = 0;
    for (auto [value, square] : output.squares)
      all += square;
    for (auto [value, square] : output.squares)
      if (square >= kLeast * all && (changed.errorOf(value).square > 0 ||
                                     roundsToWhole(value.getDefiningOp())))
        choices[value] = findChoosing(value);
  }
  for (const auto &[chosen, choosing] : choices)
    for (Value value : choosing)
      deciders.emplace_back().value = value;
  if (deciders.empty())
    return;
  OutputErrors errors(module, ranges, nonFinite, deciders);
  errors.judge(deciders);
  for (const auto &[chosen, choosing] : choices) {
    llvm::MapVector<Value, double> parts;
    double all = 0;
    for (const OutputEffect &decider : deciders)
      if (llvm::is_contained(choosing, decider.value))
        for (auto [value, square] : decider.squares) {
          parts[value] += square;
          all += square;
        }
    for (OutputEffect &output : outputs) {
      double square = output.squares.lookup(chosen);
      if (square == 0 || all == 0)
        continue;
      output.squares.erase(chosen);
      for (auto [value, part] : parts)
        output.squares[value] += square * part / all;
      for (CausedError::Sum &sum : output.sums)
        if (llvm::is_contained(sum.values, chosen))
          for (auto [value, part] : parts)
            if (!llvm::is_contained(sum.values, value))
              sum.values.push_back(value);
    }
  }
}

OutputEffects::OutputEffects(ModuleOp module, AnalysisManager analyses,
                             ArrayRef<FindingList::Entry> findings,
                             bool attributeDecisions) {
  if (!storesNarrowly(module) && !isQuantized(module) &&
      !getPrecision(module).operands)
    return;
  findOutputs(module);
  if (outputs.empty() && decisions.empty())
    return;
  const auto &ranges = analyses.getAnalysis<RangeAnalysis>();
  Block &body = *findReturn(module)->getBlock();
  // Operands of decisions are judged as outputs are.
  std::vector<OutputEffect> judged = outputs;
  if (attributeDecisions)
    for (const OutputDecision &decision : decisions)
      for (Value value : findDeciding(decision.value))
        judged.emplace_back().value = value;
  if (judged.empty()) {
    ErrorMoments moments(ranges);
    moments.run(body);
    ChangedDecisions changed(ranges, moments);
    changed.run(body);
    setShares(changed);
    return;
  }
  NonFinite nonFinite(
      ranges, findOrigins(analyses.getAnalysis<OverflowSites>(), findings));
  nonFinite.run(body);
  addReached(nonFinite);
  if (sizesMatter(module, ranges.context().shapes()) &&
      assumeSizes(module, ranges, findings, attributeDecisions))
    return;
  for (auto [output, effect] : llvm::zip(outputs, judged))
    effect.nonFinite = output.nonFinite;
  OutputErrors errors(module, ranges, nonFinite, judged);
  errors.judge(judged);
  setShares(errors.getDecisions());
  attributeChoices(module, ranges, nonFinite, errors.getDecisions(), judged);
  attribute(ArrayRef(judged).drop_front(outputs.size()));
  judged.resize(outputs.size());
  outputs = std::move(judged);
  assumeSizes(module, ranges, findings, attributeDecisions);
  for (const OutputEffect &output : outputs)
    for (const auto &[value, square] : output.squares)
      rounded.insert(value);
}

void OutputEffects::addReached(const NonFinite &nonFinite) {
  for (auto [index, output] : llvm::enumerate(outputs))
    for (unsigned origin : nonFinite.originsOf(output.value)) {
      SmallVector<bool, 4> &reach = reached[nonFinite.origins()[origin]];
      reach.resize(outputs.size());
      reach[index] = true;
      output.nonFinite = true;
    }
}

static void translate(CausedError &error, function_ref<Value(Value)> back) {
  llvm::MapVector<Value, double> squares;
  for (auto [value, square] : error.squares)
    squares[back(value)] = square;
  error.squares = std::move(squares);
  for (CausedError::Sum &sum : error.sums)
    for (Value &value : sum.values)
      value = back(value);
}

bool OutputEffects::assumeSizes(ModuleOp module, const RangeAnalysis &ranges,
                                ArrayRef<FindingList::Entry> findings,
                                bool attributeDecisions) {
  auto isUnknown = [](const OutputEffect &output) {
    return !output.error && !output.nonFinite;
  };
  auto isJudged = [](const OutputDecision &output) {
    return output.share || output.unknown;
  };
  if (llvm::none_of(outputs, isUnknown) && llvm::all_of(decisions, isJudged))
    return true;
  std::optional<SizedCopy> sized = mpopt::assumeSizes(module);
  if (!sized)
    return false;
  std::vector<FindingList::Entry> moved(findings);
  for (FindingList::Entry &entry : moved) {
    entry.op = sized->mapping.lookupOrDefault(entry.op);
    entry.value = sized->mapping.lookupOrDefault(entry.value);
  }
  ModuleAnalysisManager manager(*sized->module, /*passInstrumentor=*/nullptr);
  AnalysisManager analyses = manager;
  reuseRanges(analyses, ranges, sized->change, Recompute::All);
  OutputEffects its(*sized->module, analyses, moved, attributeDecisions);
  auto back = [&](Value value) {
    return sized->change.originals.lookup(value);
  };
  for (OutputDecision &decision : its.decisions) {
    decision.value = back(decision.value);
    decision.unknown = back(decision.unknown);
    translate(decision, back);
  }
  decisions = std::move(its.decisions);
  for (auto [output, known] : llvm::zip_equal(outputs, its.outputs)) {
    if (!isUnknown(output) || isUnknown(known))
      continue;
    known.value = output.value;
    known.nonFinite = false;
    known.sizes = sized->sizes;
    translate(known, back);
    output = std::move(known);
  }
  return llvm::none_of(outputs, isUnknown);
}

SmallVector<Value, 2> OutputEffects::sourcesOf(Value value) const {
  // Copies and exact multiples that are looked through; a bound on time alone.
  constexpr size_t kMost = 64;
  SmallVector<Value, 2> sources, work = {value};
  llvm::DenseSet<Value> visited;
  while (!work.empty() && visited.size() < kMost) {
    Value next = work.pop_back_val();
    if (!visited.insert(next).second)
      continue;
    bool isRounded = rounded.contains(next);
    if (isRounded || reached.contains(next))
      sources.push_back(next);
    Operation *op = next.getDefiningOp();
    if (!isRounded && op &&
        (getOpKind(op) == OpKind::Copy ||
         hasRole(op, Role::CopiesElements | Role::Multiplication)))
      llvm::append_range(work, op->getOperands());
  }
  // A constant is rounded by the casts that store it.
  if (isConstant(value))
    for (Operation *user : value.getUsers())
      if (getOpKind(user) == OpKind::Copy)
        sources.push_back(user->getResult(0));
  return sources;
}

std::optional<double> OutputEffects::errorBy(ArrayRef<Value> values,
                                             const OutputEffect &output) const {
  if (!output.error)
    return std::nullopt;
  double sum = 0;
  for (Value value : values)
    sum += output.squares.lookup(value);
  // Choices that change are few large errors: squares say more of them than the
  // largest error has.
  return std::min({std::sqrt(sum), output.limit, *output.error});
}

bool OutputEffects::reaches(Value value, size_t output) const {
  auto found = reached.find(value);
  return found != reached.end() && found->second[output];
}

SmallVector<Value> OutputEffects::originsOf(size_t output) const {
  SmallVector<Value> origins;
  for (const auto &[value, outputs] : reached)
    if (outputs[output])
      origins.push_back(value);
  return origins;
}
