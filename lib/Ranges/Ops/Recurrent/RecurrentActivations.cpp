//===- RecurrentActivations.cpp - Activations of gates, by name
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The default activations of ONNX, and what exporters write besides (Keras'
// hard_sigmoid). Of a cell with another one nothing is known.
//
//===----------------------------------------------------------------------===//

#include "RecurrentSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::cells;

static std::optional<UnaryFunction> functionNamed(StringRef name) {
  return llvm::StringSwitch<std::optional<UnaryFunction>>(name)
      .CaseLower("tanh", UnaryFunction::Tanh)
      .CaseLower("sigmoid", UnaryFunction::Sigmoid)
      .CaseLower("relu", UnaryFunction::Relu)
      .CaseLower("hardsigmoid", UnaryFunction::HardSigmoid)
      .Default(std::nullopt);
}

Interval Activation::imageOf(const Interval &x,
                             const ComputeError &error) const {
  Interval inside =
      x.widened(4 * error.format->epsilon(), error.format->minSubnormal);
  FloatRange y = apply(unary, FloatRange::of(inside), error);
  return y.finite.widened(2 * error.format->epsilon());
}

Likely Activation::likelyOf(const Likely &x) const {
  return likely::apply(unary, x);
}

std::optional<SmallVector<Activation, 3>>
cells::readActivations(ArrayAttr names, ArrayRef<double> alphas,
                       ArrayRef<double> betas) {
  SmallVector<Activation, 3> result;
  size_t hard = 0;
  for (StringRef name : names.getAsValueRange<StringAttr>()) {
    std::optional<UnaryFunction> function = functionNamed(name);
    if (!function)
      return std::nullopt;
    Unary unary{*function};
    // The k-th numbers belong to the k-th activation that takes some.
    if (*function == UnaryFunction::HardSigmoid) {
      unary.alpha = hard < alphas.size() ? alphas[hard] : 0.2;
      unary.beta = hard < betas.size() ? betas[hard] : 0.5;
      ++hard;
    }
    result.push_back({unary});
  }
  // Files that hold one number per activation mean them otherwise than
  // runtimes read them.
  auto agrees = [&](ArrayRef<double> list) {
    return list.empty() || list.size() == hard;
  };
  if (!agrees(alphas) || !agrees(betas))
    return std::nullopt;
  return result;
}
