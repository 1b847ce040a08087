//===- RecurrentActivations.cpp - Activations of gates, by name
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and numbers are those of ONNX: an activation that takes a number finds
// its own in a list of all of them.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Infinity.h"

#include "RecurrentSupport.h"

using namespace mlir;
using namespace mpopt;
using namespace mpopt::rows;

Activation Activation::get(StringRef name, std::optional<double> alpha,
                           std::optional<double> beta) {
  std::string lower = name.lower();
  Activation result;
  auto plain = [&](UnaryFunction function) {
    result.unary.function = function;
    return result;
  };
  if (lower == "tanh")
    return plain(UnaryFunction::Tanh);
  if (lower == "sigmoid")
    return plain(UnaryFunction::Sigmoid);
  if (lower == "relu")
    return plain(UnaryFunction::Relu);
  if (lower == "softsign")
    return plain(UnaryFunction::Softsign);
  if (lower == "softplus")
    return plain(UnaryFunction::Softplus);
  if (lower == "leakyrelu") {
    result.unary.alpha = alpha.value_or(0.01);
    return plain(UnaryFunction::LeakyRelu);
  }
  if (lower == "elu") {
    result.unary.alpha = alpha.value_or(1);
    return plain(UnaryFunction::Elu);
  }
  if (lower == "thresholdedrelu") {
    // 1 by default, in ONNX Runtime's cells 0; of the two this holds both.
    if (!alpha)
      return plain(UnaryFunction::Relu);
    result.unary.alpha = *alpha;
    return plain(UnaryFunction::ThresholdedRelu);
  }
  if (lower == "hardsigmoid") {
    result.unary.alpha = alpha.value_or(0.2);
    result.unary.beta = beta.value_or(0.5);
    return plain(UnaryFunction::HardSigmoid);
  }
  if (lower == "scaledtanh" && alpha && beta) {
    result.outer = *alpha;
    result.inner = *beta;
    return plain(UnaryFunction::Tanh);
  }
  if (lower == "affine") {
    result.outer = 1;
    result.inner = alpha.value_or(1);
    result.shift = beta.value_or(0);
    // As it is: abs and relu would lose the sign.
    result.unary.alpha = 1;
    return plain(UnaryFunction::LeakyRelu);
  }
  result.known = false;
  return result;
}

Interval Activation::imageOf(const Interval &x,
                             const ComputeError &error) const {
  if (!known)
    return Interval::whole();
  Interval inside =
      (x * inner + shift).widened(4 * error.unit(), error.format->minSubnormal);
  FloatRange y = apply(unary, FloatRange::of(inside), error);
  // ONNX Runtime's cells compute log(1 + e^x), e^x being Inf from there on.
  if (unary.function == UnaryFunction::Softplus &&
      inside.hi >= std::log(error.format->maxFinite))
    y.finite.hi = kInfinity;
  return (y.finite * outer).widened(2 * error.unit());
}

Likely Activation::likelyOf(const Likely &x) const {
  Likely inside = likely::affine(x, inner, shift);
  return likely::affine(likely::apply(unary, inside), outer, 0);
}

SmallVector<Activation, 3> Sequence::activationsOf(unsigned direction,
                                                   unsigned count) const {
  SmallVector<Activation, 3> result;
  Activation unknown;
  unknown.known = false;
  auto takes = [](StringRef name, bool beta) {
    std::string lower = name.lower();
    if (beta)
      return lower == "affine" || lower == "scaledtanh" ||
             lower == "hardsigmoid";
    return lower == "affine" || lower == "scaledtanh" ||
           lower == "hardsigmoid" || lower == "leakyrelu" || lower == "elu" ||
           lower == "thresholdedrelu";
  };
  size_t withAlpha = 0, withBeta = 0;
  for (Attribute name : activations) {
    withAlpha += takes(cast<StringAttr>(name).getValue(), false);
    withBeta += takes(cast<StringAttr>(name).getValue(), true);
  }
  // The numbers are one per activation that has one, in order, which is what
  // ONNX Runtime reads, too, where files hold one per activation. Those are
  // meant otherwise, so an activation is only known if both readings agree.
  size_t alpha = 0, beta = 0;
  for (auto [index, attribute] : llvm::enumerate(activations)) {
    StringRef name = cast<StringAttr>(attribute).getValue();
    std::optional<double> a, b;
    bool agree = true;
    auto pick = [&](ArrayRef<double> list, size_t with, size_t &next,
                    bool isBeta) -> std::optional<double> {
      if (!takes(name, isBeta))
        return std::nullopt;
      bool perActivation =
          list.size() == activations.size() && list.size() != with;
      std::optional<double> number =
          next < list.size() ? std::optional(list[next++]) : std::nullopt;
      agree &= !perActivation || number == list[index];
      return number;
    };
    a = pick(alphas, withAlpha, alpha, false);
    b = pick(betas, withBeta, beta, true);
    if (index >= direction * count && index < (direction + 1) * count)
      result.push_back(agree ? Activation::get(name, a, b) : unknown);
  }
  result.resize(count, unknown);
  return result;
}
