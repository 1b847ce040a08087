//===- SafeInput.cpp - How far inputs may be scaled
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A search on the logarithm of the scale. Magnitudes are powers of the scale
// over wide stretches, so that a secant of "how far is the largest magnitude
// from overflow" lands close to the answer: some six analyses instead of the
// thirty of a bisection, and each of what the input reaches only. The verdict
// itself is that of the overflow rules, never the secant's.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/SafeInput.h"

#include "mpopt/Dialect/Names.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Rounding.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mpopt;

static const double kMost = std::log2(SafeScale::kMost);
/// Below this scale an input is as good as 0.
static constexpr double kLeast = -40;
/// 1 %.
static const double kPrecision = std::log2(1.01);
/// The search ends by itself; a bound that jumps takes a bisection's steps.
static constexpr unsigned kMostSteps = 48;

namespace {
/// The findings of an analysis at one scale, in one tier.
struct Tier {
  bool overflows = false;
  /// log2 of the largest ratio of a magnitude to its format's overflow
  /// threshold.
  double excess = -kInfinity;

  void add(double magnitude, const FloatFormat &format) {
    excess = std::max(excess, std::log2(magnitude / format.overflowFrom));
  }
};

struct Verdict {
  Tier possible, likely;
};

/// The scales of one input.
class Search {
public:
  Search(BlockArgument input, const OverflowSites &base)
      : input(input), base(base) {}

  SafeScale run();

private:
  /// The verdict at the scale 2^exponent.
  const Verdict &at(double exponent);
  Verdict judge(const RangeAnalysis &ranges) const;
  AbstractValue scaled(double scale) const;
  double find(Tier Verdict::*tier);
  double locate(Tier Verdict::*tier, double safe, double unsafe);

  BlockArgument input;
  const OverflowSites &base;
  std::map<double, Verdict> verdicts;
};
} // namespace

/// The assumed range of the input, times `scale`.
AbstractValue Search::scaled(double scale) const {
  AbstractValue value = base.ranges().preRounding(input);
  for (CellRef cell : value.mutableCells()) {
    cell.lo = mulDown(cell.lo, scale);
    cell.hi = mulUp(cell.hi, scale);
    cell.mean *= scale;
    cell.variance *= scale * scale;
    cell.likelyLo *= scale;
    cell.likelyHi *= scale;
  }
  value.minNonZero = 0;
  value.integral = false;
  value.norm.reset();
  value.rowSum.reset();
  return value;
}

static bool counts(const OverflowSite &site) {
  return site.form != OverflowForm::Mask;
}

Verdict Search::judge(const RangeAnalysis &ranges) const {
  OverflowSites sites(ranges, base);
  Verdict verdict;
  verdict.possible.overflows = !sites.unknown.empty();
  for (const OverflowSite &site : sites.sites) {
    if (!counts(site))
      continue;
    verdict.possible.overflows = true;
    verdict.likely.overflows |= site.certainty != Certainty::Possible;
  }
  auto add = [&](Value value) {
    const FloatFormat &format = *getFloatFormat(getElementType(value));
    const Magnitudes &sizes = ranges.magnitudes(value);
    verdict.possible.add(sizes.bound, format);
    verdict.likely.add(sizes.likely.value_or(0), format);
  };
  for (Operation *root : ranges.varied())
    root->walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (isJudged(result)) {
          const OverflowSite *site = sites.find(result);
          if (!site || counts(*site))
            add(result);
        }
    });
  // The input has to be stored, too.
  if (isLowPrecision(getElementType(input))) {
    add(input);
    verdict.possible.overflows |= verdict.possible.excess >= 0;
    verdict.likely.overflows |= verdict.likely.excess >= 0;
  }
  return verdict;
}

const Verdict &Search::at(double exponent) {
  auto [known, isNew] = verdicts.try_emplace(exponent);
  if (isNew)
    known->second =
        judge(RangeAnalysis(base.ranges(), input, scaled(std::exp2(exponent))));
  return known->second;
}

/// Between a scale that is safe and a larger one that is not, to `kPrecision`.
double Search::locate(Tier Verdict::*tier, double safe, double unsafe) {
  bool wasSafe = false;
  for (unsigned step = 0; unsafe - safe > kPrecision && step < kMostSteps;
       ++step) {
    double width = unsafe - safe, next = safe + width / 2;
    double below = (at(safe).*tier).excess, above = (at(unsafe).*tier).excess;
    // Every third step halves, whatever the secant says.
    if (step % 3 != 2 && std::isfinite(below) && std::isfinite(above) &&
        below < 0 && above > below) {
      double guess = safe - below * width / (above - below);
      // To the other side of it than the last one, so that both ends close in.
      guess += (wasSafe ? 0.4 : -0.4) * kPrecision;
      next = std::clamp(guess, safe + std::min(width / 4, 0.4 * kPrecision),
                        unsafe - std::min(width / 4, 0.4 * kPrecision));
    }
    wasSafe = !(at(next).*tier).overflows;
    (wasSafe ? safe : unsafe) = next;
  }
  return std::exp2(safe);
}

double Search::find(Tier Verdict::*tier) {
  // From the scale at hand outwards, further each time.
  double from = 0;
  const Tier &here = at(from).*tier;
  bool safe = !here.overflows;
  double reach = std::isfinite(here.excess) && (here.excess < 0) == safe
                     ? std::fabs(here.excess)
                     : 4;
  for (double step = std::max(reach, kPrecision) * 1.01;; step *= 2) {
    double next = std::clamp(from + (safe ? step : -step), kLeast, kMost);
    if ((at(next).*tier).overflows == safe)
      return safe ? locate(tier, from, next) : locate(tier, next, from);
    if (next == kMost)
      return SafeScale::kMost;
    if (next == kLeast)
      return 0;
    from = next;
  }
}

SafeScale Search::run() {
  // Overflows that this input does not reach stay.
  RangeAnalysis ranges(base.ranges(), input, base.ranges().preRounding(input));
  auto stays = [&](Value value) { return !ranges.isVaried(value); };
  bool possible = llvm::any_of(base.unknown, stays), likely = false;
  for (const OverflowSite &site : base.sites)
    if (counts(site) && stays(site.value)) {
      possible = true;
      likely |= site.certainty != Certainty::Possible;
    }
  verdicts[0] = judge(ranges);
  SafeScale result;
  result.input = getInputName(input);
  result.likely = likely ? 0 : find(&Verdict::likely);
  result.proved = possible ? 0 : find(&Verdict::possible);
  return result;
}

std::vector<SafeScale> mpopt::findSafeScales(ModuleOp module,
                                             const OverflowSites &sites) {
  std::vector<SafeScale> scales;
  auto functions = module.getOps<FunctionOpInterface>();
  if (functions.empty())
    return scales;
  for (BlockArgument input : (*functions.begin()).getArguments())
    if (isa<FloatType>(getElementType(input)))
      scales.push_back(Search(input, sites).run());
  return scales;
}
