//===- RangeSupport.cpp - What the range rules share
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/RangeSupport.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mpopt;

//===----------------------------------------------------------------------===//
// Magnitudes
//===----------------------------------------------------------------------===//

double mpopt::boundMagnitude(const AbstractValue &value) {
  return value.magnitudes().bound;
}

std::optional<double> mpopt::likelyMagnitude(const AbstractValue &value) {
  return value.magnitudes().likely;
}

void mpopt::addRange(FindingBuilder &finding, Value value,
                     const RangeAnalysis &ranges) {
  if (!finding.isDescribed())
    return;
  const AbstractValue &computed = ranges.preRounding(value);
  Cell hull = computed.hull();
  if (hull.empty())
    return;
  finding.bound(hull.lo, hull.hi);
  // The estimate of what a constant that is stored as 0 makes is that of the
  // model as it was meant; what is reported is what happens.
  if (computed.hasLikely())
    finding.likely(std::clamp(hull.likelyLo, hull.lo, hull.hi),
                   std::clamp(hull.likelyHi, hull.lo, hull.hi));
}

//===----------------------------------------------------------------------===//
// The chain of causes
//===----------------------------------------------------------------------===//

namespace {
class Growth {
public:
  Growth(const RangeAnalysis &ranges, bool likely)
      : ranges(ranges), likely(likely) {}

  void follow(Value value);

  struct Step {
    Value place;
    std::string why;
    double factor;
  };
  /// From the op that breaks to where growth begins.
  SmallVector<Step> steps;
  /// Keeps the two ends and the largest steps between them if there are more
  /// than `most`.
  void shorten(size_t most);

private:
  double magnitude(Value value) const {
    const Magnitudes &sizes = ranges.magnitudes(value);
    return likely ? sizes.likely.value_or(sizes.bound) : sizes.bound;
  }
  Value largestOperand(Operation *op) const;
  std::string describeInput(Value value) const;

  const RangeAnalysis &ranges;
  bool likely;
};
} // namespace

Value Growth::largestOperand(Operation *op) const {
  // A running variance is large where it makes values smaller.
  if (hasRole(op, Role::Normalization))
    return op->getOperand(0);
  Value largest;
  double most = -1;
  for (Value operand : op->getOperands()) {
    if (!isa<FloatType>(getElementType(operand)) && op->getNumOperands() > 1)
      continue;
    if (double size = magnitude(operand); size > most) {
      largest = operand;
      most = size;
    }
  }
  return largest;
}

std::string Growth::describeInput(Value value) const {
  Cell hull = ranges.preRounding(value).hull();
  std::string text =
      "input in [" + formatNumber(hull.lo) + ", " + formatNumber(hull.hi) + "]";
  if (likely && ranges.preRounding(value).hasLikely())
    text += ", likely within [" + formatNumber(hull.likelyLo) + ", " +
            formatNumber(hull.likelyHi) + "]";
  return text;
}

void Growth::follow(Value value) {
  // A path is described, not proved: a bound on time alone.
  constexpr unsigned kMostHops = 128;
  // Values of order one are where every model starts.
  constexpr double kOrderOne = 16, kGrows = 2;
  for (unsigned hop = 0; hop < kMostHops; ++hop) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(value);
      if (isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
        steps.push_back({value, describeInput(value), 1});
      return;
    }
    double size = magnitude(value);
    if (isConstant(value)) {
      steps.push_back(
          {value, "constant of magnitudes up to " + formatNumber(size), 1});
      return;
    }
    Value from = largestOperand(op);
    if (!from)
      return;
    double before = magnitude(from);
    bool grows = std::isfinite(before) && size >= kGrows * before;
    if (grows)
      steps.push_back(
          {value,
           "grows from " + formatNumber(before) + " to " + formatNumber(size),
           before > 0 ? size / before : size});
    if (grows && before <= kOrderOne && !isConstant(from))
      return;
    value = from;
  }
}

void Growth::shorten(size_t most) {
  if (steps.size() <= most)
    return;
  auto order = llvm::to_vector(llvm::seq<size_t>(1, steps.size() - 1));
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return steps[a].factor > steps[b].factor;
  });
  order.truncate(most - 2);
  order.append({size_t(0), steps.size() - 1});
  llvm::sort(order);
  SmallVector<Step> kept;
  for (size_t index : order)
    kept.push_back(std::move(steps[index]));
  steps = std::move(kept);
}

void mpopt::addGrowth(FindingBuilder &finding, Value value,
                      const RangeAnalysis &ranges, bool likely) {
  if (!finding.isDescribed())
    return;
  Growth growth(ranges, likely);
  growth.follow(value);
  growth.shorten(5);
  for (const auto &step : llvm::reverse(growth.steps))
    finding.cause(step.place, step.why);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

bool mpopt::runsAlways(Operation *op) {
  return isa_and_present<FunctionOpInterface>(op->getParentOp());
}

void mpopt::fixByKeeping(FindingBuilder &finding, Type type,
                         const Twine &what) {
  if (!isLowPrecision(type) || !finding.isDescribed())
    return;
  finding.fix("keep-fp32", "keep " + what + " in f32");
}
