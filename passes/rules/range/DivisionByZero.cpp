//===- DivisionByZero.cpp - MP206: a divisor that may be 0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer divisions are not judged: they fault instead.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Hazards/TrainingFacts.h"
#include "mpopt/Hazards/Zeros.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/IndexingOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/StorageTypes.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Propagate/CodeMismatch.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include "llvm/ADT/SetVector.h"

namespace mpopt {
#define GEN_PASS_DEF_DIVISIONBYZERO
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct DivisionByZero
    : RangeRule<DivisionByZero, mpopt::impl::DivisionByZeroBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

static Value getDivisor(Operation *op) {
  if (std::optional<unsigned> index = divisorOperand(op))
    return op->getOperand(*index);
  if (hasRole(op, Role::Power)) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    if (exponent && *exponent < 0)
      return op->getOperand(0);
  }
  return {};
}

/// True for a number of things: of tokens that count, of pixels of a class. A
/// batch of training without one comes sooner or later.
static bool isCount(Value divisor, const RangeAnalysis &ranges) {
  Operation *sum = getMaker(divisor, Peel::CastsAndViews);
  // A guard that leaves it 0 guards nothing.
  if (hasRole(sum, Role::Addition | Role::LimitsBelow) &&
      sum->getNumOperands() >= 2 && isConstant(sum->getOperand(1)))
    sum = getMaker(sum->getOperand(0), Peel::CastsAndViews);
  if (!hasRole(sum, Role::Sum) || ranges.of(divisor).hull().lo != 0)
    return false;
  Value counted = peel(sum->getOperand(0));
  return isa<IntegerType>(getElementType(counted)) ||
         ranges.of(counted).integral;
}

/// Clamps a divisor of one sign; a divisor of both signs cannot be kept from 0
/// by a limit, and gets no action.
static FixAction clampAwayFromZero(Operation *op, Value divisor,
                                   const Cell &hull, double least) {
  unsigned index = llvm::find(op->getOperands(), divisor).getIndex();
  if (hull.lo >= 0)
    return FixAction::clamp(op, index, least, kInfinity);
  if (hull.hi <= 0)
    return FixAction::clamp(op, index, -kInfinity, -least);
  return {};
}

/// True if the quotient's elements may be replaced on their way: those of a row
/// that is 0 are then left out.
static bool isChosenFrom(Value quotient) {
  constexpr size_t kMost = 64; // ops, a bound on time alone
  llvm::SetVector<Value> reached;
  reached.insert(quotient);
  for (size_t at = 0; at < reached.size() && at < kMost; ++at)
    for (Operation *user : reached[at].getUsers()) {
      if (isa<mp::WhereOp, mp::MaskedFillOp>(user))
        return true;
      reached.insert(user->getResults().begin(), user->getResults().end());
    }
  return reached.size() >= kMost;
}

namespace {
/// Rows of a quantised divisor whose code is that of 0.
struct LostRows {
  /// Those below it; the end of the codes, and the largest one expected.
  double below, end, expected;

  std::string describe() const {
    return "the divisor has the code of 0 for rows below " +
           formatNumber(below) + ", half a step: its codes end at " +
           formatNumber(end) + ", where " + formatNumber(expected) +
           " is the largest one expected, so that rows differ in size";
  }
};
} // namespace

/// Rows that are 0 in codes, if one in some runs is. A mean alone says nothing
/// of them, but a calibration that saw far larger rows than are expected does:
/// of all distributions with that mean the exponential one has the most
/// entropy.
static std::optional<LostRows> findLostRows(Value divisor,
                                            const RangeAnalysis &ranges) {
  // Further than estimates are off in three of four cases; runs, and the rows
  // expected in them of which one is more likely than none.
  constexpr double kFar = 2, kRuns = 8, kLeast = 0.69;
  auto numbers = getMaker<mp::DequantizeOp>(divisor, Peel::Identities);
  auto codes = numbers ? findWriter(numbers) : mp::QuantizeOp();
  auto format = codes ? storageFormatOf(codes) : std::nullopt;
  auto count = getNumElements(getShape(divisor));
  const AbstractValue &x =
      ranges.preRounding(codes ? codes.getInput() : divisor);
  double scale = codes ? ranges.of(codes.getScale()).hull().mean : 0;
  if (!format || format->floats || !count || !x.hasLikely() || !(scale > 0))
    return std::nullopt;
  StorageFormat scaled = format->scaled(
      scale,
      codes.getZeroPoint() ? ranges.of(codes.getZeroPoint()).hull().mean : 0);
  Cell hull = x.hull();
  double below = scaled.flushAt(), end = scaled.ends().hi;
  if (!(hull.lo >= 0 && hull.lo < below) || scaled.ends().lo > 0 ||
      !(hull.mean > 0) || end < kFar * hull.likelyHi)
    return std::nullopt;
  double rows = kRuns * double(*count) * -std::expm1(-below / hull.mean);
  return rows > kLeast ? std::optional(LostRows{below, end, hull.likelyHi})
                       : std::nullopt;
}

/// Keeps the divisor away from 0: a count at 1, codes at one step.
static void fixByClamp(FindingBuilder &finding, Operation *op, Value divisor,
                       const Cell &hull, const std::optional<LostRows> &rows,
                       bool counts) {
  const FloatFormat &format = *getFloatFormat(getElementType(divisor));
  double least = rows ? 2 * rows->below : counts ? 1 : format.minNormal;
  std::string text =
      rows     ? "clamp the divisor at " + formatNumber(least) +
                     ", one step of its codes"
      : counts ? "clamp the divisor at 1: it counts, and may count none"
               : "clamp the divisor away from 0, to a number that " +
                     std::string(format.name) + " holds (" +
                     formatNumber(least) + " or more)";
  finding.fix("clamp", text, clampAwayFromZero(op, divisor, hull, least));
}

void DivisionByZero::judge(Operation *op, const RangeAnalysis &ranges) {
  Value divisor = getDivisor(op);
  if (!divisor || !isa<FloatType>(getElementType(divisor)) ||
      !isa<FloatType>(getElementType(op->getResult(0))))
    return;
  std::optional<Certainty> sure = mayBeZero(divisor, ranges);
  if (!sure)
    return;
  bool isOfZeroRow = *sure == Certainty::Possible &&
                     sumsWholeZeroRow(divisor, ranges.context().shapes()) &&
                     !isChosenFrom(op->getResult(0));
  std::optional<LostRows> rows = *sure == Certainty::Possible
                                     ? findLostRows(divisor, ranges)
                                     : std::nullopt;
  if (isOfZeroRow || rows)
    sure = Certainty::Likely;
  // A divisor that is 0 in some channels of a constant, say: not all of it.
  FindingBuilder finding = report(op, op->getResult(0), *sure);
  bool counts = isCount(divisor, ranges);
  if (counts && isTrained(op))
    finding.reachedByTraining();
  auto lost = findLostOfTable(divisor, ranges);
  if (isOfZeroRow) {
    finding.message("the divisor is 0 for a row that is 0 altogether: one that "
                    "a mask hides, or padding");
  } else if (rows) {
    finding.message(rows->describe());
  } else if (lost.empty()) {
    finding.message("the divisor " + describeZero(divisor, *sure, ranges));
  } else {
    std::string dtype = getDtypeName(getElementType(divisor));
    lost.push_back(op);
    finding
        .message("the divisor is 0 in " + dtype +
                 " for a number of the table that it is computed of")
        .fix("keep-fp32", "look up the number and divide in f32",
             FixAction::keepTogether(lost));
  }
  watchZeros(finding, divisor, "divisor");
  const AbstractValue &computed = ranges.preRounding(divisor);
  Cell hull = computed.hull();
  finding.cause(divisor,
                "divisor in [" + formatNumber(hull.lo) + ", " +
                    formatNumber(hull.hi) + "]" +
                    (computed.hasLikely()
                         ? ", likely within [" + formatNumber(hull.likelyLo) +
                               ", " + formatNumber(hull.likelyHi) + "]"
                         : ""));
  if (isZeroByRounding(divisor, ranges))
    fixByKeeping(finding, getElementType(divisor),
                 "the divisor and the division");
  fixByClamp(finding, op, divisor, hull, rows, counts);
}
