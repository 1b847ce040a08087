//===- ElementwiseComposites.cpp - Elementwise ops of several steps -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that mp has no op of their own for, in the steps that PyTorch computes
// them in (aten/src/ATen/native: BinaryOps.cpp, UnaryOps.cpp,
// PointwiseOps.cpp), so that what overflows here overflows there. hypot, sinc
// and the like are not here: their plain formulas fail where PyTorch's kernels
// do not.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ActivationOps.h"
#include "mpopt/Dialect/Ops/ElementwiseOps.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// Three operands
//===----------------------------------------------------------------------===//

/// self + value * tensor1 (times, by) tensor2
template <typename OpT> static LogicalResult lowerAddc(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "tensor1", "tensor2"});
  if (!operands || context.isDynamic("value"))
    return context.unsupported();
  context.setOutput(
      0, context.make<OpT>((*operands)[0], (*operands)[1], (*operands)[2],
                           APFloat(context.getNumber("value", 1))));
  return success();
}

static LogicalResult lowerLerp(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "end", "weight"});
  if (!operands)
    return context.unsupported();
  context.setOutput(0, context.make<mp::LerpOp>((*operands)[0], (*operands)[1],
                                                (*operands)[2]));
  return success();
}

/// x <= threshold ? value : x, so that NaN stays
static LogicalResult lowerThreshold(NodeContext &context) {
  Value input = context.tensor("self");
  std::optional<double> threshold = context.findNumber("threshold");
  if (!input || isa<ComplexType>(getElementType(input)))
    return context.unsupported();
  if (threshold && context.findNumber("value") == 0 && !isIntegral(input)) {
    context.setOutput(
        0, context.make<mp::ThresholdedReluOp>(input, APFloat(*threshold)));
    return success();
  }
  Value limit = numberLike(context, "threshold", input),
        value = numberLike(context, "value", input);
  if (!limit || !value)
    return context.unsupported();
  Value below = context.make<mp::LessEqualOp>(input, limit);
  context.setOutput(0, context.make<mp::WhereOp>(below, value, input));
  return success();
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

/// fmax, fmin: a NaN yields to the other operand.
template <typename OpT> static LogicalResult lowerFmax(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands)
    return context.unsupported();
  Value lhs = (*operands)[0], rhs = (*operands)[1];
  Value result = context.make<OpT>(*operands);
  if (!isIntegral(result)) {
    Value left = context.make<mp::IsNanOp>(lhs);
    Value right = context.make<mp::IsNanOp>(rhs);
    result = context.make<mp::WhereOp>(right, lhs, result);
    result = context.make<mp::WhereOp>(left, rhs, result);
  }
  context.setOutput(0, result);
  return success();
}

/// max(a, b) + log(1 + exp(-|a - b|)), as the kernels have it
/// (LogAddExpKernel.cu, BinaryOpsKernel.cpp).
template <typename ExpT, typename LogT>
static LogicalResult lowerLogAddExp(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"}, true);
  if (!operands)
    return context.unsupported();
  Value largest = context.make<mp::MaxOp>(*operands);
  Value one = constantLike(context, 1, largest);
  if (!one)
    return context.unsupported();
  Value difference = context.make<mp::AbsOp>(
      context.make<mp::SubOp>((*operands)[0], (*operands)[1]));
  Value small = context.make<ExpT>(context.make<mp::NegOp>(difference));
  Value log = context.make<LogT>(context.make<mp::AddOp>(small, one));
  context.setOutput(0, context.make<mp::AddOp>(largest, log));
  return success();
}

/// x * log(y), or with log1p; 0 where x is 0 and y is a number.
template <typename LogT> static LogicalResult lowerXLogY(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"}, true);
  if (!operands)
    return context.unsupported();
  Value factor = (*operands)[0], number = (*operands)[1];
  Value zero = constantLike(context, 0, factor);
  if (!zero)
    return context.unsupported();
  Value product = context.make<mp::MulOp>(factor, context.make<LogT>(number));
  Value isZero = context.make<mp::EqualOp>(factor, zero);
  Value result = context.make<mp::WhereOp>(isZero, zero, product);
  context.setOutput(0, context.make<mp::WhereOp>(
                           context.make<mp::IsNanOp>(number), number, result));
  return success();
}

/// self * 2^other. The power is computed in the exponent's dtype; an integer
/// exponent leaves the input's alone.
static LogicalResult lowerLdexp(NodeContext &context) {
  Value input = context.tensor("self"), exponent = context.tensor("other");
  if (!input || !exponent || isUnknown(getElementType(input)) ||
      isUnknown(getElementType(exponent)))
    return context.unsupported();
  Value power;
  if (isIntegral(exponent)) {
    input = context.toFloat(input);
    power =
        context.make<mp::Exp2Op>(context.cast(exponent, getElementType(input)));
  } else {
    auto operands = promoteAll(context, {"self", "other"}, true);
    if (!operands)
      return context.unsupported();
    input = (*operands)[0];
    power =
        context.cast(context.make<mp::Exp2Op>(exponent), getElementType(input));
  }
  context.setOutput(0, context.make<mp::MulOp>(input, power));
  return success();
}

/// x < 0 ? 0 : x > 0 ? 1 : values
static LogicalResult lowerHeaviside(NodeContext &context) {
  Value input = context.tensor("self"), middle = context.tensor("values");
  if (!input || !middle || getElementType(input) != getElementType(middle))
    return context.unsupported();
  Value zero = constantLike(context, 0, input),
        one = constantLike(context, 1, input);
  if (!zero)
    return context.unsupported();
  Value above = context.make<mp::WhereOp>(
      context.make<mp::GreaterOp>(input, zero), one, zero);
  context.setOutput(
      0, context.make<mp::WhereOp>(context.make<mp::EqualOp>(input, zero),
                                   middle, above));
  return success();
}

/// |a| with the sign of b.
static LogicalResult lowerCopySign(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"}, true);
  Value zero = operands ? constantLike(context, 0, (*operands)[1]) : Value();
  if (!zero)
    return context.unsupported();
  Value size = context.make<mp::AbsOp>((*operands)[0]);
  Value negative = context.make<mp::LessOp>((*operands)[1], zero);
  context.setOutput(0, context.make<mp::WhereOp>(
                           negative, context.make<mp::NegOp>(size), size));
  return success();
}

/// relu(self + alpha * other)
static LogicalResult lowerAddRelu(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands || (context.has("alpha") && context.findNumber("alpha") != 1))
    return context.unsupported();
  context.setOutput(0, context.make<mp::ReluOp>(context.make<mp::AddOp>(
                           (*operands)[0], (*operands)[1])));
  return success();
}

/// |a - b| <= atol + rtol |b|, or equal
static LogicalResult lowerIsClose(NodeContext &context) {
  Value lhs = context.tensor("self"), rhs = context.tensor("other");
  if (!lhs || !rhs || getElementType(lhs) != getElementType(rhs))
    return context.unsupported();
  lhs = context.toFloat(lhs);
  rhs = context.toFloat(rhs);
  Value rtol = numberLike(context, "rtol", lhs),
        atol = numberLike(context, "atol", lhs);
  if (!rtol || !atol)
    return context.unsupported();
  Value allowed = context.make<mp::AddOp>(
      atol, context.make<mp::MulOp>(rtol, context.make<mp::AbsOp>(rhs)));
  Value error = context.make<mp::AbsOp>(context.make<mp::SubOp>(lhs, rhs));
  Value result = context.make<mp::LogicalOrOp>(
      context.make<mp::EqualOp>(lhs, rhs),
      context.make<mp::LogicalAndOp>(
          context.make<mp::IsFiniteOp>(error),
          context.make<mp::LessEqualOp>(error, allowed)));
  if (context.getBool("equal_nan"))
    result = context.make<mp::LogicalOrOp>(
        result, context.make<mp::LogicalAndOp>(context.make<mp::IsNanOp>(lhs),
                                               context.make<mp::IsNanOp>(rhs)));
  context.setOutput(0, result);
  return success();
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// x * Factor / Divisor as one factor (`deg2rad`).
template <bool ToRadians>
static LogicalResult lowerDegrees(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  input = context.toFloat(input);
  double factor = llvm::numbers::pi / 180;
  Value scale = constantLike(context, ToRadians ? factor : 1 / factor, input);
  if (!scale)
    return context.unsupported();
  context.setOutput(0, context.make<mp::MulOp>(input, scale));
  return success();
}

static LogicalResult lowerFrac(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::SubOp>(input, context.make<mp::TruncOp>(input)));
  return success();
}

/// The sign bit as x < 0, which is false for -0.0.
static LogicalResult lowerSignbit(NodeContext &context) {
  Value input = context.tensor("self");
  Value zero = input ? constantLike(context, 0, input) : Value();
  if (!zero)
    return context.unsupported();
  context.setOutput(0, context.make<mp::LessOp>(input, zero));
  return success();
}

/// To `decimals` places: scaled, rounded, scaled back.
static LogicalResult lowerRound(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("decimals"))
    return context.unsupported();
  int64_t decimals = context.getInt("decimals", 0);
  if (decimals == 0 || isIntegral(input)) {
    context.setOutput(0, context.make<mp::RoundOp>(input));
    return success();
  }
  Value scale =
      constantLike(context, std::pow(10.0, double(std::abs(decimals))), input);
  if (!scale)
    return context.unsupported();
  Value scaled = decimals > 0 ? context.make<mp::MulOp>(input, scale)
                              : context.make<mp::DivOp>(input, scale);
  Value rounded = context.make<mp::RoundOp>(scaled);
  context.setOutput(0, decimals > 0 ? context.make<mp::DivOp>(rounded, scale)
                                    : context.make<mp::MulOp>(rounded, scale));
  return success();
}

/// log(x / (1 - x)), x kept in [eps, 1 - eps]
static LogicalResult lowerLogit(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || context.isDynamic("eps"))
    return context.unsupported();
  input = context.toFloat(input);
  Value one = constantLike(context, 1, input);
  if (!one)
    return context.unsupported();
  if (std::optional<double> epsilon = context.findNumber("eps");
      epsilon && *epsilon >= 0)
    input =
        context.make<mp::ClipOp>(input, constantLike(context, *epsilon, input),
                                 constantLike(context, 1 - *epsilon, input));
  Value odds =
      context.make<mp::DivOp>(input, context.make<mp::SubOp>(one, input));
  context.setOutput(0, context.make<mp::LogOp>(odds));
  return success();
}

/// (1 + erf(x / sqrt(2))) / 2
static LogicalResult lowerNdtr(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  input = context.toFloat(input);
  Value root = constantLike(context, llvm::numbers::inv_sqrt2, input),
        one = constantLike(context, 1, input),
        half = constantLike(context, 0.5, input);
  if (!root)
    return context.unsupported();
  Value error = context.make<mp::ErfOp>(context.make<mp::MulOp>(input, root));
  context.setOutput(
      0, context.make<mp::MulOp>(half, context.make<mp::AddOp>(one, error)));
  return success();
}

/// NaN becomes 0 and infinities the ends of the dtype, unless said otherwise.
static LogicalResult lowerNanToNum(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  if (isIntegral(input)) {
    context.setOutput(0, input);
    return success();
  }
  auto element = dyn_cast<FloatType>(getElementType(input));
  if (!element || context.isDynamic("nan") || context.isDynamic("posinf") ||
      context.isDynamic("neginf"))
    return context.unsupported();
  double largest =
      APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
  auto replace = [&](Value condition, StringRef name, double otherwise) {
    Value value =
        constantLike(context, context.getNumber(name, otherwise), input);
    input = context.make<mp::WhereOp>(condition, value, input);
  };
  Value isNan = context.make<mp::IsNanOp>(input),
        isTop = context.make<mp::IsInfOp>(input, false, true),
        isBottom = context.make<mp::IsInfOp>(input, true, false);
  replace(isNan, "nan", 0);
  replace(isTop, "posinf", largest);
  replace(isBottom, "neginf", -largest);
  context.setOutput(0, input);
  return success();
}

void mpopt::aten::registerElementwiseComposites(LoweringRegistry &registry) {
  registry.add("addcmul", lowerAddc<mp::AddcmulOp>);
  registry.add("addcdiv", lowerAddc<mp::AddcdivOp>);
  registry.add("lerp", lowerLerp);
  registry.add("threshold", lowerThreshold);
  registry.add("fmax", lowerFmax<mp::MaxOp>);
  registry.add("fmin", lowerFmax<mp::MinOp>);
  registry.add("logaddexp", lowerLogAddExp<mp::ExpOp, mp::LogOp>);
  registry.add("logaddexp2", lowerLogAddExp<mp::Exp2Op, mp::Log2Op>);
  registry.add({"xlogy", "special_xlogy"}, lowerXLogY<mp::LogOp>);
  registry.add("special_xlog1py", lowerXLogY<mp::Log1pOp>);
  registry.add("ldexp", lowerLdexp);
  registry.add("heaviside", lowerHeaviside);
  registry.add("isclose", lowerIsClose);
  registry.add("copysign", lowerCopySign);
  registry.add("_add_relu", lowerAddRelu);
  registry.add("deg2rad", lowerDegrees<true>);
  registry.add("rad2deg", lowerDegrees<false>);
  registry.add("frac", lowerFrac);
  registry.add("signbit", lowerSignbit);
  registry.add({"round", "special_round"}, lowerRound);
  registry.add({"logit", "special_logit"}, lowerLogit);
  registry.add("special_ndtr", lowerNdtr);
  registry.add("nan_to_num", lowerNanToNum);
}
