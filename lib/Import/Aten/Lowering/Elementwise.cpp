//===- Elementwise.cpp - Elementwise arithmetic, from aten ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that are one mp op once their operands have PyTorch's common dtype.
// Not covered, left to mp.opaque: special functions that mp has no op for
// (gamma, Bessel, zeta), and what splits complex numbers.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "Subfamilies.h"

#include "mpopt/Import/FunctionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

/// Integers become floats first.
template <typename OpT> static LogicalResult lowerFloat(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<OpT>(context.toFloat(input)));
  return success();
}

/// The absolute value of a complex number is real, which mp.abs cannot express.
static LogicalResult lowerAbs(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input || isa<ComplexType>(getElementType(input)))
    return context.unsupported();
  context.setOutput(0, context.make<mp::AbsOp>(input));
  return success();
}

/// x^2 by the number 2: a bool becomes an integer.
static LogicalResult lowerSquare(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  if (getElementType(input).isSignlessInteger(1))
    input = context.cast(input, context.builder().getI64Type());
  context.setOutput(0, context.make<mp::SquareOp>(input));
  return success();
}

/// Numbers count as true where they are not 0.
static Value toBool(NodeContext &context, Value value) {
  return context.cast(value, context.builder().getI1Type());
}

static LogicalResult lowerLogicalNot(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<mp::LogicalNotOp>(toBool(context, input)));
  return success();
}

static LogicalResult lowerBitwiseNot(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  bool isBool = getElementType(input).isSignlessInteger(1);
  context.setOutput(0, isBool ? context.make<mp::LogicalNotOp>(input)
                              : context.make<mp::BitwiseNotOp>(input));
  return success();
}

template <bool Negative, bool Positive>
static LogicalResult lowerIsInf(NodeContext &context) {
  Value input = context.tensor("self");
  if (!input)
    return context.unsupported();
  context.setOutput(0, context.make<mp::IsInfOp>(input, Negative, Positive));
  return success();
}

static LogicalResult lowerAlias(NodeContext &context) {
  context.setAlias(0, "self");
  return success();
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

template <typename OpT, bool ToFloat = false>
static LogicalResult lowerBinary(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"}, ToFloat);
  if (!operands)
    return context.unsupported();
  Type stored = widenForNumbers(context, {"self", "other"}, *operands);
  Value result = context.make<OpT>((*operands)[0], (*operands)[1]);
  context.setOutput(0, narrowBack(context, result, stored));
  return success();
}

/// lhs + alpha * rhs, or the difference; a sum of bools is their `or`.
template <typename OpT>
static LogicalResult makeSum(NodeContext &context, StringRef first,
                             StringRef second) {
  auto operands = promoteAll(context, {first, second});
  if (!operands)
    return context.unsupported();
  Type stored = widenForNumbers(context, {first, second}, *operands);
  Value lhs = (*operands)[0], rhs = (*operands)[1];
  if (context.has("alpha") && context.findNumber("alpha") != 1) {
    Value alpha = numberLike(context, "alpha", rhs);
    if (!alpha)
      return context.unsupported();
    rhs = context.make<mp::MulOp>(rhs, alpha);
  }
  bool isBool = getElementType(lhs).isSignlessInteger(1) &&
                getElementType(rhs).isSignlessInteger(1);
  Value result = isBool ? context.make<mp::LogicalOrOp>(lhs, rhs)
                        : context.make<OpT>(lhs, rhs);
  context.setOutput(0, narrowBack(context, result, stored));
  return success();
}

static LogicalResult lowerAdd(NodeContext &context) {
  return makeSum<mp::AddOp>(context, "self", "other");
}
static LogicalResult lowerSub(NodeContext &context) {
  return makeSum<mp::SubOp>(context, "self", "other");
}
static LogicalResult lowerRsub(NodeContext &context) {
  return makeSum<mp::SubOp>(context, "other", "self");
}

/// True division unless a rounding mode says otherwise.
static LogicalResult lowerDiv(NodeContext &context) {
  if (!context.has("rounding_mode"))
    return lowerBinary<mp::DivOp, true>(context);
  std::optional<StringRef> mode = context.findString("rounding_mode");
  if (mode == "floor")
    return lowerBinary<mp::FloorDivOp>(context);
  if (mode != "trunc")
    return context.unsupported();
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands)
    return context.unsupported();
  Type stored = widenForNumbers(context, {"self", "other"}, *operands);
  Value quotient = context.make<mp::DivOp>((*operands)[0], (*operands)[1]);
  if (!isIntegral(quotient))
    quotient = context.make<mp::TruncOp>(quotient);
  context.setOutput(0, narrowBack(context, quotient, stored));
  return success();
}

/// The kernels round a number to the tensor's dtype first.
template <bool CStyle> static LogicalResult lowerMod(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands)
    return context.unsupported();
  context.setOutput(
      0, context.make<mp::ModOp>((*operands)[0], (*operands)[1], CStyle));
  return success();
}

static LogicalResult lowerPow(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "exponent"});
  if (!operands)
    return context.unsupported();
  context.setOutput(0, context.make<mp::PowOp>((*operands)[0], (*operands)[1]));
  return success();
}

/// Always in double.
static LogicalResult lowerFloatPower(NodeContext &context) {
  Value base = context.tensor("self"), exponent = context.tensor("exponent");
  if (!base || !exponent || isa<ComplexType>(getElementType(base)) ||
      isa<ComplexType>(getElementType(exponent)))
    return context.unsupported();
  Type f64 = context.builder().getF64Type();
  context.setOutput(0, context.make<mp::PowOp>(context.cast(base, f64),
                                               context.cast(exponent, f64)));
  return success();
}

template <typename OpT>
static LogicalResult lowerExtremum(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands)
    return context.unsupported();
  context.setOutput(0, context.make<OpT>(*operands));
  return success();
}

template <typename OpT>
static LogicalResult lowerLogical(NodeContext &context) {
  Value lhs = context.tensor("self"), rhs = context.tensor("other");
  if (!lhs || !rhs)
    return context.unsupported();
  context.setOutput(
      0, context.make<OpT>(toBool(context, lhs), toBool(context, rhs)));
  return success();
}

/// Bools have logical ops.
template <typename BitsT, typename LogicT>
static Value makeBitwise(NodeContext &context) {
  auto operands = promoteAll(context, {"self", "other"});
  if (!operands)
    return {};
  Value lhs = (*operands)[0], rhs = (*operands)[1];
  if (!isIntegral(lhs) && !isUnknown(getElementType(lhs)))
    return {};
  return getElementType(lhs).isSignlessInteger(1)
             ? context.make<LogicT>(lhs, rhs)
             : context.make<BitsT>(lhs, rhs);
}

template <typename BitsT, typename LogicT>
static LogicalResult lowerBitwise(NodeContext &context) {
  Value result = makeBitwise<BitsT, LogicT>(context);
  if (!result)
    return context.unsupported();
  context.setOutput(0, result);
  return success();
}

/// `__iand__`: in place, without the `_` at the end that says so.
template <typename BitsT, typename LogicT>
static LogicalResult lowerBitwiseInPlace(NodeContext &context) {
  Value result = makeBitwise<BitsT, LogicT>(context);
  if (!result)
    return context.unsupported();
  context.write("self", result);
  context.setAlias(0, "self");
  return success();
}

//===----------------------------------------------------------------------===//
// Bounds, choice
//===----------------------------------------------------------------------===//

/// Bounds take part in promotion: an integer with a float bound is a float.
static LogicalResult lowerClamp(NodeContext &context) {
  SmallVector<Value> operands = context.promote({"self", "min", "max"});
  for (auto [value, name] :
       llvm::zip(operands, ArrayRef<StringRef>{"self", "min", "max"}))
    if (!value && (name == "self" || context.has(name)))
      return context.unsupported();
  context.setOutput(
      0, context.make<mp::ClipOp>(operands[0], operands[1], operands[2]));
  return success();
}

static LogicalResult lowerWhere(NodeContext &context) {
  Value condition = context.tensor("condition");
  auto operands = promoteAll(context, {"self", "other"});
  if (!condition || !operands)
    return context.unsupported();
  context.setOutput(0,
                    context.make<mp::WhereOp>(toBool(context, condition),
                                              (*operands)[0], (*operands)[1]));
  return success();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// An integer stays one where the function of it is one. Lowerings that are
/// registered later replace these.
static void registerFunctions(LoweringRegistry &registry) {
  visitFunctionOps(
      [&]<typename OpT>(std::type_identity<OpT>, UnaryFunction function) {
        const FunctionFacts &facts = function.row().facts;
        bool staysIntegral = facts.integral || facts.keepsIntegers;
        for (StringRef name : OpT::getStaticNames(Framework::PyTorch))
          registry.add(name, staysIntegral ? lowerUnary<OpT> : lowerFloat<OpT>);
      });
}

/// Functions that dtypes make a difference to, and what gives or takes bools.
static void registerUnary(LoweringRegistry &registry) {
  registry.add({"abs", "absolute"}, lowerAbs);
  registry.add("square", lowerSquare);
  registry.add("positive", lowerAlias);

  registry.add("logical_not", lowerLogicalNot);
  registry.add("bitwise_not", lowerBitwiseNot);
  registry.add("isnan", lowerUnary<mp::IsNanOp>);
  registry.add("isfinite", lowerUnary<mp::IsFiniteOp>);
  registry.add("isinf", lowerIsInf<true, true>);
  registry.add("isposinf", lowerIsInf<false, true>);
  registry.add("isneginf", lowerIsInf<true, false>);
}

static void registerBinary(LoweringRegistry &registry) {
  registry.add("add", lowerAdd);
  registry.add({"sub", "subtract"}, lowerSub);
  registry.add("rsub", lowerRsub);
  registry.add({"mul", "multiply"}, lowerBinary<mp::MulOp>);
  registry.add({"div", "divide"}, lowerDiv);
  registry.add("true_divide", lowerBinary<mp::DivOp, true>);
  registry.add("floor_divide", lowerBinary<mp::FloorDivOp>);
  registry.add("remainder", lowerMod<false>);
  registry.add("fmod", lowerMod<true>);
  registry.add("pow", lowerPow);
  registry.add("float_power", lowerFloatPower);
  registry.add({"atan2", "arctan2"}, lowerBinary<mp::Atan2Op, true>);
  registry.add({"maximum", "max.other"}, lowerExtremum<mp::MaxOp>);
  registry.add({"minimum", "min.other"}, lowerExtremum<mp::MinOp>);

  registry.add("eq", lowerBinary<mp::EqualOp>);
  registry.add({"ne", "not_equal"}, lowerBinary<mp::NotEqualOp>);
  registry.add({"lt", "less"}, lowerBinary<mp::LessOp>);
  registry.add({"le", "less_equal"}, lowerBinary<mp::LessEqualOp>);
  registry.add({"gt", "greater"}, lowerBinary<mp::GreaterOp>);
  registry.add({"ge", "greater_equal"}, lowerBinary<mp::GreaterEqualOp>);

  registry.add("logical_and", lowerLogical<mp::LogicalAndOp>);
  registry.add("logical_or", lowerLogical<mp::LogicalOrOp>);
  registry.add("logical_xor", lowerLogical<mp::LogicalXorOp>);
  registry.add({"bitwise_and", "__and__"},
               lowerBitwise<mp::BitwiseAndOp, mp::LogicalAndOp>);
  registry.add({"bitwise_or", "__or__"},
               lowerBitwise<mp::BitwiseOrOp, mp::LogicalOrOp>);
  registry.add({"bitwise_xor", "__xor__"},
               lowerBitwise<mp::BitwiseXorOp, mp::LogicalXorOp>);
  registry.add({"bitwise_left_shift", "__lshift__"},
               lowerBitwise<mp::ShiftLeftOp, mp::ShiftLeftOp>);
  registry.add({"bitwise_right_shift", "__rshift__"},
               lowerBitwise<mp::ShiftRightOp, mp::ShiftRightOp>);
  registry.add("__iand__",
               lowerBitwiseInPlace<mp::BitwiseAndOp, mp::LogicalAndOp>);
  registry.add("__ior__",
               lowerBitwiseInPlace<mp::BitwiseOrOp, mp::LogicalOrOp>);
  registry.add("__ixor__",
               lowerBitwiseInPlace<mp::BitwiseXorOp, mp::LogicalXorOp>);
  registry.add("__ilshift__",
               lowerBitwiseInPlace<mp::ShiftLeftOp, mp::ShiftLeftOp>);
  registry.add("__irshift__",
               lowerBitwiseInPlace<mp::ShiftRightOp, mp::ShiftRightOp>);
}

void mpopt::aten::registerElementwise(LoweringRegistry &registry) {
  registerFunctions(registry);
  registerUnary(registry);
  registerBinary(registry);
  registry.add({"clamp", "clip", "clamp_min", "clamp_max"}, lowerClamp);
  registry.add("where", lowerWhere);
  registerElementwiseComposites(registry);
  registerComplex(registry);
  registerSignal(registry);
  registerConversion(registry);
}
