//===- Activation.cpp - Decomposed GELU, SiLU, softplus and others
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   gelu:     0.5 x (1 + erf(x / sqrt(2)))
//             0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
//   silu:     x * sigmoid(x),  x / (1 + exp(-x))
//   hard_swish: x * min(max(x + 3, 0), 6) / 6,  x * hard_sigmoid(x)
//   mish:     x * tanh(softplus(x))
//   softplus: log(1 + exp(x)), log1p(exp(x)), max(x, 0) + log1p(exp(-|x|))
//
// with the factors in any order.
//
//===----------------------------------------------------------------------===//

#include "Idioms.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::idioms;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// number * x^power, as a tree of products.
struct Monomial {
  double number = 1;
  int power = 0;
  Members members;
};
} // namespace

/// `value` as a monomial in `x`; false if it is none.
static bool matchMonomial(Value value, Value x, Monomial &result,
                          unsigned depth = 4) {
  if (isSameBehind(value, x)) {
    ++result.power;
    return true;
  }
  if (std::optional<double> number = getSplatConstant(value)) {
    result.number *= *number;
    return true;
  }
  Operation *op = getMaker(value);
  if (!op || depth == 0)
    return false;
  if (isa<mp::MulOp>(op)) {
    result.members.push_back(op);
    return matchMonomial(op->getOperand(0), x, result, depth - 1) &&
           matchMonomial(op->getOperand(1), x, result, depth - 1);
  }
  if (isa<mp::DivOp>(op)) {
    std::optional<double> divisor = getSplatConstant(op->getOperand(1));
    if (!divisor || *divisor == 0)
      return false;
    result.number /= *divisor;
    result.members.push_back(op);
    return matchMonomial(op->getOperand(0), x, result, depth - 1);
  }
  int exponent = isa<mp::SquareOp>(op)            ? 2
                 : !isa<mp::PowOp>(op)            ? 0
                 : isNumber(op->getOperand(1), 2) ? 2
                 : isNumber(op->getOperand(1), 3) ? 3
                                                  : 0;
  if (exponent == 0 || !isSameBehind(op->getOperand(0), x))
    return false;
  result.power += exponent;
  result.members.push_back(op);
  return true;
}

static bool isMonomial(Value value, Value x, double number, int power,
                       Members &members) {
  Monomial found;
  if (!matchMonomial(value, x, found) || found.power != power ||
      std::fabs(found.number - number) > 2e-3 * number)
    return false;
  members.append(found.members);
  return true;
}

/// From `value` down through products with numbers and with monomials in `x`,
/// until they amount to `number` * x. The last product, or null.
static Operation *climb(Value value, Value x, double number, Members &members) {
  Monomial seen;
  for (unsigned step = 0; step < 3; ++step) {
    Operation *user = getOnlyUser(value);
    if (!user)
      return nullptr;
    if (isa<mp::MulOp>(user)) {
      Value other = otherOperand(user, value);
      if (!other || !matchMonomial(other, x, seen))
        return nullptr;
    } else if (isa<mp::DivOp>(user) &&
               isSameBehind(user->getOperand(0), value)) {
      std::optional<double> divisor = getSplatConstant(user->getOperand(1));
      if (!divisor || *divisor == 0)
        return nullptr;
      seen.number /= *divisor;
    } else {
      return nullptr;
    }
    seen.members.push_back(user);
    if (seen.power == 1 && std::fabs(seen.number - number) <= 2e-3 * number) {
      members.append(seen.members);
      return user;
    }
    value = user->getResult(0);
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// GELU
//===----------------------------------------------------------------------===//

static bool matchGeluFrom(Operation *core, Value x, Members members,
                          Marker &marker) {
  Operation *sum = getOnlyUser(core->getResult(0));
  if (!isa_and_present<mp::AddOp>(sum))
    return false;
  Value one = otherOperand(sum, core->getResult(0));
  if (!one || !isNumber(one, 1))
    return false;
  members.append({core, sum});
  Operation *result = climb(sum->getResult(0), x, 0.5, members);
  return result && marker.mark<mp::GeluOp>(members, result);
}

static bool matchErfGelu(mp::ErfOp erf, Marker &marker) {
  Operation *scaled = getMaker(erf.getInput());
  if (!isa_and_present<mp::MulOp, mp::DivOp>(scaled))
    return false;
  auto split = splitNumber(scaled);
  Members members;
  return split &&
         isMonomial(erf.getInput(), split->first, std::sqrt(0.5), 1, members) &&
         matchGeluFrom(erf, split->first, members, marker);
}

/// sqrt(2/pi) (x + 0.044715 x^3), the number in front or inside.
static std::optional<Value> matchTanhArgument(Value argument,
                                              Members &members) {
  constexpr double kCubic = 0.044715;
  const double front = std::sqrt(2 / M_PI);
  Operation *product = getMaker(argument);
  if (!isa_and_present<mp::MulOp>(product))
    return std::nullopt;
  for (unsigned index : {0u, 1u}) {
    auto sum = getMaker<mp::AddOp>(product->getOperand(index));
    if (!sum)
      continue;
    Value other = product->getOperand(1 - index);
    for (unsigned side : {0u, 1u}) {
      Value first = sum->getOperand(side), second = sum->getOperand(1 - side);
      Members found = {product, sum};
      if (isNumber(other, front) &&
          isMonomial(second, first, kCubic, 3, found)) {
        members.append(found);
        return first;
      }
      // sqrt(2/pi) x * (1 + 0.044715 x^2)
      auto scaled = getMaker<mp::MulOp>(other);
      auto split =
          scaled && isNumber(first, 1) ? splitNumber(scaled) : std::nullopt;
      found = {product, sum};
      if (split && isMonomial(other, split->first, front, 1, found) &&
          isMonomial(second, split->first, kCubic, 2, found)) {
        members.append(found);
        return split->first;
      }
    }
  }
  return std::nullopt;
}

static bool matchTanhGelu(mp::TanhOp tanh, Marker &marker) {
  Members members;
  std::optional<Value> x = matchTanhArgument(tanh.getInput(), members);
  return x && matchGeluFrom(tanh, *x, members, marker);
}

//===----------------------------------------------------------------------===//
// Gates of x by itself
//===----------------------------------------------------------------------===//

/// The product of a gate and `x`, or null.
static Operation *findGated(Value gate, Value x) {
  for (Operation *user : getUsers(gate)) {
    Value other = isa<mp::MulOp>(user) ? otherOperand(user, gate) : Value();
    if (other && isSameBehind(other, x))
      return user;
  }
  return nullptr;
}

static bool matchSigmoidSilu(mp::SigmoidOp sigmoid, Marker &marker) {
  Operation *user = findGated(sigmoid.getResult(), sigmoid.getInput());
  return user && marker.mark<mp::SiluOp>({sigmoid, user}, user);
}

static bool matchHardSigmoidSwish(mp::HardSigmoidOp gate, Marker &marker) {
  constexpr double kClose = 1e-3;
  if (std::fabs(gate.getAlpha().convertToDouble() * 6 - 1) > kClose ||
      gate.getBeta().convertToDouble() != 0.5)
    return false;
  Operation *user = findGated(gate.getResult(), gate.getInput());
  return user && marker.mark<mp::HardSwishOp>({gate, user}, user);
}

/// True for min(max(x, 0), 6).
static bool isRelu6(Operation *op) {
  if (auto clip = dyn_cast<mp::ClipOp>(op))
    return clip.getMin() && clip.getMax() && isNumber(clip.getMin(), 0) &&
           isNumber(clip.getMax(), 6);
  if (auto tanh = dyn_cast<mp::HardTanhOp>(op))
    return tanh.getLow().isZero() && tanh.getHigh().convertToDouble() == 6;
  return isa<mp::Relu6Op>(op);
}

static bool matchClipSwish(Operation *clip, Marker &marker) {
  auto sum = getMaker<mp::AddOp>(clip->getOperand(0));
  auto split = sum ? splitNumber(sum) : std::nullopt;
  if (!split || split->second != 3)
    return false;
  Members members = {sum, clip};
  Operation *result = climb(clip->getResult(0), split->first, 1.0 / 6, members);
  return result && marker.mark<mp::HardSwishOp>(members, result);
}

static bool matchMish(mp::SoftplusOp softplus, Marker &marker) {
  if (softplus.getBeta().convertToDouble() != 1)
    return false;
  Operation *tanh = getOnlyUser(softplus.getResult());
  if (!isa_and_present<mp::TanhOp>(tanh))
    return false;
  Operation *user = findGated(tanh->getResult(0), softplus.getInput());
  return user && marker.mark<mp::MishOp>({softplus, tanh, user}, user);
}

//===----------------------------------------------------------------------===//
// SiLU and softplus by exponentials
//===----------------------------------------------------------------------===//

/// 1 + exp, if that is what the only user of `exp` is.
static Operation *findOnePlus(mp::ExpOp exp) {
  Operation *sum = getOnlyUser(exp.getResult());
  if (!isa_and_present<mp::AddOp>(sum))
    return nullptr;
  Value one = otherOperand(sum, exp.getResult());
  return one && isNumber(one, 1) ? sum : nullptr;
}

static bool matchExpSilu(mp::ExpOp exp, Operation *sum, Marker &marker) {
  auto neg = getMaker<mp::NegOp>(exp.getInput());
  Operation *quotient = getOnlyUser(sum->getResult(0));
  if (!neg || !isa_and_present<mp::DivOp>(quotient) ||
      !isSameBehind(quotient->getOperand(0), neg.getInput()) ||
      !isSameBehind(quotient->getOperand(1), sum->getResult(0)))
    return false;
  return marker.mark<mp::SiluOp>({neg, exp, sum, quotient}, quotient);
}

/// max(x, 0) for the stable softplus.
static bool isPositivePart(Operation *op, Value x) {
  if (auto relu = dyn_cast<mp::ReluOp>(op))
    return isSameBehind(relu.getInput(), x);
  if (!isa<mp::MaxOp>(op) || op->getNumOperands() != 2)
    return false;
  Value other = otherOperand(op, x);
  return other && getSplatConstant(other) == 0.0;
}

static bool matchSoftplus(mp::ExpOp exp, Operation *log, Members members,
                          Marker &marker) {
  members.append({exp, log});
  auto neg = getMaker<mp::NegOp>(exp.getInput());
  auto abs = neg ? getMaker<mp::AbsOp>(neg.getInput()) : nullptr;
  if (!abs)
    return marker.mark<mp::SoftplusOp>(members, log);
  for (Operation *user : getUsers(log->getResult(0))) {
    Value other =
        isa<mp::AddOp>(user) ? otherOperand(user, log->getResult(0)) : Value();
    Operation *positive = other ? getMaker(other) : nullptr;
    if (!positive || !isPositivePart(positive, abs.getInput()))
      continue;
    members.append({abs, neg, positive, user});
    return marker.mark<mp::SoftplusOp>(members, user);
  }
  return false;
}

static bool matchExp(mp::ExpOp exp, Marker &marker) {
  if (Operation *log = getOnlyUser(exp.getResult());
      isa_and_present<mp::Log1pOp>(log))
    return matchSoftplus(exp, log, {}, marker);
  Operation *sum = findOnePlus(exp);
  if (!sum)
    return false;
  if (Operation *log = getOnlyUser(sum->getResult(0));
      isa_and_present<mp::LogOp>(log))
    return matchSoftplus(exp, log, {sum}, marker);
  return matchExpSilu(exp, sum, marker);
}

bool idioms::matchActivation(Operation *anchor, Marker &marker) {
  if (auto erf = dyn_cast<mp::ErfOp>(anchor))
    return matchErfGelu(erf, marker);
  if (auto tanh = dyn_cast<mp::TanhOp>(anchor))
    return matchTanhGelu(tanh, marker);
  if (auto sigmoid = dyn_cast<mp::SigmoidOp>(anchor))
    return matchSigmoidSilu(sigmoid, marker);
  if (auto gate = dyn_cast<mp::HardSigmoidOp>(anchor))
    return matchHardSigmoidSwish(gate, marker);
  if (auto softplus = dyn_cast<mp::SoftplusOp>(anchor))
    return matchMish(softplus, marker);
  if (auto exp = dyn_cast<mp::ExpOp>(anchor))
    return matchExp(exp, marker);
  return isRelu6(anchor) && matchClipSwish(anchor, marker);
}
