//===- FunctionOf.cpp - The function of one number that an op is
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Value/FunctionOf.h"

#include "mpopt/Dialect/Roles.h"
#include "mpopt/Numerics/FunctionTable.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace mpopt;

/// An attribute of that name picks the form of a function: `gelu_tanh`.
static constexpr StringLiteral kApproximate = "approximate";

static std::optional<Unary> makeFunction(Operation *op, StringRef mnemonic) {
  std::optional<UnaryFunction> function = parseUnaryFunction(mnemonic);
  if (!function)
    return std::nullopt;
  if (auto form = op->getAttrOfType<StringAttr>(kApproximate);
      form && form.getValue() != "none")
    function = parseUnaryFunction((mnemonic + "_" + form.getValue()).str());
  if (!function)
    return std::nullopt;
  const NumberNames &names = function->row().numbers;
  Unary unary{*function};
  auto read = [&](StringRef name, double &number) {
    if (name.empty())
      return;
    if (auto attribute = op->getAttrOfType<FloatAttr>(name))
      number = attribute.getValueAsDouble();
  };
  read(names.alpha, unary.alpha);
  read(names.beta, unary.beta);
  read(names.threshold, unary.threshold);
  return unary;
}

std::optional<Unary> mpopt::getFunction(Operation *op) {
  return makeFunction(op, op->getName().stripDialect());
}

std::optional<Unary> mpopt::getFunctionOfGradient(Operation *op) {
  auto meaning = dyn_cast<OpMeaningInterface>(op);
  return meaning ? makeFunction(op, meaning.getMeaning().gradientOf)
                 : std::nullopt;
}
