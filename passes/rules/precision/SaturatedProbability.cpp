//===- SaturatedProbability.cpp - MP306: a probability that is 0 or 1
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Hazards/RangeSupport.h"
#include "mpopt/Hazards/TrainingFacts.h"
#include "passes/rules/Rules.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/CoreOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Numerics/Infinity.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_SATURATEDPROBABILITY
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
/// The ops that read a probability p: log(p), 1 - p and the users of that, also
/// through guards without effect in the dtype (a clip to [1e-8, 0.999999], an
/// epsilon that is 0 or lost in 1 + eps).
struct Readers {
  explicit Readers(const RangeAnalysis &ranges) : ranges(ranges) {}

  Operation *log = nullptr;
  Operation *complement = nullptr;
  /// A log or division of the complement.
  Operation *breaks = nullptr;
  /// Logarithms that could be taken of the logits: no op between moves
  /// elements.
  SmallVector<Operation *> logs, complementLogs;

  void find(Value probability, bool zero, bool one, bool inPlace = true,
            unsigned depth = 4);

private:
  bool isNumber(Value value, double number) const {
    return ranges.of(value).constant() == number;
  }
  void findBreak(Value complement, bool inPlace, unsigned depth = 4);

  const RangeAnalysis &ranges;
};

struct SaturatedProbability
    : RangeRule<SaturatedProbability, mpopt::impl::SaturatedProbabilityBase> {
  void judge(Operation *op, const RangeAnalysis &ranges);
};
} // namespace

static bool isLog(Operation *op) {
  return hasRole(op, Role::Logarithm) && hasRole(op, Role::PoleAtZero);
}

void Readers::findBreak(Value complement, bool inPlace, unsigned depth) {
  for (OpOperand &use : complement.getUses()) {
    Operation *user = use.getOwner();
    if (hasRole(user, Role::PoleAtZero) ||
        use.getOperandNumber() == divisorOperand(user))
      breaks = user;
    if (isLog(user) && inPlace)
      complementLogs.push_back(user);
    if (user != breaks && depth &&
        (isa<mp::CastOp>(user) || isViewLike(user) ||
         (hasRole(user, Role::Addition) && user->getNumOperands() == 2 &&
          isNumber(user->getOperand(1 - use.getOperandNumber()), 0))))
      findBreak(user->getResult(0), inPlace && !isViewLike(user), depth - 1);
  }
}

/// `zero`, `one`: whether 0 or 1 would still be that here.
void Readers::find(Value probability, bool zero, bool one, bool inPlace,
                   unsigned depth) {
  for (OpOperand &use : probability.getUses()) {
    Operation *user = use.getOwner();
    if (zero && isLog(user)) {
      log = user;
      if (inPlace)
        logs.push_back(user);
    }
    if (one && hasRole(user, Role::Subtraction) &&
        use.getOperandNumber() == 1 && isNumber(user->getOperand(0), 1)) {
      complement = user;
      findBreak(user->getResult(0), inPlace);
    }
    if (depth == 0)
      continue;
    if (isa<mp::CastOp>(user) || isViewLike(user)) {
      find(user->getResult(0), zero, one, inPlace && !isViewLike(user),
           depth - 1);
    } else if (hasRole(user, Role::Addition) && user->getNumOperands() == 2) {
      if (isNumber(user->getOperand(1 - use.getOperandNumber()), 0))
        find(user->getResult(0), zero, one, inPlace && !isViewLike(user),
             depth - 1);
    } else if (hasRole(user, Role::Limit) && use.getOperandNumber() == 0) {
      // As far as the result still reaches the ends.
      Cell left = ranges.of(user->getResult(0)).hull();
      if (!left.empty())
        find(user->getResult(0), zero && left.lo <= 0, one && left.hi >= 1,
             inPlace, depth - 1);
    }
  }
}

static FixAction useLogits(Operation *op, const Readers &readers, bool zero) {
  bool softmax = hasRole(op, Role::Softmax);
  SmallVector<Operation *> ops = {op};
  llvm::append_range(ops, zero ? readers.logs : readers.complementLogs);
  if (!zero && softmax)
    return {}; // there is no form of 1 - softmax
  if (ops.size() > 1) {
    FixAction action(FixAction::Kind::LogOfOperand, ops);
    action.upper = !zero;
    // Ops that guard the logarithm go with it.
    Value read = zero ? op->getResult(0) : readers.complement->getResult(0);
    action.keepsFunction =
        llvm::all_of(ArrayRef(ops).drop_front(), [&](Operation *log) {
          return peel(log->getOperand(0)) == read;
        });
    return action;
  }
  if (!zero)
    return {FixAction::Kind::SigmoidOfNegative, {op, readers.complement}};
  return {};
}

static std::string describe(bool zero, bool breaks, const FloatFormat &format) {
  std::string text = "probabilities round to exactly ";
  text += zero ? "0" : "1";
  text += " in " + format.name.str() + ", and ";
  if (zero)
    return text + "their logarithm is taken";
  return text + "1 - p is 0 then" +
         (breaks ? ", in a logarithm or division" : "");
}

static void addFixes(FindingBuilder &finding, Operation *op,
                     const Readers &readers, bool zero,
                     const FloatFormat &format) {
  finding.fix("change-op",
              !zero && readers.complementLogs.empty()
                  ? "take sigmoid(-x) for 1 - sigmoid(x)"
              : hasRole(op, Role::Softmax) ? "take log_softmax of the logits"
                                           : "take log_sigmoid of the logits",
              useLogits(op, readers, zero));
  double most = 1 - 2 * format.epsilon();
  if (!zero && readers.breaks)
    finding.fix("clamp",
                "clip the probability to at most " + formatNumber(most) +
                    " for 1 - p",
                FixAction::clamp(readers.complement, 1, -kInfinity, most));
}

void SaturatedProbability::judge(Operation *op, const RangeAnalysis &ranges) {
  if (!hasRole(op, Role::Probability))
    return;
  Value result = op->getResult(0);
  const FloatFormat *format = getFloatFormat(getElementType(result));
  Readers readers(ranges);
  readers.find(result, /*zero=*/true, /*one=*/true);
  if (!format || (!readers.log && !readers.complement))
    return;
  const AbstractValue &logits = ranges.of(op->getOperand(0));
  Cell hull = logits.hull();
  if (hull.empty())
    return;
  // sigmoid(x) is 0 below log(2^-25) = -17.3 in FP16 and 1 above 12 log 2 =
  // 8.3; a softmax has the distance to the row's maximum for x.
  double zeroBelow = std::log(format->flushAt > 0 ? format->flushAt
                                                  : format->minSubnormal / 2);
  double oneAbove = (int(format->digits) + 1) * std::log(2.0);
  bool softmax = hasRole(op, Role::Softmax);
  auto reaches = [&](double lo, double hi, bool zero) {
    if (softmax)
      return zero ? hi - lo > -zeroBelow : hi - lo > oneAbove;
    return zero ? lo < zeroBelow : hi > oneAbove;
  };
  for (bool zero : {true, false}) {
    if (zero ? !readers.log : !readers.complement)
      continue;
    bool likely =
        logits.hasLikely() && reaches(hull.likelyLo, hull.likelyHi, zero);
    // Training moves logits that it learns as far as they go.
    bool trained = isTrained(op) && !isConstant(op->getOperand(0));
    bool possible =
        (trained || (std::isfinite(hull.lo) && std::isfinite(hull.hi))) &&
        reaches(hull.lo, hull.hi, zero);
    if (!likely && !possible)
      continue;
    bool breaks = zero || readers.breaks;
    FindingBuilder finding =
        report(op, result, likely ? Certainty::Likely : Certainty::Possible);
    if (trained && breaks)
      finding.reachedByTraining();
    if (zero)
      finding.watch(Decision::Zero, result);
    else
      finding.watchDomain(result, -kInfinity, 1, /*open=*/true);
    finding.severity(breaks ? Severity::Warning : Severity::Note)
        .message(describe(zero, readers.breaks, *format))
        .cause(op->getOperand(0),
               "logits " + std::string(likely ? "likely within [" : "in [") +
                   formatNumber(likely ? hull.likelyLo : hull.lo) + ", " +
                   formatNumber(likely ? hull.likelyHi : hull.hi) + "]")
        .cause(zero ? readers.log : readers.complement,
               "reads the probability");
    // First order tells of the numbers next to 0 or 1, and of no step to it.
    if (breaks)
      finding.unexpected();
    addFixes(finding, op, readers, zero, *format);
    fixByKeeping(finding, getElementType(result),
                 "the probability and its readers");
  }
}
