//===- ConstantUnderflow.cpp - MP203: a constant becomes 0
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One finding a constant and dtype. Epsilons that are attributes of a
// normalisation are no constants: frameworks add them in FP32. PyTorch limits
// the lengths of cosine_similarity in the dtype of the rows.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Hazards/ConstantText.h"
#include "mpopt/Hazards/ConstantUses.h"
#include "mpopt/Hazards/FlushedShare.h"
#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Hazards/TrainingFacts.h"
#include "mpopt/Hazards/Zeros.h"
#include "mpopt/Repair/Scaling.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/Composite.h"
#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/MPDialect.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/LossOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Normal.h"
#include "mpopt/Propagate/MeanSquare.h"
#include "mpopt/Propagate/StorageErrors.h"
#include "mpopt/Ranges/Value/TransferContext.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_CONSTANTUNDERFLOW
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
/// The ops that the constant guards, and the use by which it does the first.
struct Guarded {
  SmallVector<Guard, 1> guards;
  OpOperand *use = nullptr;

  const Guard &first() const { return guards.front(); }
};

struct ConstantUnderflow
    : mpopt::impl::ConstantUnderflowBase<ConstantUnderflow> {
  void check(ModuleOp module) override {
    for (const ConstantUse &use : getAnalysis<ConstantUses>().losses)
      judge(use);
    module.walk([&](mp::CosineSimilarityOp op) { judge(op); });
  }

private:
  void judge(const ConstantUse &use);
  void judge(mp::CosineSimilarityOp op);
  void reportEpsilon(const ConstantUse &use, const Guarded &guarded);
  void reportSubnormal(const ConstantUse &use, const Guarded &guarded);
  void reportShare(const ConstantUse &use);
  void reportRaised(const ConstantUse &use);
  FindingBuilder start(const ConstantUse &use, OpOperand &operand);
};
} // namespace

static Guarded findGuarded(const ConstantUse &use) {
  Guarded guarded;
  for (OpOperand *operand : ArrayRef(use.uses).take_front(256)) {
    Guard guard = findGuard(*operand);
    if (!guard.op)
      continue;
    if (!guarded.use)
      guarded.use = operand;
    guarded.guards.push_back(std::move(guard));
  }
  return guarded;
}

FindingBuilder ConstantUnderflow::start(const ConstantUse &use,
                                        OpOperand &operand) {
  return describe(report(operand.getOwner(), operand.get()), use);
}

static std::string describeOp(Operation *op) {
  return op->getName().stripDialect().str();
}

/// True for a root or a positive power, which is 0 at 0.
static bool keepsZero(Operation *op) {
  std::optional<double> exponent = hasRole(op, Role::Power)
                                       ? getSplatConstant(op->getOperand(1))
                                       : std::nullopt;
  return (hasRole(op, Role::Root) && !hasRole(op, Role::PoleAtZero)) ||
         (exponent && *exponent > 0);
}

static std::string describeHazard(Operation *op) {
  std::string name = describeOp(op);
  if (divisorOperand(op) && !hasRole(op, Role::PoleAtZero))
    return name + " by 0 gives Inf or NaN";
  if (hasRole(op, Role::Logarithm))
    return name + " of 0 is -Inf";
  if (keepsZero(op))
    return name + " has an infinite derivative at 0";
  return name + " of 0 is Inf";
}

/// True for a sum of exponentials, probabilities or inverses, which no sample
/// makes 0.
static bool sumsPositive(Value value) {
  Operation *op = getMaker(value, Peel::CastsAndViews);
  if (!op || !hasRole(op, Role::Sum))
    return false;
  Operation *term = getMaker(op->getOperand(0), Peel::CastsAndViews);
  return hasRole(term, Role::NeverZero | Role::Probability) ||
         (hasRole(term, Role::Division) && isConstant(term->getOperand(0)));
}

/// True if a number or more of the value are expected to be stored as 0: many,
/// or the least of numbers that are all positive.
static bool losesSome(Value value, FlushedShares &shares,
                      const RangeAnalysis &ranges, const FloatFormat &format) {
  std::optional<double> share = shares.of(value);
  std::optional<int64_t> count = getNumElements(getShape(value));
  const AbstractValue &exact = ranges.preRounding(value);
  return (share && count && *share * double(*count) >= 1) ||
         (exact.hasLikely() &&
          llvm::any_of(exact.cells(), [&](const Cell &cell) {
            return cell.likelyLo > 0 && format.flushes(cell.likelyLo);
          }));
}

/// The rectifier whose results, or their magnitudes or squares, `sum` adds up;
/// null for other values.
static Operation *findRectified(Value sum) {
  Operation *op = getMaker(sum, Peel::CastsAndViews);
  if (!op || !hasRole(op, Role::Sum | Role::MagnitudeSum))
    return nullptr;
  do
    op = getMaker(op->getOperand(0), Peel::CastsAndViews);
  while (op && !hasRole(op, Role::Rectifier) && op->getNumOperands() == 1 &&
         hasRole(op, Role::KeepsZeros | Role::Square));
  return hasRole(op, Role::Rectifier) ? op : nullptr;
}

/// True if a sum of rectified numbers is expected to be 0 in a run: of n normal
/// numbers all are below 0 with the probability P(x < 0)^n, which is 1 for a
/// channel that no input reaches.
static bool expectsZeroSum(Value sum, const RangeAnalysis &ranges) {
  Operation *term = findRectified(sum);
  if (!term)
    return false;
  const AbstractValue &x = ranges.preRounding(term->getOperand(0));
  std::optional<int64_t> terms = getNumElements(getShape(term->getResult(0))),
                         sums = getNumElements(getShape(sum));
  if (!x.hasLikely() || !terms || !sums || *sums == 0)
    return false;
  return llvm::any_of(x.cells(), [&](const Cell &cell) {
    double below = cell.variance > 0
                       ? normalShareBelow(-cell.mean / std::sqrt(cell.variance))
                       : cell.mean <= 0;
    // A test set has so many samples, more or less.
    constexpr double kSamples = 1000;
    return kSamples * double(*sums) / double(x.groups()) *
               std::pow(below, double(*terms) / double(*sums)) >=
           1;
  });
}

/// The operand that the constant is added to or bounds below; null for other
/// uses.
static Value findOther(OpOperand &use) {
  Operation *op = use.getOwner();
  bool guards = hasRole(op, Role::Addition | Role::LimitsBelow) &&
                op->getNumOperands() == 2;
  return guards ? op->getOperand(1 - use.getOperandNumber()) : Value();
}

static bool isLimitOrSum(Operation *op) {
  return hasRole(op, Role::Addition | Role::LimitsBelow | Role::Select);
}

/// True if every element of the value is above 0, whatever the inputs are, and
/// above the numbers that the format stores as 0.
static bool isProvedPositive(Value value, const RangeAnalysis &ranges,
                             const FloatFormat &format) {
  return llvm::all_of(ranges.preRounding(value).cells(), [&](const Cell &cell) {
    return cell.lo > format.minSubnormal;
  });
}

/// True if the ranges prove that no element of the rows becomes 0.
static bool isProvedNonZero(Value rows, const RangeAnalysis &ranges,
                            const FloatFormat &format) {
  return llvm::all_of(ranges.preRounding(rows).cells(), [&](const Cell &cell) {
    return cell.lo > format.minSubnormal || cell.hi < -format.minSubnormal;
  });
}

/// True if the constant is added to the elements of what is squared or summed.
static bool isGathered(const Guard &guard) {
  return llvm::any_of(guard.path, [](Operation *op) {
    return !isLimitOrSum(op) && !hasRole(op, Role::Root | Role::Power);
  });
}

/// True if the constant guards zeros of which the effect tells nothing: numbers
/// that become 0 where they are stored, or a case that no estimate expects and
/// that some samples are, the length of a vector, or a number that is 0 for a
/// sample of zeros, as a spectrum is. Rows without a variance do not occur
/// where others do. The root of a zero that nothing divides by is finite, as
/// long as its gradient is not computed.
static bool guardsZeros(const Guarded &guarded, FlushedShares &shares,
                        const RangeAnalysis &ranges,
                        const FloatFormat &format) {
  Operation *first = guarded.first().op;
  if (!isTrained(first) && llvm::all_of(guarded.guards, [](const Guard &guard) {
        return keepsZero(guard.op);
      }))
    return false;
  Value other = findOther(*guarded.use);
  bool guards = bool(other);
  if (guards && (losesSome(other, shares, ranges, format) ||
                 expectsZeroSum(other, ranges) ||
                 sumsZeroRow(other, ranges.context().shapes())))
    return true;
  auto isNormalization = [](Operation *op) {
    return hasRole(getMeaning(getKind(op), op->getContext()),
                   Role::Normalization);
  };
  auto isRoot = [](Operation *op) { return hasRole(op, Role::Root); };
  if (isNormalization(first) ||
      llvm::any_of(guarded.first().path, isNormalization))
    return false;
  if (!isGathered(guarded.first()) &&
      (isRoot(first) || llvm::any_of(guarded.first().path, isRoot)))
    return !guards || !(sumsPositive(other) || isNonZeroForZeros(other));
  return guards && isZeroForZeros(other);
}

static void addPath(FindingBuilder &finding, const Guarded &guarded) {
  for (Operation *op : guarded.first().path)
    finding.cause(op, hasRole(op, Role::Root) ? "takes the root, 0 again"
                      : isLimitOrSum(op) ? "is 0 where its other operand is"
                                         : "is 0 for a row of zeros");
  size_t others = guarded.guards.size() - 1;
  std::string more = others ? " (and " + std::to_string(others) + " more)" : "";
  finding.cause(guarded.first().op, "is the " + describeOp(guarded.first().op) +
                                        " that the constant guards" + more);
}

/// The logarithm of a larger epsilon is another number wherever it is the least
/// that the guarded value can be, as in the silence of a spectrum.
static FixAction raise(const ConstantUse &use, const Guarded &guarded,
                       const FloatFormat &format) {
  FixAction action =
      FixAction::onConstants(FixAction::Kind::RaiseConstant,
                             {use.value().getDefiningOp()}, format.minNormal);
  action.keepsFunction = llvm::none_of(guarded.guards, [](const Guard &guard) {
    return hasRole(guard.op, Role::Logarithm);
  });
  return action;
}

/// The ops that compute with the results of `op`, with views on the way.
static void keepReaders(Operation *op, llvm::SetVector<Operation *> &kept) {
  for (Operation *user : op->getUsers()) {
    kept.insert(user);
    if (isViewLike(user) || isInserted(user))
      keepReaders(user, kept);
  }
}

/// The ops that are to compute with the epsilon in FP32: not one behind a root
/// that makes it a number which the dtype holds.
static void keepGuard(const Guard &guard, double epsilon,
                      const FloatFormat &format,
                      llvm::SetVector<Operation *> &kept) {
  for (Operation *op : guard.path) {
    kept.insert(op);
    if (hasRole(op, Role::Root | Role::Power))
      epsilon = std::sqrt(epsilon); // other roots make it larger still
    else if (hasRole(op, Role::Square | Role::Multiplication))
      epsilon *= epsilon;
  }
  if (!guard.path.empty() && !format.flushes(epsilon))
    return;
  kept.insert(guard.op);
  // The pole's value at the epsilon may be past the dtype, too, so that 0 times
  // it is NaN where it is read.
  std::optional<double> exponent =
      hasRole(guard.op, Role::Power) ? getSplatConstant(guard.op->getOperand(1))
                                     : std::nullopt;
  double power = hasRole(guard.op, Role::Root) ? -0.5 : exponent.value_or(-1);
  if (!hasRole(guard.op, Role::Reciprocal) && !(exponent && *exponent < 0))
    return;
  if (std::pow(epsilon, power) >= format.overflowFrom)
    keepReaders(guard.op, kept);
}

void ConstantUnderflow::reportEpsilon(const ConstantUse &use,
                                      const Guarded &guarded) {
  const FloatFormat &format = *getFloatFormat(use.type);
  std::string dtype = getDtypeName(use.type);
  FindingBuilder finding = start(use, *guarded.use);
  if (Value other = findOther(*guarded.use);
      other && isProvedPositive(other, getAnalysis<RangeAnalysis>(), format)) {
    finding.severity(Severity::Note)
        .about(guarded.use->get())
        .message("epsilon " + formatNumber(use.stats.minNonZero) + " is 0 in " +
                 dtype + ", and the number beside it never is");
    return;
  }
  finding.severity(Severity::Error)
      .message("epsilon " + formatNumber(use.stats.minNonZero) + " is 0 in " +
               dtype +
               " and guards nothing: " + describeHazard(guarded.first().op))
      .cause(use.value(),
             describeLoss(use.stats, use.stats.flushes, use.stats.firstFlush,
                          "at most half the smallest " + dtype + " value, " +
                              formatNumber(format.minSubnormal)));
  if (guardsZeros(guarded, getAnalysis<FlushedShares>(),
                  getAnalysis<RangeAnalysis>(), format))
    finding.unexpected();
  else if (Value other = findOther(*guarded.use);
           other && isNonZeroForZeros(other))
    finding.about(guarded.use->get()); // there is nothing to guard
  addPath(finding, guarded);
  llvm::SetVector<Operation *> kept;
  for (const Guard &guard : guarded.guards)
    keepGuard(guard, use.stats.minNonZero, format, kept);
  bool keepsFirst = kept.contains(guarded.first().op);
  finding
      .fix("keep-fp32",
           "compute the guarded " +
               describeOp(keepsFirst ? guarded.first().op
                                     : guarded.first().path.back()) +
               " and the " +
               (hasRole(guarded.use->getOwner(), Role::Addition) ? "sum"
                                                                 : "limit") +
               " in front of it in f32",
           FixAction::keepTogether(kept.getArrayRef()))
      .fix("change-constant",
           "raise the epsilon to " + formatNumber(format.minNormal) +
               " or more, the smallest normal value",
           raise(use, guarded, format));
}

/// An epsilon that keeps a few bits: gone where hardware flushes subnormals.
void ConstantUnderflow::reportSubnormal(const ConstantUse &use,
                                        const Guarded &guarded) {
  const FloatFormat &format = *getFloatFormat(use.type);
  std::string dtype = getDtypeName(use.type);
  FindingBuilder finding = start(use, *guarded.use);
  finding.severity(Severity::Note)
      .about(guarded.use->get())
      .message(
          "epsilon " + formatNumber(use.stats.minNonZero) +
          " is subnormal in " + dtype +
          ": it keeps few bits, and is 0 where hardware flushes subnormals")
      .cause(guarded.first().op, "is the guarded value")
      .fix("change-constant",
           "raise it to " + formatNumber(format.minNormal) + " or more",
           raise(use, guarded, format));
}

/// The other addend, where being added is all that a weight does: how much its
/// loss means.
static std::string describeOther(const ConstantUse &use,
                                 const RangeAnalysis &ranges) {
  double least = kInfinity;
  for (OpOperand *operand : use.uses) {
    Operation *op = operand->getOwner();
    if (!hasRole(op, Role::Addition | Role::Subtraction) ||
        op->getNumOperands() != 2)
      return "";
    Value other = op->getOperand(1 - operand->getOperandNumber());
    least =
        std::min(least, likelyMagnitude(ranges.preRounding(other)).value_or(0));
  }
  return least > 0 && std::isfinite(least)
             ? ", beside values up to " + formatNumber(least)
             : "";
}

/// The part of the squared error of storing a weight that its lost values have,
/// each of at most half the smallest subnormal number.
static double lostPart(const ConstantUse &use, const RangeAnalysis &ranges) {
  const FloatFormat &format = *getFloatFormat(use.type);
  std::optional<AbstractValue> error =
      StorageErrors(ranges).errorOf(use.uses.front()->get(), {}, {});
  double all =
      error ? meanSquare(*error) * double(use.stats.elements) : kInfinity;
  double lost =
      double(use.stats.flushes) * std::pow(format.minSubnormal / 2, 2);
  return std::min(1.0, lost / all);
}

void ConstantUnderflow::reportShare(const ConstantUse &use) {
  const WeightStats &stats = use.stats;
  const FloatFormat &format = *getFloatFormat(use.type);
  std::string dtype = getDtypeName(use.type);
  bool large = use.flushedShare() >= threshold("constant-underflow-share");
  bool warns = large || stats.lostChannels;
  FindingBuilder finding = start(use, *use.uses.front());
  finding.severity(warns ? Severity::Warning : Severity::Note)
      .about(use.uses.front()->get())
      .cause(use.value(),
             describeLoss(stats, stats.flushes, stats.firstFlush,
                          "at most half the smallest " + dtype + " value, " +
                              formatNumber(format.minSubnormal)));
  if (stats.elements == 1)
    finding.message("constant " + formatNumber(stats.minNonZero) + " is 0 in " +
                    dtype);
  else if (stats.flushes == stats.nonZero())
    finding.message("every value of the weight is 0 in " + dtype + ": " +
                    formatNumber(stats.absMax) + " in magnitude and less" +
                    describeOther(use, getAnalysis<RangeAnalysis>()));
  else if (large)
    finding.message("a tenth or more of the weight is 0 in " + dtype);
  else if (warns)
    finding.message("whole channels of the weight are 0 in " + dtype);
  else
    finding.message("few values of the weight are 0 in " + dtype)
        .partOfError(lostPart(use, getAnalysis<RangeAnalysis>()));
  if (stats.lostChannels)
    finding.cause(use.value(), std::to_string(stats.lostChannels) +
                                   (stats.lostChannels == 1
                                        ? " channel is lost, at index "
                                        : " channels are lost, the first at "
                                          "index ") +
                                   std::to_string(stats.firstLostChannel));
  if (!warns)
    return;
  finding.fix("keep-fp32", "keep the op that uses it in f32");
  // The smallest values to where the dtype starts, if there is room above.
  int room = std::ilogb(format.maxFinite / stats.absMax) - 1;
  int shift = std::ilogb(format.minNormal) - std::ilogb(stats.minNonZero) + 1;
  fixConstantByScaling(finding, use.value().getDefiningOp(), use.type,
                       std::min(shift, room), getAnalysis<RangeAnalysis>());
}

/// A converter wrote a larger number in the place of each.
void ConstantUnderflow::reportRaised(const ConstantUse &use) {
  OpOperand &operand = *use.uses.front();
  std::string change =
      use.stats.elements == 1
          ? "constant " + formatNumber(use.stats.minNonZero) + " becomes "
          : "every value of the constant, of magnitudes up to " +
                formatNumber(use.stats.absMax) + ", becomes ";
  describeLimited(report(operand.getOwner(), operand.get()), use,
                  change + formatNumber(use.limits.least))
      .severity(Severity::Note)
      .about(operand.get());
}

void ConstantUnderflow::judge(const ConstantUse &use) {
  const WeightStats &stats = use.stats;
  if (use.isRaised())
    return reportRaised(use);
  // Epsilons are numbers, or one number for each channel.
  bool lost = stats.flushes && use.flushedShare() >= 0.1;
  bool number = stats.minNonZero == stats.absMax;
  if (lost || (number && stats.subnormals)) {
    Guarded guarded = findGuarded(use);
    if (guarded.use && lost)
      return reportEpsilon(use, guarded);
    if (guarded.use)
      return reportSubnormal(use, guarded);
  }
  if (stats.flushes)
    reportShare(use);
}

void ConstantUnderflow::judge(mp::CosineSimilarityOp op) {
  const FloatFormat *format = getFloatFormat(getElementType(op.getFirst()));
  double epsilon = op.getEpsilon().convertToDouble();
  if (!format || !(epsilon > 0) || !format->flushes(epsilon))
    return;
  std::string dtype = getDtypeName(getElementType(op.getFirst()));
  const RangeAnalysis &ranges = getAnalysis<RangeAnalysis>();
  if (isProvedNonZero(op.getFirst(), ranges, *format) &&
      isProvedNonZero(op.getSecond(), ranges, *format))
    return; // there is nothing to guard
  FindingBuilder finding = report(op, op.getResult());
  finding.severity(Severity::Error)
      .message("epsilon " + formatNumber(epsilon) + " is 0 in " + dtype +
               " and guards nothing: the cosine of a row of zeros is 0 / 0")
      .fix("keep-fp32", "compute the cosine in f32",
           FixAction::keepTogether({op.getOperation()}));
  if (isNonZeroForZeros(op.getFirst()) && isNonZeroForZeros(op.getSecond()))
    finding.about(op.getResult());
  else
    finding.unexpected(); // a sample of zeros
}
