//===- Cancellation.cpp - MP301: a difference of nearly equal values
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three forms whose operands are known to be close: x - mean(x), the variance
// or covariance as E[x y] - E[x] E[y], of rows or in windows, and (x + c) - c;
// and any other sum or difference that is expected to be small beside its
// operands. 1 - p of logits is MP306's.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/OverflowSites.h"
#include "mpopt/Ranges/Analysis/InputRanges.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/CentralMoment.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Ops/LinearOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/MeanSquare.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_CANCELLATION
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct Cancellation : mpopt::impl::CancellationBase<Cancellation> {
  void check(ModuleOp) override {
    const auto &ranges = getAnalysis<RangeAnalysis>();
    forEachOp([&](Operation *op) {
      if (!hasRole(op, Role::Addition | Role::Subtraction) ||
          op->getNumOperands() != 2 ||
          !isLowPrecision(getElementType(op->getResult(0))))
        return;
      if ((hasRole(op, Role::Subtraction) && judge(op, ranges)) ||
          judgeUndone(op, ranges))
        return;
      judgeSmall(op, ranges);
    });
  }

private:
  // True if the op has the form.
  bool judge(Operation *op, const RangeAnalysis &ranges);
  void judgeFlat(Operation *op, Value base, double mean);
  static void addCentred(FindingBuilder &finding, Operation *op);
  bool judgeUndone(Operation *op, const RangeAnalysis &ranges);
  void judgeSmall(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

/// The op that takes the mean of its operand 0: of a row or, in a moment, in
/// windows.
static Operation *getMean(Value value) {
  Operation *op = getMaker(value, Peel::CastsAndViews);
  return hasRole(op, Role::Mean) || isa_and_nonnull<mp::ConvOp>(op) ? op
                                                                    : nullptr;
}

/// The root or logarithm that reads a variance with at most a constant added;
/// null if there is none.
static Operation *findRoot(Value variance, double &floor) {
  for (Operation *user : variance.getUsers()) {
    std::optional<std::pair<Value, double>> sum;
    if (hasRole(user, Role::Root | Role::Logarithm))
      return user;
    if (hasRole(user, Role::Addition) && user->getNumOperands() == 2)
      sum = splitNumber(user);
    if (!sum && !isa<mp::CastOp>(user) && !isViewLike(user))
      continue;
    floor += sum ? sum->second : 0;
    if (Operation *root = findRoot(user->getResult(0), floor))
      return root;
    floor -= sum ? sum->second : 0;
  }
  return nullptr;
}

/// True for numbers of a sample, scaled and shifted or their logarithms: a
/// channel of silence or a flat picture is a row that does not vary. A file of
/// samples tells whether there are such rows.
static bool isFeature(Value value) {
  // A spectrum's logarithm, its scale and its shift, with casts and views.
  constexpr unsigned kMost = 8;
  for (unsigned step = 0; step < kMost; ++step) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      DictionaryAttr assumed = getAssumption(value);
      return isa<FunctionOpInterface>(value.getParentBlock()->getParentOp()) &&
             !(assumed && assumed.contains(kSamplesKey));
    }
    auto rest = hasRole(op, Role::Arithmetic) && op->getNumOperands() == 2
                    ? splitNumber(op)
                    : std::nullopt;
    bool goesOn =
        isa<mp::CastOp>(op) || isViewLike(op) || hasRole(op, Role::Logarithm);
    if (!rest && !goesOn)
      return false;
    value = rest ? rest->first : op->getOperand(0);
  }
  return false;
}

/// True if both are the same value, or the same number.
static bool isSame(Value lhs, Value rhs, const RangeAnalysis &ranges) {
  if (peel(lhs) == peel(rhs))
    return true;
  std::optional<double> number = ranges.of(lhs).constant();
  return number && number == ranges.of(rhs).constant();
}

/// The step that subtracting `taken` again (`subtracts`), or adding it back,
/// undoes: the sum or difference that has it as an operand, and the other
/// operand there.
static std::pair<Operation *, Value> findUndone(Value sum, Value taken,
                                                bool subtracts,
                                                const RangeAnalysis &ranges) {
  Operation *op = peel(sum).getDefiningOp();
  if (!hasRole(op, Role::Addition | Role::Subtraction) ||
      op->getNumOperands() != 2)
    return {};
  bool added = hasRole(op, Role::Addition);
  if (added != subtracts)
    return {};
  if (isSame(op->getOperand(1), taken, ranges))
    return {op, op->getOperand(0)};
  if (added && isSame(op->getOperand(0), taken, ranges))
    return {op, op->getOperand(1)};
  return {};
}

/// Root mean square.
static double getSize(const AbstractValue &value) {
  Cell hull = value.hull();
  return std::sqrt(hull.mean * hull.mean + hull.variance);
}

/// (x + c) - c and (x - c) + c: what is left of x after the sum was rounded.
bool Cancellation::judgeUndone(Operation *op, const RangeAnalysis &ranges) {
  bool subtracts = hasRole(op, Role::Subtraction);
  for (unsigned index : {0u, 1u}) {
    if (index == 1 && subtracts)
      break;
    Value taken = op->getOperand(1 - index);
    auto [sum, left] =
        findUndone(op->getOperand(index), taken, subtracts, ranges);
    if (!sum || ranges.of(left).constant() == 0.0)
      continue;
    Value stored = sum->getResult(0);
    const FloatFormat *format = getFloatFormat(getElementType(stored));
    const AbstractValue &large = ranges.preRounding(stored);
    const AbstractValue &small = ranges.of(left);
    if (!format || !large.hasLikely() || !small.hasLikely())
      continue;
    double size = getSize(small), whole = getSize(large);
    double error = whole * format->unitRoundoff() / size;
    if (!(error >= threshold("cancellation-error")) ||
        whole >= format->overflowFrom)
      continue;
    FindingBuilder finding = report(op, op->getResult(0));
    finding.likely()
        .watch(Decision::Cancellation, op->getResult(0), stored)
        .message("adding and taking off " +
                 formatNumber(getSize(ranges.of(taken))) +
                 " cancels: values of " + formatNumber(size) +
                 (error >= 1 ? std::string(" are lost altogether")
                             : " come back with an error of up to " +
                                   formatNumber(std::round(error * 100)) +
                                   " % of them") +
                 ", since the sum's neighbours in " + format->name.str() +
                 " are " + formatNumber(format->ulp(whole)) + " apart")
        .cause(left, "typical magnitude " + formatNumber(size))
        .cause(stored, "rounded at magnitude " + formatNumber(whole));
    fixByKeeping(finding, getElementType(stored), "the sum and the difference");
    finding.fix("change-op",
                "leave out the term that is added and subtracted again",
                {FixAction::Kind::TakeOther,
                 {op, sum},
                 {sum->getOperand(0) == left ? 0u : 1u}});
    return true;
  }
  return false;
}

namespace {
/// A sum that is small beside its operands.
struct SmallSum {
  /// The rounding error of the operands, as a share of the sum.
  double error = 0;
  /// Typical magnitudes of the sum and of its larger operand.
  double size = 0, largest = 0;
  Value larger;
};
} // namespace

/// One group of a sum, of which operands have as many groups or one.
static SmallSum sumOf(Operation *op, size_t group,
                      const RangeAnalysis &ranges) {
  const AbstractValue &result = ranges.preRounding(op->getResult(0));
  auto sizeIn = [&](const AbstractValue &value) {
    Cell cell =
        value.dims() == result.dims() ? value.cell(group) : value.hull();
    return std::sqrt(meanSquare(cell));
  };
  SmallSum sum;
  sum.size = sizeIn(result);
  double rounding = 0;
  for (Value operand : op->getOperands()) {
    // A constant's rounding is the same each time, and small or none.
    Operation *maker = getMaker(operand);
    if (maker && maker->getNumOperands() == 0)
      continue;
    const FloatFormat *format = getFloatFormat(getElementType(operand));
    const AbstractValue &value = ranges.preRounding(operand);
    if (!format || !value.hasLikely() || hasRole(maker, Role::Probability))
      return {};
    double its = sizeIn(value);
    bool exact =
        value.integral && value.hull().absMax() <= 1 / format->unitRoundoff();
    if (!exact && its < format->overflowFrom)
      rounding = std::hypot(rounding, its * format->unitRoundoff());
    if (its > sum.largest)
      sum.larger = operand;
    sum.largest = std::max(sum.largest, its);
  }
  if (sum.larger && sum.size > 0)
    sum.error = rounding / sum.size;
  return sum;
}

/// Any other operands, by what is expected of the result.
void Cancellation::judgeSmall(Operation *op, const RangeAnalysis &ranges) {
  const AbstractValue &result = ranges.preRounding(op->getResult(0));
  if (!result.hasLikely())
    return;
  SmallSum sum;
  for (size_t group = 0; group < result.groups(); ++group)
    if (SmallSum its = sumOf(op, group, ranges); its.error > sum.error)
      sum = its;
  if (!sum.larger || !(sum.error >= threshold("cancellation-error")))
    return;
  const FloatFormat &format = *getFloatFormat(getElementType(sum.larger));
  FindingBuilder finding = report(op, op->getResult(0));
  finding.likely()
      .watch(Decision::Cancellation, op->getResult(0), sum.larger)
      .message("values of " + formatNumber(sum.largest) +
               " cancel: what is left, " + formatNumber(sum.size) +
               ", has an error of " +
               formatNumber(std::round(std::min(sum.error, 9.99) * 100)) +
               " % of it" + (sum.error > 9.99 ? " and more" : "") +
               ", since neighbours in " + format.name + " are " +
               formatNumber(format.ulp(sum.largest)) + " apart");
  fixByKeeping(finding, getElementType(sum.larger),
               "the operands and the result");
}

/// The mean and the spread of what is averaged, geometric ones of two values.
static std::optional<std::pair<double, double>>
spreadOf(ArrayRef<Value> values, const RangeAnalysis &ranges) {
  double mean = 1, spread = 1;
  for (Value value : values) {
    if (!ranges.of(value).hasLikely())
      return std::nullopt;
    Cell hull = ranges.of(value).hull();
    mean *= std::sqrt(std::fabs(hull.mean));
    spread *= std::pow(hull.variance, 0.25);
  }
  return std::pair(mean, spread);
}

/// Keeps the ops that compute a moment and read it: rounded anywhere on the
/// way, it is noise again.
static FixAction keepMoment(Operation *op, Operation *root) {
  llvm::SetVector<Operation *> kept;
  kept.insert(op);
  for (Value operand : op->getOperands()) {
    Operation *maker = getMaker(operand, Peel::CastsAndViews);
    kept.insert(maker);
    for (Value inner : maker->getOperands())
      if (Operation *next = getMaker(inner, Peel::CastsAndViews);
          next && !isConstant(inner))
        kept.insert(next);
  }
  kept.insert(root);
  return FixAction::keepTogether(kept.getArrayRef());
}

/// A row that does not vary leaves the rounding of its squared mean, of either
/// sign: a case that no estimate expects, and samples have.
void Cancellation::judgeFlat(Operation *op, Value base, double mean) {
  const FloatFormat &format = *getFloatFormat(getElementType(op->getResult(0)));
  double floor = 0, noise = format.unitRoundoff() * mean * mean;
  Operation *root = findRoot(op->getResult(0), floor);
  if (!root || !isFeature(base) || !(floor < noise))
    return;
  std::string name = root->getName().stripDialect().str();
  FindingBuilder finding = report(op, op->getResult(0));
  finding.likely()
      .unexpected()
      .watch(Decision::Cancellation, op->getResult(0), op->getOperand(0))
      .message("E[x^2] - E[x]^2 of a row that does not vary, silence or one "
               "colour, is rounding error of up to " +
               formatNumber(noise) + ", of either sign: its " + name +
               " may be NaN")
      .cause(base, "mean " + formatNumber(mean))
      .cause(root, floor > 0 ? "reads it with " + formatNumber(floor) + " added"
                             : "reads it");
  finding.fix("keep-fp32", "keep the whole variance in f32",
              keepMoment(op, root));
  addCentred(finding, op);
}

/// Computes it as the mean of squares of differences from the mean.
void Cancellation::addCentred(FindingBuilder &finding, Operation *op) {
  finding.fix("change-op",
              "compute the variance as the mean of (x - mean(x))^2",
              {FixAction::Kind::CentreFirst,
               {op, getMaker(op->getOperand(0), Peel::CastsAndViews)}});
}

bool Cancellation::judge(Operation *op, const RangeAnalysis &ranges) {
  Value lhs = op->getOperand(0);
  const FloatFormat &format = *getFloatFormat(getElementType(op->getResult(0)));
  Operation *row = getMean(op->getOperand(1));
  bool isCentred =
      hasRole(row, Role::Mean) && peel(row->getOperand(0)) == peel(lhs);
  auto moment = findCentralMoment(op, {}, getMean);
  if (!isCentred && !moment)
    return false;
  Value x = isCentred ? lhs : moment->lhs, y = isCentred ? lhs : moment->rhs;
  auto spread = spreadOf({x, y}, ranges);
  if (!spread)
    return true;
  double ratio = spread->first / spread->second;
  // Half an ulp of the mean, or of its square, against the result.
  double error =
      format.unitRoundoff() * (isCentred ? ratio : 1 + ratio * ratio);
  bool isVariance = !isCentred && peel(x) == peel(y);
  if (!(error >= threshold("cancellation-error"))) {
    if (isVariance)
      judgeFlat(op, x, spread->first);
    return true;
  }
  FindingBuilder finding = report(op, op->getResult(0));
  finding.likely()
      .watch(Decision::Cancellation, op->getResult(0), lhs)
      .message(std::string(isCentred    ? "x - mean(x)"
                           : isVariance ? "E[x^2] - E[x]^2"
                                        : "E[x y] - E[x] E[y]") +
               " cancels: the mean is " + formatNumber(ratio) +
               " times the spread, and rounding to " + format.name +
               " is an error of " +
               formatNumber(std::round(std::min(error, 9.99) * 100)) +
               " % of the result" + (error > 9.99 ? " and more" : ""))
      .cause(x, "mean " + formatNumber(spread->first) +
                    ", standard deviation " + formatNumber(spread->second));
  fixByKeeping(finding, getElementType(op->getResult(0)),
               isCentred ? "x, its mean and the difference"
                         : "the whole variance");
  if (isVariance && hasRole(moment->mean, Role::Mean))
    addCentred(finding, op);
  return true;
}
