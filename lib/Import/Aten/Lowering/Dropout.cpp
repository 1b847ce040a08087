//===- Dropout.cpp - Dropout, from aten -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Out of training dropout gives its input itself. Dropout of whole channels
// (feature_dropout) is mp.dropout, too: the same elements in other places.
//
//===----------------------------------------------------------------------===//

#include "Operands.h"
#include "ShapeValues.h"
#include "Subfamilies.h"

#include "mpopt/Dialect/Ops/ElementwiseOps.h"
#include "mpopt/Dialect/Ops/RandomOps.h"

#include <cmath>

using namespace mlir;
using namespace mpopt;
using namespace mpopt::aten;

static StringRef inputName(const NodeContext &context) {
  return oneOf(context, "input", "self");
}

/// native_dropout gives the mask as well, and trains unless told not to.
static LogicalResult lowerDropout(NodeContext &context) {
  Value input = context.tensor(inputName(context));
  double ratio = context.getNumber("p", 0.5);
  if (!input || context.isDynamic("p") || !(ratio >= 0 && ratio <= 1))
    return context.unsupported();
  bool masked = context.numOutputs() == 2;
  bool dynamic = context.isDynamic("train");
  bool training = !dynamic && context.getBool("train", true);
  if (!dynamic && !training && !masked) {
    context.setAlias(0, inputName(context));
    return success();
  }
  Builder &builder = context.builder();
  SmallVector<Type> types = context.unknownTypes(1);
  if (masked)
    types.push_back(getTensorType(std::nullopt, builder.getI1Type()));
  auto op = context.makeTyped<mp::DropoutOp>(
      types, input, Value(), dynamic ? context.tensor("train") : Value(),
      builder.getF64FloatAttr(ratio),
      training ? builder.getUnitAttr() : UnitAttr(), IntegerAttr());
  context.setOutput(0, op.getResult());
  if (masked)
    context.setOutput(1, op.getMask());
  return success();
}

/// Mean and variance of a normal variable stay: a (x or -alpha') + b, see
/// aten/src/ATen/native/Dropout.cpp.
static LogicalResult lowerAlphaDropout(NodeContext &context) {
  StringRef name = inputName(context);
  Value input = context.tensor(name);
  std::optional<double> ratio = context.findNumber("p");
  if (!input || !ratio || *ratio < 0 || *ratio >= 1 ||
      context.isDynamic("train"))
    return context.unsupported();
  if (!context.getBool("train")) {
    context.setAlias(0, name);
    return success();
  }
  const double alpha = 1.7580993408473766;
  double p = *ratio, scale = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  Value factor = constantLike(context, scale, input),
        shift = constantLike(context, alpha * scale * p, input),
        dropped = constantLike(context, alpha * scale * (p - 1), input),
        zero = constantLike(context, 0, input);
  if (!factor || isIntegral(input))
    return context.unsupported();
  Value probabilities = fill(context, shapeValue(context, input), 1 - p,
                             context.builder().getF32Type());
  Value kept =
      context
          .makeTyped<mp::BernoulliOp>(
              {getTensorType(getShape(input), context.builder().getI1Type())},
              probabilities, FloatAttr())
          .getResult();
  Value scaled =
      context.make<mp::AddOp>(context.make<mp::MulOp>(input, factor), shift);
  // Dropped elements are multiplied by 0: Inf and NaN then give NaN.
  dropped =
      context.make<mp::AddOp>(context.make<mp::MulOp>(input, zero), dropped);
  context.setOutput(0, context.make<mp::WhereOp>(kept, scaled, dropped));
  return success();
}

void mpopt::aten::registerDropout(LoweringRegistry &registry) {
  registry.add({"dropout", "feature_dropout", "native_dropout"}, lowerDropout);
  registry.add({"alpha_dropout", "feature_alpha_dropout"}, lowerAlphaDropout);
}
