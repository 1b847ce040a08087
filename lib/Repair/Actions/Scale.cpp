//===- Scale.cpp - A power of two through a part of the graph
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loss scaling, for any value: one that leaves its dtype's range is computed
// 2^e times as large, and its readers compensate, up to where the factor can be
// divided out. A product adds the exponents of its factors, a square doubles
// one, a sum needs the same for all its terms, a normalisation by the own row
// does away with it. Multiplying by a power of two rounds nothing as long as
// nothing flushes or overflows.
//
//===----------------------------------------------------------------------===//

#include "Actions.h"

#include "mpopt/Dialect/ConstantSupport.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Roles.h"
#include "mpopt/Dialect/TypeSupport.h"
#include "mpopt/Propagate/OpKind.h"

#include "mlir/IR/Builders.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::fixes;

/// Ops that take a factor along: a residual stream of a hundred blocks.
static constexpr size_t kMostOps = 1024;
/// Ops in front of an addend through which a factor is passed back to the
/// product that makes it: a bias, an activation, views.
static constexpr unsigned kMostBack = 4;
/// Plans for one scale: squares in the region ask for more, and those of
/// another power more again.
static constexpr unsigned kMostPlans = 3;

namespace {
/// The exponents by which an op's operands, result and epsilon are scaled.
struct Factors {
  /// Exponent of each operand.
  SmallVector<int> operands;
  int result = 0;
  /// The power of the factor by which its `epsilon` grows.
  int epsilon = 0;
};
using Exponents = llvm::DenseMap<Value, int>;
} // namespace

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

/// False for ops that read a shape.
static bool readsElements(Operation *op) {
  return getOpKind(op) != OpKind::Source;
}

/// f(2^e x) = 2^(2 e) f(x), of operand 0.
static bool isQuadratic(Operation *op) {
  const OpMeaning *meaning = getMeaning(op);
  return meaning && meaning->degree == 2.0;
}

/// A product of two factors of which either may be data.
static bool isPlainProduct(Operation *op) {
  return hasRole(op, Role::Bilinear) && !hasRole(op, Role::Weighted);
}

/// Mean and deviation of a normalisation, as further results, would have
/// factors of their own.
static bool hasMoments(Operation *op, const OpMeaning &meaning) {
  return meaning.epsilonDegree &&
         llvm::any_of(op->getResults().drop_front(),
                      [](Value extra) { return !extra.use_empty(); });
}

/// Nothing if the op cannot pass a factor on.
static std::optional<Factors> passOn(Operation *op, ArrayRef<int> have) {
  Factors factors;
  factors.operands.assign(have.begin(), have.end());
  auto none = std::optional<Factors>();
  // A condition among the operands has no factor, whatever it is given here.
  auto alike = [&] {
    int target = 0;
    for (int exponent : have)
      if (std::abs(exponent) > std::abs(target))
        target = exponent;
    llvm::fill(factors.operands, target);
    factors.result = target;
    return factors;
  };
  // Only operand 0 is scaled.
  auto power = [&](double by) -> std::optional<Factors> {
    for (int &exponent : MutableArrayRef(factors.operands).drop_front())
      exponent = 0;
    int &own = factors.operands[0];
    if (by == std::floor(by)) {
      factors.result = int(by) * own;
    } else if (2 * by == std::floor(2 * by)) {
      own -= own & 1;
      factors.result = int(2 * by) * (own / 2);
    } else {
      return std::nullopt;
    }
    return factors;
  };
  if (auto cast = dyn_cast<mp::CastOp>(op))
    return isFloat(cast.getResult()) && isFloat(cast.getInput()) ? power(1)
                                                                 : none;
  if (hasRole(op, Role::Power)) {
    std::optional<double> exponent = getSplatConstant(op->getOperand(1));
    return exponent && std::fabs(*exponent) <= 4 ? power(*exponent) : none;
  }
  if (hasRole(op, Role::Bilinear)) {
    factors.result = have[0] + have[1];
    if (have.size() > 2)
      factors.operands[2] = factors.result;
    return factors;
  }
  if (hasRole(op, Role::Division)) {
    factors.result = have[0] - have[1];
    return factors;
  }
  if (hasRole(op, Role::JointlyHomogeneous))
    return alike();
  const OpMeaning *meaning = getMeaning(op);
  if (!meaning || !meaning->degree)
    return none;
  if (hasMoments(op, *meaning))
    return none;
  std::optional<Factors> scaled = power(*meaning->degree);
  if (scaled)
    scaled->epsilon = meaning->epsilonDegree;
  return scaled;
}

/// Which operands of the first op are scaled so that its result is; `operand`
/// of a product.
static std::optional<Factors> start(Operation *op, int exponent,
                                    unsigned operand) {
  SmallVector<int> wanted(op->getNumOperands(), 0);
  auto passes = [&]() -> std::optional<Factors> {
    std::optional<Factors> factors = passOn(op, wanted);
    if (!factors || factors->result != exponent)
      return std::nullopt;
    return factors;
  };
  if (op->getNumOperands() == 0)
    return std::nullopt;
  bool product = isPlainProduct(op);
  if (product && op->getOperand(0) == op->getOperand(1)) {
    wanted = {exponent / 2, exponent / 2};
    return passes();
  }
  if (isQuadratic(op)) {
    wanted[0] = exponent / 2;
    return passes();
  }
  if (hasRole(op, Role::JointlyHomogeneous)) {
    wanted.assign(wanted.size(), exponent);
    return passes();
  }
  if (hasRole(op, Role::Power)) {
    std::optional<double> power = getSplatConstant(op->getOperand(1));
    if (!power || *power != 2)
      return std::nullopt;
    wanted[0] = exponent / 2;
    return passes();
  }
  wanted[product ? operand : 0] = exponent;
  return passes();
}

static SmallVector<int> getExponents(Operation *op,
                                     const Exponents &exponents) {
  return llvm::map_to_vector(op->getOperands(), [&](Value operand) {
    return exponents.lookup(operand);
  });
}

/// The operand of a product to scale: the larger one to make the result
/// smaller, the smaller one to make it larger.
static unsigned chooseFactor(Operation *op, int exponent,
                             function_ref<double(Value)> magnitude) {
  if (!isPlainProduct(op))
    return 0;
  bool second = magnitude(op->getOperand(1)) > magnitude(op->getOperand(0));
  return (exponent < 0) == second ? 1 : 0;
}

/// The exponent of the first op with which a result fits that has the factor
/// 2^`factor` for `exponent`: with a binade of room.
static int exponentFor(Value result, int factor, int exponent,
                       function_ref<double(Value)> magnitude) {
  const FloatFormat *format = getFloatFormat(getElementType(result));
  double size = magnitude(result);
  if (!format || factor >= 0 || !std::isfinite(size) || size <= 0)
    return exponent;
  int needed = -(std::ilogb(size / format->maxFinite) + 2);
  return std::min(exponent,
                  int(std::floor(double(needed) * exponent / factor)));
}

static FixAction planOnce(Operation *op, int exponent,
                          function_ref<bool(Value)> fits,
                          function_ref<double(Value)> magnitude, int &needed) {
  bool isConstant = isa<mp::ConstantOp>(op);
  // A square's operand takes half.
  if (!isConstant && passOn(op, SmallVector<int>(op->getNumOperands(), 0)) &&
      (isQuadratic(op) || hasRole(op, Role::Power) ||
       (op->getNumOperands() == 2 && op->getOperand(0) == op->getOperand(1))))
    exponent -= exponent & 1;
  unsigned operand = isConstant ? 0 : chooseFactor(op, exponent, magnitude);
  if (exponent == 0 || (!isConstant && !start(op, exponent, operand)))
    return {};
  FixAction action(FixAction::Kind::Scale, {op}, {0});
  action.number = exponent;
  action.upper = operand;

  Exponents exponents;
  auto before = [](Operation *lhs, Operation *rhs) {
    return lhs != rhs && lhs->isBeforeInBlock(rhs);
  };
  std::set<Operation *, decltype(before)> pending(before);
  auto addReaders = [&](Operation *maker, int factor) {
    for (Value result : maker->getResults()) {
      if (!isFloat(result))
        continue;
      exponents[result] = factor;
      if (exponent < 0)
        needed =
            std::min(needed, exponentFor(result, factor, exponent, magnitude));
      for (Operation *user : result.getUsers())
        if (readsElements(user) && user->getBlock() == op->getBlock() &&
            user->getNumRegions() == 0)
          pending.insert(user);
    }
  };
  addReaders(op, exponent);
  while (!pending.empty() && action.ops.size() < kMostOps) {
    Operation *next = *pending.begin();
    pending.erase(pending.begin());
    std::optional<Factors> factors =
        passOn(next, getExponents(next, exponents));
    if (!factors)
      continue; // it reads what the value was
    bool ends = factors->result == 0 ||
                llvm::all_of(next->getResults(), [&](Value result) {
                  return !isFloat(result) || fits(result);
                });
    action.ops.push_back(next);
    action.operands.push_back(ends);
    if (!ends)
      addReaders(next, factors->result);
  }
  return action;
}

FixAction mpopt::planScale(Operation *op, int exponent,
                           function_ref<bool(Value)> fits,
                           function_ref<double(Value)> magnitude) {
  FixAction action;
  for (unsigned plan = 0; plan < kMostPlans; ++plan) {
    int needed = exponent;
    action = planOnce(op, exponent, fits, magnitude, needed);
    if (!action || needed >= exponent)
      break;
    exponent = needed;
  }
  return action;
}

/// The multiplications of `value` by 2^by, in steps that its type holds.
static SmallVector<Operation *> multiply(OpBuilder &builder, Value value,
                                         int by) {
  SmallVector<Operation *> made;
  Type element = getElementType(value);
  const FloatFormat *format = getFloatFormat(element);
  int most = format ? std::ilogb(format->maxFinite) : std::abs(by);
  int least = format ? std::ilogb(format->minNormal) : -std::abs(by);
  while (by != 0 || made.empty()) {
    int step = std::clamp(by, least, most);
    Value factor =
        makeNumber(builder, value.getLoc(), element, std::ldexp(1.0, step));
    made.push_back(mp::MulOp::create(builder, value.getLoc(), value.getType(),
                                     value, factor));
    value = made.back()->getResult(0);
    by -= step;
  }
  return made;
}

/// 2^by of `value`, for `user` to read.
static Value rescale(Value value, int by, Operation *user) {
  OpBuilder builder(user);
  return multiply(builder, value, by).back()->getResult(0);
}

static void rescaleOperands(Operation *op, ArrayRef<int> have,
                            ArrayRef<int> wanted, unsigned back = 0);

/// Makes `value`, an addend of what has a factor, smaller where it is made: it
/// may overflow itself. False if its maker passes no factor on.
static bool rescaleMaker(Value value, int by, unsigned back) {
  Operation *maker = value.getDefiningOp();
  if (!maker || back == 0 || by >= 0 || !value.hasOneUse() ||
      maker->getNumRegions() != 0 || isa<mp::ConstantOp>(maker) ||
      (maker->getNumOperands() == 2 &&
       maker->getOperand(0) == maker->getOperand(1)))
    return false;
  std::optional<Factors> factors = start(maker, by, 0);
  if (!factors || factors->epsilon != 0)
    return false;
  bool isProduct = hasRole(maker, Role::Bilinear);
  rescaleOperands(maker, SmallVector<int>(maker->getNumOperands(), 0),
                  factors->operands, isProduct ? 0 : back - 1);
  return true;
}

static void rescaleOperands(Operation *op, ArrayRef<int> have,
                            ArrayRef<int> wanted, unsigned back) {
  for (auto [index, before, after] : llvm::enumerate(have, wanted)) {
    if (before == after)
      continue;
    Value operand = op->getOperand(index);
    if (!isFloat(operand))
      continue; // a mask has no size
    if (before != 0 || !rescaleMaker(operand, after, back))
      op->setOperand(index, rescale(operand, after - before, op));
  }
}

/// Some readers of `value`, which has a factor, read what it was.
static void restore(Value value, int factor,
                    function_ref<bool(Operation *)> reads) {
  auto readsBack = [&](OpOperand &use) {
    return readsElements(use.getOwner()) && reads(use.getOwner());
  };
  if (llvm::none_of(value.getUses(), readsBack))
    return;
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  SmallVector<Operation *> back = multiply(builder, value, -factor);
  value.replaceUsesWithIf(back.back()->getResult(0), [&](OpOperand &use) {
    return !llvm::is_contained(back, use.getOwner()) && readsBack(use);
  });
}

static void growEpsilon(Operation *op, int exponent) {
  auto epsilon = op->getAttrOfType<FloatAttr>("epsilon");
  if (epsilon && exponent)
    op->setAttr("epsilon", FloatAttr::get(epsilon.getType(),
                                          std::ldexp(epsilon.getValueAsDouble(),
                                                     exponent)));
}

bool fixes::applyScale(Ops ops, ArrayRef<unsigned> takeBack, int exponent,
                       unsigned operand) {
  Operation *first = ops.front();
  if (isa<mp::ConstantOp>(first)) {
    if (!rewriteConstant(
            first, [&](double number) { return std::ldexp(number, exponent); }))
      return false;
  } else {
    std::optional<Factors> factors = start(first, exponent, operand);
    if (!factors)
      return false;
    // A square reads one value twice: both are the scaled one.
    if (first->getNumOperands() == 2 &&
        first->getOperand(0) == first->getOperand(1)) {
      Value scaled = rescale(first->getOperand(0), factors->operands[0], first);
      first->setOperands({scaled, scaled});
    } else {
      rescaleOperands(first, SmallVector<int>(first->getNumOperands(), 0),
                      factors->operands);
    }
  }
  llvm::DenseSet<Operation *> region(ops.begin(), ops.end());
  Exponents exponents;
  for (auto [index, op] : llvm::enumerate(ops)) {
    int factor = exponent;
    if (index > 0) {
      SmallVector<int> have = getExponents(op, exponents);
      std::optional<Factors> factors = passOn(op, have);
      if (!factors)
        return false;
      growEpsilon(op, factors->epsilon * have[0]);
      rescaleOperands(op, have, factors->operands, kMostBack);
      factor = factors->result;
    }
    for (Value result : op->getResults()) {
      if (!isFloat(result) || factor == 0)
        continue;
      if (!takeBack[index])
        exponents[result] = factor;
      restore(result, factor, [&](Operation *user) {
        return takeBack[index] || !region.contains(user);
      });
    }
  }
  return true;
}
