//===- Elementwise.cpp - Elementwise arithmetic, from ONNX ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Import/Onnx/Lowering.h"

#include "Classic.h"
#include "Legacy.h"
#include "LegacyBroadcast.h"

#include "mpopt/Import/FunctionOps.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::onnx_import;

template <typename OpT> static LogicalResult lowerUnary(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0)));
  return success();
}

template <typename OpT> static LogicalResult lowerBinary(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  FailureOr<Value> rhs = getBroadcastOperand(ctx);
  if (failed(rhs))
    return failure();
  if (!*rhs)
    return ctx.unsupported();
  ctx.setOutput(0, ctx.make<OpT>(ctx.input(0), *rhs));
  return success();
}

template <typename OpT> static LogicalResult lowerVariadic(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  ctx.setOutput(0, ctx.make<OpT>(ctx.inputs()));
  return success();
}

static LogicalResult lowerIsInf(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  Builder &builder = ctx.builder();
  ctx.setOutput(0,
                ctx.make<mp::IsInfOp>(
                    ctx.input(0),
                    builder.getBoolAttr(ctx.getFlag("detect_negative", true)),
                    builder.getBoolAttr(ctx.getFlag("detect_positive", true))));
  return success();
}

static LogicalResult lowerMod(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  ctx.setOutput(
      0, ctx.make<mp::ModOp>(ctx.input(0), ctx.input(1), ctx.getFlag("fmod")));
  return success();
}

static LogicalResult lowerBitShift(NodeContext &ctx) {
  if (failed(ctx.requireInputs(2)))
    return failure();
  StringRef direction = ctx.getString("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return ctx.error("direction must be LEFT or RIGHT, not '" + direction +
                     "'");
  return direction == "LEFT" ? lowerBinary<mp::ShiftLeftOp>(ctx)
                             : lowerBinary<mp::ShiftRightOp>(ctx);
}

static LogicalResult lowerWhere(NodeContext &ctx) {
  if (failed(ctx.requireInputs(3)))
    return failure();
  ctx.setOutput(
      0, ctx.make<mp::WhereOp>(ctx.input(0), ctx.input(1), ctx.input(2)));
  return success();
}

/// Bounds are attributes before opset 11. Their defaults then, the ends of f32,
/// say that there is no bound.
static LogicalResult lowerClip(NodeContext &ctx) {
  if (failed(ctx.requireInputs(1)))
    return failure();
  Value low = ctx.input(1), high = ctx.input(2);
  if (ctx.opset() < 11) {
    Type element = getElementType(ctx.input(0));
    std::optional<double> min = ctx.findFloat("min"),
                          max = ctx.findFloat("max");
    if ((min || max) && !isa<FloatType, IntegerType>(element))
      return ctx.unsupported();
    low = min ? ctx.makeScalar(*min, element) : Value();
    high = max ? ctx.makeScalar(*max, element) : Value();
  }
  ctx.setOutput(0, ctx.make<mp::ClipOp>(ctx.input(0), low, high));
  return success();
}

/// A name of another domain than ai.onnx has it in front, as DOMAIN::TYPE.
static void registerFunctions(LoweringRegistry &registry) {
  visitFunctionOps([&]<typename OpT>(std::type_identity<OpT>, UnaryFunction) {
    for (StringRef name : OpT::getStaticNames(Framework::Onnx)) {
      auto [domain, type] = name.split("::");
      if (type.empty())
        std::swap(domain, type);
      registry.add(domain, type, lowerUnary<OpT>);
    }
  });
}

/// Ops that differ in name only.
static void registerPlain(LoweringRegistry &registry) {
  const std::pair<StringRef, Lowering> table[] = {
      {"BitwiseNot", lowerUnary<mp::BitwiseNotOp>},
      {"IsNaN", lowerUnary<mp::IsNanOp>},
      {"Not", lowerUnary<mp::LogicalNotOp>},

      {"Add", lowerBinary<mp::AddOp>},
      {"And", lowerBinary<mp::LogicalAndOp>},
      {"BitwiseAnd", lowerBinary<mp::BitwiseAndOp>},
      {"BitwiseOr", lowerBinary<mp::BitwiseOrOp>},
      {"BitwiseXor", lowerBinary<mp::BitwiseXorOp>},
      {"Div", lowerBinary<mp::DivOp>},
      {"Equal", lowerBinary<mp::EqualOp>},
      {"Greater", lowerBinary<mp::GreaterOp>},
      {"GreaterOrEqual", lowerBinary<mp::GreaterEqualOp>},
      {"Less", lowerBinary<mp::LessOp>},
      {"LessOrEqual", lowerBinary<mp::LessEqualOp>},
      {"Mul", lowerBinary<mp::MulOp>},
      {"Or", lowerBinary<mp::LogicalOrOp>},
      {"Pow", lowerBinary<mp::PowOp>},
      {"Sub", lowerBinary<mp::SubOp>},
      {"Xor", lowerBinary<mp::LogicalXorOp>},

      {"Max", lowerVariadic<mp::MaxOp>},
      {"Mean", lowerVariadic<mp::MeanNOp>},
      {"Min", lowerVariadic<mp::MinOp>},
      {"Sum", lowerVariadic<mp::AddNOp>},
  };
  for (const auto &[type, lowering] : table)
    registry.add(type, lowering);
}

void onnx_import::registerElementwiseLowerings(LoweringRegistry &registry) {
  registerFunctions(registry);
  registerPlain(registry);
  registry.add("BitShift", lowerBitShift);
  registry.add("Clip", lowerClip);
  registry.add("IsInf", lowerIsInf);
  registry.add("Mod", lowerMod);
  registry.add("Where", lowerWhere);
  registerFeatureLowerings(registry);
  registerLegacyLowerings(registry);
  registerTreeLowerings(registry);
}
