//===- InfiniteDerivative.cpp - MP412: a derivative that is Inf or NaN
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Match.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/Settings.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Hazards/LossScaling.h"
#include "mpopt/Hazards/Zeros.h"
#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Unary.h"
#include "passes/rules/Rules.h"

#include <cmath>

namespace mpopt {
#define GEN_PASS_DEF_INFINITEDERIVATIVE
#include "passes/rules/Rules.h.inc"
} // namespace mpopt

using namespace mlir;
using namespace mpopt;

namespace {
struct InfiniteDerivative
    : mpopt::impl::InfiniteDerivativeBase<InfiniteDerivative> {
  void check(ModuleOp module) override;

private:
  void judge(Operation *op);
  bool hasGradient(Operation *op) const;

  const RangeAnalysis *ranges = nullptr;
};

/// An argument, operand `operand`, at which the derivative is infinite.
struct Edge {
  unsigned operand;
  double at;
  /// So is the value.
  bool isPole;
};
} // namespace

static SmallVector<Edge, 2> findEdges(Operation *op) {
  SmallVector<Edge, 2> edges;
  if (op->getNumResults() != 1)
    return edges;
  if (std::optional<UnaryFunction> function =
          parseUnaryFunction(op->getName().stripDialect());
      function && op->getNumOperands() == 1) {
    // The functions of the table have theirs here.
    for (double at : {-1.0, 0.0, 1.0})
      if (std::isinf(derivative({*function}, at)) ||
          std::isinf(evaluate({*function}, at)))
        edges.push_back({0, at, std::isinf(evaluate({*function}, at))});
    return edges;
  }
  if (hasRole(op, Role::Power)) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    if (exponent && *exponent < 1 && *exponent != 0)
      edges.push_back({0, 0, *exponent < 0});
  } else if (hasRole(op, Role::Division)) {
    if (std::optional<unsigned> divisor = divisorOperand(op))
      edges.push_back({*divisor, 0, true});
  }
  return edges;
}

/// The selection that alone reads the value, through ops of one float operand
/// and products with constants; null if there is none.
static Operation *findSelect(Value value) {
  constexpr unsigned kMost = 6;
  for (unsigned depth = 0; depth < kMost; ++depth) {
    Operation *reader = nullptr;
    for (Operation *user : value.getUsers()) {
      if (user->hasAttr(kBackwardAttr))
        continue;
      if (reader)
        return nullptr;
      reader = user;
    }
    if (!reader || reader->getNumResults() != 1)
      return nullptr;
    if (auto where = dyn_cast<mp::WhereOp>(reader))
      return where.getCondition() == value ? nullptr : reader;
    for (Value operand : reader->getOperands())
      if (operand != value && !isConstant(operand))
        return nullptr;
    value = reader->getResult(0);
  }
  return nullptr;
}

/// True for a probability, and for its complement and multiples: training makes
/// it 0 or 1.
static bool saturates(Value value) {
  constexpr unsigned kMost = 6;
  for (unsigned step = 0; step < kMost; ++step) {
    Operation *op = getMaker(value, Peel::CastsAndViews);
    if (hasRole(op, Role::Probability))
      return true;
    if (!op || !hasRole(op, Role::Arithmetic) || op->getNumOperands() != 2)
      return false;
    std::optional<std::pair<Value, double>> split = splitNumber(op);
    if (!split)
      return false;
    value = split->first;
  }
  return false;
}

/// How sure it is that some element of the argument is exactly that number.
static std::optional<Certainty> mayBe(Value argument, double at,
                                      const RangeAnalysis &ranges) {
  if (at == 0)
    return mayBeZero(argument, ranges);
  if (isUnknown(argument, ranges))
    return std::nullopt;
  // Limits make exact numbers, which a continuous value does not meet.
  bool exact = hasRole(getMaker(argument, Peel::CastsAndViews),
                       Role::LimitsAbove | Role::LimitsBelow);
  const AbstractValue &read = ranges.of(argument);
  std::optional<Certainty> sure;
  for (const Cell &cell : read.cells()) {
    if (cell.empty() || cell.lo > at || cell.hi < at)
      continue;
    Certainty found = Certainty::Possible;
    if (cell.lo == at && cell.hi == at)
      found = Certainty::Certain;
    else if (read.hasLikely() && exact && cell.likelyLo <= at &&
             cell.likelyHi >= at)
      found = Certainty::Likely;
    sure = std::max(sure.value_or(Certainty::Possible), found);
  }
  return sure;
}

/// Adds a fix that clips the argument beside the edge, where it reaches it from
/// one side only.
static void fixByClip(FindingBuilder &finding, Operation *op, const Edge &edge,
                      const Cell &hull) {
  const FloatFormat *format =
      getFloatFormat(getElementType(op->getOperand(edge.operand)));
  if (!format)
    return;
  // At 0 a power of ten that vanishes beside numbers near 1; else two steps of
  // the format, one of which a rounding may take back.
  double square = format->unitRoundoff() * format->unitRoundoff();
  double step =
      edge.at == 0
          ? std::pow(10,
                     std::ceil(std::log10(std::max(format->minNormal, square))))
          : 2 * format->epsilon();
  double lo = -kInfinity, hi = kInfinity;
  if (hull.lo >= edge.at)
    lo = edge.at + step;
  else if (hull.hi <= edge.at)
    hi = edge.at - step;
  else
    return;
  // Functions with an edge on either side.
  if (edge.at == -1 && hull.hi <= 1)
    hi = 1 - step;
  std::string text = "clip the argument to ";
  if (std::isinf(hi))
    text += "at least " + formatNumber(lo);
  else if (std::isinf(lo))
    text += "at most " + formatNumber(hi);
  else
    text += "[" + formatNumber(lo) + ", " + formatNumber(hi) + "]";
  finding.fix("clamp", text, FixAction::clamp(op, edge.operand, lo, hi));
}

/// Some op of the backward graph reads what the op reads or makes.
bool InfiniteDerivative::hasGradient(Operation *op) const {
  auto isRead = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return user->hasAttr(kBackwardAttr);
    });
  };
  return isRead(op->getResult(0)) || llvm::any_of(op->getOperands(), isRead);
}

void InfiniteDerivative::judge(Operation *op) {
  for (const Edge &edge : findEdges(op)) {
    Value argument = op->getOperand(edge.operand);
    if (!isa<FloatType>(getElementType(argument)) || isConstant(argument))
      continue;
    Operation *select = edge.isPole ? findSelect(op->getResult(0)) : nullptr;
    if (edge.isPole && !select)
      continue;
    std::optional<Certainty> sure = mayBe(argument, edge.at, *ranges);
    if (!sure || !hasGradient(op))
      continue;
    std::string name = op->getName().stripDialect().str();
    std::string verb = *sure == Certainty::Certain  ? " is "
                       : *sure == Certainty::Likely ? " is likely to be "
                                                    : " may be ";
    std::string text =
        "the argument of " + name + verb + formatNumber(edge.at) + ", where ";
    if (edge.isPole)
      text += "it is infinite: the selection behind hides the value, and its "
              "gradient there is 0 times Inf, NaN";
    else
      text += "its derivative is infinite although its value is finite: the "
              "gradient is Inf, or NaN where 0 arrives";
    const AbstractValue &computed = ranges->preRounding(argument);
    Cell hull = computed.hull();
    FindingBuilder finding = report(op, op->getResult(0), *sure);
    if (saturates(argument))
      finding.reachedByTraining();
    finding.message(text)
        .cause(argument,
               "argument in [" + formatNumber(hull.lo) + ", " +
                   formatNumber(hull.hi) + "]" +
                   (computed.hasLikely()
                        ? ", likely within [" + formatNumber(hull.likelyLo) +
                              ", " + formatNumber(hull.likelyHi) + "]"
                        : ""))
        .watchGradient(Decision::GradientNonFinite, argument,
                       getElementType(argument), /*scale=*/0, op->getResult(0));
    if (select)
      finding.cause(select, "selects beside it");
    fixByClip(finding, op, edge, hull);
    return;
  }
}

void InfiniteDerivative::check(ModuleOp) {
  ranges = &getAnalysis<RangeAnalysis>();
  forEachOp([&](Operation *op) {
    if (!op->hasAttr(kBackwardAttr))
      judge(op);
  });
}
