//===- FlushedShare.cpp - How much of a tensor becomes zero
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value that is 0 in FP32 as well counts neither as flushed nor as kept.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Hazards/OverflowSites.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Ranges/Value/SoftmaxEstimate.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;

/// ln of the last magnitude that is 0 in FP32, 2^-150.
static constexpr double kLogZero = -103.97;
/// A group of this many times the flush threshold has hardly a value below it.
static constexpr double kFarAbove = 1e3;
/// Groups of a logarithm: it is an estimate, and many ops may have one.
static constexpr size_t kMostGroups = 1024;

/// The share of a normal variable that is at or below `x`.
static double shareBelow(double x, double mean, double variance) {
  double apart = mean - x;
  // So far out the other side has no double's worth of the share.
  if (!(variance > 0) || apart * apart > 72 * variance)
    return apart <= 0;
  return 0.5 * std::erfc(apart / std::sqrt(2 * variance));
}

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

static double expectedMagnitude(const Cell &cell) {
  return std::max(std::fabs(cell.likelyLo), std::fabs(cell.likelyHi));
}

/// Digamma and trigamma, shifted to where their series hold.
static double digamma(double a) {
  double x = a + 3;
  return std::log(x) - 1 / (2 * x) - 1 / (12 * x * x) - 1 / a - 1 / (a + 1) -
         1 / (a + 2);
}
static double trigamma(double a) {
  double x = a + 3;
  return 1 / x + 1 / (2 * x * x) + 1 / (6 * x * x * x) + 1 / (a * a) +
         1 / ((a + 1) * (a + 1)) + 1 / ((a + 2) * (a + 2));
}

static Cell makeLogarithm(double mean, double variance) {
  return Cell{0, 0, mean, variance, mean, mean};
}

static Cell onlyZeros() { return Cell{1, -1, 0, 0, 0, 0}; }

/// ln|x| of a group. One-sided: x as a gamma variable; else between a constant
/// and a normal number of mean 0, whose ln|x| has the mean ln(s) - 0.635 and
/// the variance pi^2 / 8.
static Cell logarithm(const Cell &cell) {
  double square = cell.mean * cell.mean, second = square + cell.variance;
  if (!(second > 0) || expectedMagnitude(cell) == 0)
    return onlyZeros();
  bool oneSided = cell.likelyLo >= 0 || cell.likelyHi <= 0;
  if (oneSided && square > 0 && cell.variance > 1e-6 * square) {
    // More spread than a squared normal number has is a mode at zero, of a
    // rectifier say, rather than many small values.
    double shape = std::max(square / cell.variance, 0.5);
    return makeLogarithm(digamma(shape) +
                             std::log(cell.variance / std::fabs(cell.mean)),
                         trigamma(shape));
  }
  double ratio = cell.variance / second;
  return makeLogarithm(std::log(second) / 2 - 0.635 * ratio,
                       ratio * M_PI * M_PI / 8);
}

namespace {
/// The amounts of flushed and of other non-zero values, summed over groups.
struct Tally {
  double flushed = 0, kept = 0;

  void addLogarithm(const Cell &cell, double edge) {
    if (cell.empty())
      return;
    double zero = shareBelow(kLogZero, cell.mean, cell.variance);
    double below = shareBelow(edge, cell.mean, cell.variance);
    flushed += below - zero;
    kept += 1 - below;
  }
  void addCell(const Cell &cell, double flushAt) {
    if (cell.likelyLo >= 0 || cell.likelyHi <= 0)
      return addLogarithm(logarithm(cell), std::log(flushAt));
    double below = shareBelow(flushAt, cell.mean, cell.variance) -
                   shareBelow(-flushAt, cell.mean, cell.variance);
    flushed += below;
    kept += 1 - below;
  }
  /// The share that is flushed; nothing if the groups only hold zeros.
  std::optional<double> share() const {
    double all = flushed + kept;
    return all > 1e-9 ? std::optional(flushed / all) : std::nullopt;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Logarithms
//===----------------------------------------------------------------------===//

static AbstractValue mapCells(AbstractValue value,
                              llvm::function_ref<Cell(const Cell &)> map) {
  for (CellRef cell : value.mutableCells())
    cell = cell.empty() ? onlyZeros() : map(cell);
  return value;
}

static AbstractValue scaled(const AbstractValue &value, double factor) {
  return mapCells(value, [&](const Cell &cell) {
    return makeLogarithm(cell.mean * factor, cell.variance * factor * factor);
  });
}

/// ln|a b|, or ln|a / b| with a sign of -1.
static AbstractValue added(const AbstractValue &a, const AbstractValue &b,
                           double sign) {
  SmallVector<AbstractValue, 2> values = {a, b};
  AbstractValue::Dims dims = broadcastGroups(values, kMostGroups);
  std::vector<Cell> cells(countGroups(dims));
  forEachGroup(dims, values, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &left = values[0].cell(at[0]), &right = values[1].cell(at[1]);
    cells[group] = left.empty() || (right.empty() && sign > 0)
                       ? onlyZeros()
                       : makeLogarithm(left.mean + sign * right.mean,
                                       left.variance + right.variance);
  });
  return AbstractValue(dims, cells);
}

/// True if hardly a value of any group is near the flush threshold, so that the
/// share need not be computed.
bool FlushedShares::isFarAbove(Value value) const {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  double far = format ? format->flushAt * kFarAbove : 0;
  return llvm::all_of(ranges.preRounding(value).cells(), [&](const Cell &cell) {
    return cell.mean * cell.mean > far * far;
  });
}

AbstractValue FlushedShares::logarithmOf(Value value) {
  if (const AbstractValue *known = getLogarithm(value))
    return *known;
  AbstractValue result = ranges.preRounding(value).limited(kMostGroups);
  bool known = result.hasLikely();
  for (CellRef cell : result.mutableCells())
    cell = !known ? makeLogarithm(0, 0) : logarithm(cell);
  return result;
}

/// The exponential of what a normal argument gives.
static AbstractValue ofExponential(const AbstractValue &argument,
                                   double factor) {
  AbstractValue value = argument.limited(kMostGroups);
  for (CellRef cell : value.mutableCells())
    cell = makeLogarithm(cell.mean * factor, cell.variance * factor * factor);
  return value;
}

/// The logarithm of the part of a normal value above 0, whose mean is m + s
/// phi(z) / Phi(z); its distribution lies between half a normal one and an
/// exponential one.
static AbstractValue ofRectifier(const AbstractValue &argument) {
  return mapCells(argument.limited(kMostGroups), [](const Cell &cell) {
    double deviation = std::sqrt(cell.variance);
    if (deviation == 0)
      return cell.mean > 0 ? makeLogarithm(std::log(cell.mean), 0)
                           : onlyZeros();
    double z = std::max(cell.mean / deviation, -30.0);
    double above = 0.5 * std::erfc(-z * M_SQRT1_2);
    double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
    double mean = deviation * (z + density / above);
    return z > 4 ? logarithm(cell)
                 : makeLogarithm(std::log(std::max(mean, 1e-300)) - 0.5, 1.4);
  });
}

/// The logits that no mask is added to. A variance close to the largest one
/// that the mean and the span allow, (hi - mean)(mean - lo) by Bhatia and
/// Davis, is that of two points; where the lower one is so far below that its
/// share of any row is lost, it is lost on purpose.
static Cell withoutMasked(const Cell &cell) {
  constexpr double kPurpose = 40, kTwoPoints = 0.75, kReach = 3;
  double below = cell.mean - cell.likelyLo, above = cell.likelyHi - cell.mean;
  if (!(below > 0) || cell.variance < kTwoPoints * above * below)
    return cell;
  Cell kept = cell;
  kept.mean = std::min(cell.mean + cell.variance / below, cell.likelyHi);
  if (kept.mean - cell.likelyLo < kPurpose)
    return cell;
  double deviation = (cell.likelyHi - kept.mean) / kReach;
  kept.variance = deviation * deviation;
  return kept;
}

static AbstractValue ofSoftmax(mp::SoftmaxOp op, const AbstractValue &logits) {
  int64_t rank = TransferContext::rankOf(op.getInput());
  std::optional<int64_t> axis = normalizeAxis(op.getAxis(), rank);
  double count = 1;
  SmallVector<int64_t> others;
  for (int64_t other = 0; other < rank; ++other) {
    bool inRow = axis && (other == *axis || (op.getFlatten() && other > *axis));
    if (!inRow)
      others.push_back(other);
    else
      count *= double(std::max<int64_t>(
          1, TransferContext::dimOf(op.getInput(), other).value_or(1)));
  }
  AbstractValue x = mapCells(logits.limited(kMostGroups), withoutMasked);
  AbstractValue rows = x.keeping(others);
  std::vector<SoftmaxRow> sums = estimateSoftmaxRows(x, rows, count);
  AbstractValue result = x;
  auto cells = result.mutableCells();
  AbstractValue pair[] = {x, rows};
  forEachGroup(x.dims(), pair, [&](size_t group, ArrayRef<size_t> at) {
    const Cell &cell = x.cell(group);
    cells[group] = makeLogarithm(std::min(0.0, cell.mean - sums[at[1]].logSum),
                                 cell.variance);
  });
  return result;
}

std::optional<AbstractValue> FlushedShares::computeLogarithm(Operation *op) {
  auto argument = [&]() -> const AbstractValue & {
    return ranges.preRounding(op->getOperand(0));
  };
  auto fromOperand = [&](double factor) -> std::optional<AbstractValue> {
    const AbstractValue *known = getLogarithm(op->getOperand(0));
    if (!known)
      return std::nullopt;
    return scaled(*known, factor);
  };
  if (isa<mp::ExpOp, mp::SigmoidOp>(op) && argument().hasLikely())
    return ofExponential(argument(), 1);
  if (isa<mp::Exp2Op>(op) && argument().hasLikely())
    return ofExponential(argument(), std::log(2.0));
  if (auto softmax = dyn_cast<mp::SoftmaxOp>(op);
      softmax && argument().hasLikely())
    return ofSoftmax(softmax, argument());
  if (isa<mp::ReluOp, mp::Relu6Op>(op) && argument().hasLikely())
    return ofRectifier(argument());
  if (getSquared(op))
    return isFarAbove(op->getResult(0))
               ? std::nullopt
               : std::optional(scaled(logarithmOf(op->getOperand(0)), 2));
  if (hasRole(op, Role::KeepsMagnitude))
    return isa<FloatType>(getElementType(op->getOperand(0))) ? fromOperand(1)
                                                             : std::nullopt;
  if (hasRole(op, Role::Root | Role::Reciprocal))
    return fromOperand(*getMeaning(op)->degree);
  if (hasRole(op, Role::Power))
    if (std::optional<double> exponent = getSplatConstant(op->getOperand(1)))
      return fromOperand(*exponent);
  if (hasRole(op, Role::Multiplication | Role::Division)) {
    if (!getLogarithm(op->getOperand(0)) && !getLogarithm(op->getOperand(1)))
      return std::nullopt;
    return added(logarithmOf(op->getOperand(0)), logarithmOf(op->getOperand(1)),
                 hasRole(op, Role::Multiplication) ? 1 : -1);
  }
  if (op->getNumOperands() == 2 &&
      (hasRole(op, Role::Addition) || isa<mp::MaxOp>(op))) {
    // An epsilon that is lost as well.
    const FloatFormat *format =
        getFloatFormat(getElementType(op->getResult(0)));
    for (unsigned index : {0u, 1u}) {
      std::optional<double> other =
          ranges.magnitudes(op->getOperand(1 - index)).likely;
      if (!format || !other || *other > format->flushAt)
        continue;
      if (const AbstractValue *known = getLogarithm(op->getOperand(index)))
        return *known;
    }
  }
  // An op that only moves elements keeps their distribution; the groups are not
  // followed.
  if (isViewLike(op) && getLogarithm(op->getOperand(0))) {
    AbstractValue merged(
        AbstractValue::Dims(TransferContext::rankOf(op->getResult(0)), 1),
        getLogarithm(op->getOperand(0))->hull());
    return merged;
  }
  return std::nullopt;
}

const AbstractValue *FlushedShares::getLogarithm(Value value) {
  auto [entry, isNew] = logarithms.try_emplace(value);
  if (!isNew)
    return entry->second.get();
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      isConstant(value) || !ranges.preRounding(value).hasLikely())
    return nullptr;
  std::optional<AbstractValue> computed = computeLogarithm(op);
  if (!computed)
    return nullptr;
  std::unique_ptr<AbstractValue> &slot = logarithms[value];
  slot = std::make_unique<AbstractValue>(std::move(*computed));
  return slot.get();
}

//===----------------------------------------------------------------------===//
// Shares
//===----------------------------------------------------------------------===//

std::optional<double> FlushedShares::judge(Value value) {
  const FloatFormat *format = getFloatFormat(getElementType(value));
  if (!format || !(format->flushAt > 0))
    return std::nullopt;
  const AbstractValue &computed = ranges.preRounding(value);
  double flushAt = format->flushAt;
  // Sums of stored values are 0 or no smaller than the smallest of them: that
  // they are 0 is what is asked.
  auto isLost = [](const Cell &cell) {
    return cell.absMax() == 0 && expectedMagnitude(cell) > 0;
  };
  if (!computed.hasLikely() || (computed.minNonZero > format->minSubnormal &&
                                llvm::none_of(computed.cells(), isLost)))
    return std::nullopt;
  // Moved elements are the same elements, all of them.
  Operation *op = value.getDefiningOp();
  if (hasRole(op, Role::Rearranges))
    if (auto known = shares.find(op->getOperand(0));
        known != shares.end() && known->second &&
        getElementType(op->getOperand(0)) == getElementType(value))
      return known->second;
  Tally tally;
  // Whatever the shape of the distribution, none is expected to be larger.
  if (double most = ranges.magnitudes(value).likely.value_or(0);
      most <= flushAt)
    return most > 0 ? std::optional(1.0) : std::nullopt;
  if (const AbstractValue *known = getLogarithm(value)) {
    double edge = std::log(flushAt);
    for (const Cell &cell : known->cells())
      tally.addLogarithm(cell, edge);
    return tally.share();
  }
  double far = flushAt * kFarAbove;
  for (const Cell &cell : computed.cells()) {
    if (cell.empty() || expectedMagnitude(cell) == 0)
      continue;
    if (cell.mean * cell.mean + cell.variance > far * far)
      tally.kept += 1;
    else if (expectedMagnitude(cell) <= flushAt)
      tally.flushed += 1;
    else
      tally.addCell(cell, flushAt);
  }
  return tally.share();
}

std::optional<double> FlushedShares::of(Value value) {
  auto [entry, isNew] = shares.try_emplace(value);
  if (!isNew)
    return entry->second;
  std::optional<double> share = judge(value);
  shares[value] = share;
  return share;
}

Certainty mpopt::certaintyOfFlush(Value value, const RangeAnalysis &ranges) {
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  const AbstractValue &computed = ranges.preRounding(value);
  bool all = ranges.magnitudes(value).bound <= format.flushAt &&
             value.getDefiningOp() && runsAlways(value.getDefiningOp());
  for (const Cell &cell : computed.cells())
    all &= !cell.empty() && (cell.lo > 0 || cell.hi < 0);
  return all ? Certainty::Certain : Certainty::Likely;
}

std::string mpopt::describeFlush(double share, Value value) {
  const FloatFormat &format = *getFloatFormat(getElementType(value));
  std::string much =
      share > 0.99
          ? std::string("nearly all")
          : "about " + formatNumber(std::round(share * 100)) + " % of the";
  return much + (share > 0.99 ? " of the" : "") +
         " non-zero values are below " + formatNumber(format.flushAt) +
         " and become 0 in " + std::string(format.name);
}
