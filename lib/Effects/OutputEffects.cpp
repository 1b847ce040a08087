//===- OutputEffects.cpp - What roundings do to a model's outputs
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First order: an error d of a tensor x changes an output by g d, g its
// gradient. Roundings of different elements are independent, and so are those
// of different tensors: squares add up. Numbers that are lost have a sign, and
// add up as the gradient's elements do.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Effects/OutputEffects.h"

#include "AssumedSizes.h"
#include "Contention.h"
#include "Cuts.h"
#include "Drift.h"
#include "LargestError.h"
#include "NonFiniteOrigins.h"
#include "OutputGradients.h"
#include "OutputSize.h"
#include "OwnSlope.h"
#include "Parts.h"
#include "TensorEffect.h"
#include "mpopt/Propagate/Branches.h"
#include "mpopt/Propagate/ChangedDecisions.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/StorageErrors.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Analysis/RangeAnalysis.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mpopt;

/// Backward graphs have so many ops for each op of the model, or for those of a
/// small model. Outputs past that are not looked at.
static constexpr size_t kMostPasses = 8, kMostOps = 1 << 11;

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

static std::vector<OutputEffect> findOutputs(ModuleOp module) {
  std::vector<OutputEffect> outputs;
  Operation *terminator = findReturn(module);
  if (!terminator)
    return outputs;
  auto function = cast<FunctionOpInterface>(terminator->getParentOp());
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    if (!isa<FloatType>(getElementType(value)))
      continue;
    OutputEffect &output = outputs.emplace_back();
    output.value = value;
    auto name = function.getResultAttrOfType<StringAttr>(index, "mp.name");
    output.name = name ? name.str() : getTensorName(value);
  }
  return outputs;
}

namespace {
/// What is judged of an output: all of it, or one of the parts that it is
/// joined of.
struct Part : SquaredError {
  size_t output = 0;
  Value value;
  std::optional<OutputSize> size;
  /// Why the error is not known; empty where it is.
  std::string unknown;
  bool isKnown() const { return unknown.empty(); }
  void setUnknown(const Twine &why) {
    if (isKnown())
      unknown = why.str();
  }
  /// Found when something is lost.
  std::optional<llvm::DenseSet<Value>> cuts;
  /// The value is what a logistic function is of that makes the output.
  bool doubtful = false;
};
} // namespace

/// The outputs whose gradients are computed, in parts: the first, as far as
/// their graphs are small enough in sum.
static std::vector<Part> chooseParts(ArrayRef<OutputEffect> outputs) {
  std::vector<Part> chosen;
  Value first = outputs.front().value;
  Block *body = first.getParentBlock();
  size_t left = std::max(kMostPasses * body->getOperations().size(), kMostOps);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    SmallVector<Value> parts = findParts(output.value);
    auto count = [&] {
      size_t ops = 0;
      for (Value part : parts)
        ops += countOpsBehind(part);
      return ops;
    };
    // As many outputs as possible, before there are parts of one.
    if (parts.size() > 1 && count() > left / 2)
      parts = {output.value};
    size_t ops = count();
    if (ops > left)
      break;
    left -= ops;
    for (Value value : parts) {
      Part part;
      part.output = index;
      part.value = value;
      chosen.push_back(std::move(part));
    }
  }
  return chosen;
}

/// True if storing makes 0 of all elements, which are not.
static bool isAllLost(Value value, const RangeAnalysis &ranges) {
  return ranges.of(value).constant() == 0.0 &&
         ranges.preRounding(value).constant() != 0.0;
}

/// The first value on the way of an output of which nothing is estimated.
static Value findUnestimated(Value value, const RangeAnalysis &ranges) {
  while (Operation *op = value.getDefiningOp()) {
    auto operand = llvm::find_if(op->getOperands(), [&](Value operand) {
      return isa<FloatType>(getElementType(operand)) &&
             !ranges.of(operand).hasLikely();
    });
    if (operand == op->operand_end())
      break;
    value = *operand;
  }
  return value;
}

static std::string describe(const Drift &drift) {
  return llvm::formatv(
      "its estimate drifts with depth: from `{0}` to `{1}` the gradient grows "
      "2^{2:f1} times as much as the values of {3} residual blocks allow",
      getTensorName(drift.first), getTensorName(drift.last),
      std::log2(drift.excess) / 2, drift.blocks);
}

/// Withdraws large errors that estimates which drift with depth give. A small
/// one stays: it is small whatever it is too large by.
static void withdrawDrifting(MutableArrayRef<Part> parts, Block &body,
                             const RangeAnalysis &ranges,
                             const OutputGradients &gradients) {
  // Half of the error that is a warning by default.
  constexpr double kSmall = 0.01;
  auto isLarge = [&](const Part &part) {
    return part.isKnown() && part.sum > kSmall * kSmall;
  };
  if (llvm::none_of(parts, isLarge))
    return;
  DriftCheck check(body, ranges);
  for (auto [index, part] : llvm::enumerate(parts))
    if (isLarge(part))
      if (std::optional<Drift> drift = check.find(index, gradients))
        part.setUnknown(describe(*drift));
}

/// Sums up the parts of an output.
static void judge(OutputEffect &output, ArrayRef<const Part *> parts,
                  const RangeAnalysis &ranges) {
  if (parts.empty()) {
    output.unknown = "the model has too many outputs to look at each";
    return;
  }
  for (const Part *part : parts)
    if (!part->isKnown()) {
      output.unknown = part->unknown;
      return;
    }
  double most = 0, errors = 0, squares = 0;
  for (const Part *part : parts) {
    const OutputSize &size = *part->size;
    double all = size.count * size.rms * size.rms;
    most = std::max(most, size.most);
    errors += all * part->sum;
    squares += part->doubtful ? size.count * size.most * size.most : all;
  }
  output.rms = output.error = 0;
  if (most == 0)
    return;
  output.rms = std::sqrt(errors / squares);
  // The stored output is within its bound, and the exact one as far as nothing
  // flushes; where all is lost, the error is the largest value.
  Cell bound = ranges.preRounding(output.value).hull();
  output.limit = std::max(1.0, (bound.hi - bound.lo) / most);
  output.sums.push_back({});
  for (const Part *part : parts) {
    const OutputSize &size = *part->size;
    double largest = largestError(*part, size.count, size.peak(), output.sums);
    output.error = std::max(*output.error, largest * size.rms / most);
    double peak = size.peak() * size.rms / most;
    for (auto [value, square] : part->squares) {
      double &known = output.squares[value];
      known = std::max(known, square * peak * peak);
    }
  }
  output.error = std::min(*output.error, output.limit);
}

static bool hasSteps(Block &body) {
  return body
      .walk([](Operation *op) {
        return getOpKind(op) == OpKind::Round ? WalkResult::interrupt()
                                              : WalkResult::advance();
      })
      .wasInterrupted();
}

OutputEffects::OutputEffects(ModuleOp module, AnalysisManager analyses,
                             ArrayRef<FindingList::Entry> findings) {
  if (!storesNarrowly(module))
    return;
  outputs = findOutputs(module);
  if (outputs.empty())
    return;
  const auto &ranges = analyses.getAnalysis<RangeAnalysis>();

  NonFinite walk(ranges,
                 findOrigins(analyses.getAnalysis<OverflowSites>(), findings));
  walk.run(*findReturn(module)->getBlock());
  for (auto [index, output] : llvm::enumerate(outputs))
    for (unsigned origin : walk.originsOf(output.value)) {
      SmallVector<bool, 4> &reach = reached[walk.origins()[origin]];
      reach.resize(outputs.size());
      reach[index] = true;
      output.nonFinite = true;
    }

  if (sizesMatter(module, ranges.context().shapes()) &&
      assumeSizes(module, ranges, findings))
    return;
  std::vector<Part> parts = chooseParts(outputs);
  // What is nothing but zeros beside other parts has no error.
  llvm::erase_if(parts, [&](const Part &part) {
    return part.value != outputs[part.output].value &&
           ranges.preRounding(part.value).constant() == 0.0;
  });
  for (Part &part : parts)
    if (Value logits = findDoubtful(part.value, ranges)) {
      part.value = logits;
      part.doubtful = true;
    }
  SmallVector<Value> looked;
  for (const Part &part : parts)
    looked.push_back(part.value);
  OutputGradients gradients(module, ranges, looked);
  StorageErrors storage(ranges);
  Block &body = *findReturn(module)->getBlock();
  ErrorMoments moments(ranges);
  bool hasMoments = false;
  auto getMoments = [&]() -> const ErrorMoments & {
    if (!std::exchange(hasMoments, true))
      moments.run(body);
    return moments;
  };
  ChangedDecisions decisions(ranges, moments);
  bool chooses = ChangedDecisions::hasChoices(body);
  if (chooses || hasSteps(body))
    getMoments();
  if (chooses)
    decisions.run(body);
  for (auto [index, part] : llvm::enumerate(parts)) {
    part.size = part.doubtful ? sizeOfDoubtful(part.value, ranges)
                              : sizeOf(part.value, ranges);
    if (!part.size)
      part.setUnknown("nothing is estimated of `" +
                      getTensorName(findUnestimated(part.value, ranges)) + "`");
    else if (gradients.lacks(index))
      part.setUnknown("an op on the way to it has no gradient");
  }
  auto add = [&](Value value) {
    if (!isa<FloatType>(getElementType(value)))
      return;
    double lost = walk.lostShare(value);
    StepError crossed = decisions.errorOf(value);
    if (crossed.square == 0)
      crossed = moments.stepAt(value);
    bool isStored = storage.rounds(value) || lost > 0;
    Value unknown = decisions.unknownBehind(value);
    if (!isStored && crossed.square == 0 && !unknown)
      return;
    // The steps of a function round as its result does.
    Value place = value;
    if (Value result = gradients.composite(value.getDefiningOp()))
      place = result;
    std::optional<std::optional<AbstractValue>> error;
    for (auto [index, part] : llvm::enumerate(parts)) {
      Value gradient = gradients.gradient(index, place);
      if (!gradient || !part.isKnown())
        continue;
      if (unknown) {
        part.setUnknown("how errors of `" + getTensorName(unknown) +
                        "` change what it chooses is not estimated");
        continue;
      }
      // Arguments that are about 0 are hardly rounded.
      if (part.doubtful && place == part.value)
        continue;
      if (!error)
        error = withSteps(
            isStored ? storage.errorOf(place, lost,
                                       gradients.analysis().of(gradient).dims())
                     : std::nullopt,
            crossed.square);
      if (!*error)
        return;
      const AbstractValue &slope = gradients.analysis().of(gradient);
      if (!(*error)->hasLikely() || !slope.hasLikely()) {
        part.setUnknown("nothing is estimated of the error or the gradient of "
                        "`" +
                        getTensorName(place) + "`");
        continue;
      }
      double square =
          squareOf(place, slope, gradients.analysis().spread(gradient),
                   gradients.analysis().samples(), **error);
      if (lost == 0) {
        auto gradientOf = [&](Value of) -> const AbstractValue * {
          Value its = gradients.gradient(index, of);
          return its ? &gradients.analysis().of(its) : nullptr;
        };
        square *= OwnSlope(place, gradientOf).factor(ranges, **error);
      }
      if (!std::isfinite(square)) {
        part.setUnknown("the estimate for `" + getTensorName(place) +
                        "` is infinite");
        continue;
      }
      const OutputSize &size = *part.size;
      // Where nothing but 0 is expected, each error is past measure, and one of
      // weights that are all lost is not seen behind others that are.
      if (size.normal == 0) {
        if (square != 0 || isAllLost(place, ranges))
          part.setUnknown("nothing but 0 is expected of it");
        continue;
      }
      square /= size.normal;
      if (crossed.square > 0 && square > 0) {
        double gain = square / meanSquare(**error);
        if (isElementwise(value, part.value))
          part.steps.push_back({value, crossed.square * gain,
                                crossed.width * crossed.width * gain,
                                crossed.share});
      }
      // Elements that cross a step are not lost.
      double share = crossed.square > 0
                         ? lost
                         : std::max(lost, lostShare(place, **error, ranges));
      if (share > 0) {
        if (!part.cuts)
          part.cuts = findCuts(part.value);
        if (part.cuts->contains(place))
          square = std::max(square, share * size.varying);
      }
      part.sum += square;
      if (square > 0)
        part.squares[value] = square;
    }
  };
  llvm::for_each(body.getArguments(), add);
  forEachLiveOp(body, ranges, [&](Operation *op) {
    llvm::for_each(op->getResults(), add);
    ranges.limitRounded();
  });
  withdrawDrifting(parts, body, ranges, gradients);
  std::vector<Contention> contentions =
      findContentions(body, ranges, gradients, getMoments);
  for (auto [index, part] : llvm::enumerate(parts))
    if (part.isKnown())
      addContended(contentions, index, gradients, part, part.size->normal);
  for (auto [index, output] : llvm::enumerate(outputs)) {
    SmallVector<const Part *> own;
    for (const Part &part : parts)
      if (part.output == index)
        own.push_back(&part);
    judge(output, own, ranges);
  }
  assumeSizes(module, ranges, findings);
  for (const OutputEffect &output : outputs)
    for (const auto &[value, square] : output.squares)
      rounded.insert(value);
}

bool OutputEffects::assumeSizes(ModuleOp module, const RangeAnalysis &ranges,
                                ArrayRef<FindingList::Entry> findings) {
  auto isUnknown = [](const OutputEffect &output) {
    return !output.error && !output.nonFinite;
  };
  if (llvm::none_of(outputs, isUnknown))
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
  OutputEffects its(*sized->module, analyses, moved);
  auto back = [&](Value value) {
    return sized->change.originals.lookup(value);
  };
  for (auto [output, known] : llvm::zip_equal(outputs, its.outputs)) {
    if (!isUnknown(output) || isUnknown(known))
      continue;
    known.value = output.value;
    known.nonFinite = false;
    known.sizes = sized->sizes;
    llvm::MapVector<Value, double> squares;
    for (auto [value, square] : known.squares)
      squares[back(value)] = square;
    known.squares = std::move(squares);
    for (OutputEffect::Sum &sum : known.sums)
      for (Value &value : sum.values)
        value = back(value);
    output = std::move(known);
  }
  return llvm::none_of(outputs, isUnknown);
}

SmallVector<Value, 2> OutputEffects::sourcesOf(Value value) const {
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
        (isa<mp::CastOp, mp::IdentityOp>(op) ||
         hasRole(op, Role::CopiesElements | Role::Concatenation)))
      llvm::append_range(work, op->getOperands());
  }
  // A constant is rounded by the casts that store it.
  if (isa_and_nonnull<mp::ConstantOp>(value.getDefiningOp()))
    for (Operation *user : value.getUsers())
      if (isa<mp::CastOp>(user))
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
  return std::min(std::sqrt(sum), output.limit);
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
