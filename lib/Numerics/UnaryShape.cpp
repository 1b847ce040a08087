//===- UnaryShape.cpp - What a function's image needs to know
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// glibc's functions are within 5.2 ulp of a double (erfc; most within 1:
// Zimmermann et al., "Accuracy of Mathematical Functions in Single, Double,
// Double Extended, and Quadruple Precision", and the table in its manual). For
// double those figures are the worst found, not proven; the margin of 2^-48, 16
// ulp, leaves room and is nothing beside the formats analysed.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Infinity.h"

#include "UnaryShape.h"

#include <cmath>
#include <numbers>

using namespace mpopt;
using F = UnaryFunction;

static constexpr double kTiny = std::numeric_limits<double>::denorm_min();
static constexpr double kBelowOne = 1 - 0x1p-53;
static constexpr double kLibm = 0x1p-48, kComposite = 0x1p-40;
static constexpr double kPi = std::numbers::pi;

/// `ulps`, then units of 1, then units of the input up to the cap.
static KernelError units(double ulps, double unitUlps = 0, double inputUlps = 0,
                         double inputCap = 0) {
  KernelError error;
  error.ulps = ulps;
  error.unitUlps = unitUlps;
  error.inputUlps = inputUlps;
  error.inputCap = inputCap;
  return error;
}

UnaryShape mpopt::getShape(const Unary &unary) {
  UnaryShape shape;
  double alpha = std::fabs(unary.alpha), beta = std::fabs(unary.beta);
  auto libm = [&](double ulps, Interval range = Interval::whole(),
                  bool growsFromZero = false) {
    shape.margin = kLibm;
    shape.kernel = units(ulps);
    shape.range = range;
    shape.growsFromZero = growsFromZero;
  };
  switch (unary.function) {
  case F::Abs:
  case F::Neg:
  case F::Square:
    shape.growsFromZero = shape.keepsIntegers = true;
    break;
  case F::Sign:
  case F::Floor:
  case F::Ceil:
  case F::Round:
  case F::Trunc:
    shape.integral = true;
    break;
  case F::Sqrt:
    shape.domain = {0, kInfinity};
    shape.growsFromZero = true;
    break;
  case F::Rsqrt:
    shape.domain = {kTiny, kInfinity};
    shape.poles = {{0, true, true}};
    shape.kernel = units(2);
    break;
  case F::Reciprocal:
    shape.poles = {{0, true, true}};
    break;
  case F::Exp:
  case F::Exp2:
    libm(4, {0, kInfinity});
    break;
  case F::Expm1:
    libm(4, {-1, kInfinity}, true);
    break;
  case F::Log:
  case F::Log2:
  case F::Log10:
    libm(4);
    shape.domain = {kTiny, kInfinity};
    shape.poles = {{0, false, true}};
    break;
  case F::Log1p:
    libm(4, Interval::whole(), true);
    shape.domain = {-kBelowOne, kInfinity};
    shape.poles = {{-1, false, true}};
    break;
  case F::Sin:
  case F::Cos:
    // Vectorised kernels are off by units of 1 near the zeros.
    libm(4, {-1, 1});
    shape.kernel = units(4, 2);
    shape.kernel.keepsSign = false;
    break;
  case F::Tan:
    libm(4);
    shape.kernel = units(8, 2);
    shape.kernel.keepsSign = false;
    break;
  case F::Asin:
    libm(4, Interval::whole(), true);
    shape.domain = {-1, 1};
    break;
  case F::Acos:
    libm(4, {0, kInfinity});
    shape.kernel = units(4, 2);
    shape.domain = {-1, 1};
    break;
  case F::Atan:
    libm(4, Interval::whole(), true);
    break;
  case F::Sinh:
  case F::Asinh:
    libm(4, Interval::whole(), true);
    break;
  case F::Cosh:
    libm(4, {1, kInfinity});
    break;
  case F::Tanh:
  case F::Erf:
    libm(4, {-1, 1}, true);
    break;
  case F::Acosh:
    libm(4, {0, kInfinity});
    shape.domain = {1, kInfinity};
    break;
  case F::Atanh:
    libm(4, Interval::whole(), true);
    shape.domain = {-kBelowOne, kBelowOne};
    shape.poles = {{-1, false, true}, {1, true, false}};
    break;
  case F::Erfc:
    libm(8, {0, 2});
    break;
  case F::Erfinv:
    libm(16, Interval::whole(), true);
    shape.margin = kComposite;
    shape.domain = {-kBelowOne, kBelowOne};
    shape.poles = {{-1, false, true}, {1, true, false}};
    break;
  case F::Relu:
  case F::Relu6:
  case F::HardTanh:
    shape.keepsIntegers = unary.function != F::HardTanh ||
                          (std::floor(unary.alpha) == unary.alpha &&
                           std::floor(unary.beta) == unary.beta);
    shape.growsFromZero =
        unary.function != F::HardTanh || (unary.alpha < 0 && unary.beta > 0);
    break;
  case F::LeakyRelu:
    shape.growsFromZero = true;
    break;
  case F::ThresholdedRelu:
    shape.keepsIntegers = true;
    break;
  case F::HardSigmoid:
    // alpha x + beta, both steps rounded, before the clamp.
    shape.kernel = units(2, 1 + beta, alpha, (1 + beta) / alpha);
    shape.range = {0, 1};
    break;
  case F::HardSwish:
    shape.kernel = units(6, 0, 2, 4);
    break;
  case F::Shrink:
    break;
  case F::Elu:
    libm(2);
    shape.kernel = units(4, 4 * alpha);
    break;
  case F::Celu:
    libm(2);
    shape.margin = kComposite;
    // For alpha < 0 the exponential grows, and the rounding of x / alpha with
    // its logarithm, 709 at most.
    shape.kernel = units(unary.alpha < 0 ? 400 : 4, 6 * alpha);
    break;
  case F::Selu:
    libm(2);
    shape.kernel = units(6, 4 * alpha * beta);
    break;
  case F::Sigmoid:
    libm(4, {0, 1});
    shape.kernel.normals = 1;
    break;
  case F::LogSigmoid:
    libm(4, {-kInfinity, 0});
    shape.kernel = units(4, 4);
    break;
  case F::Softplus:
    libm(4);
    shape.margin = kComposite;
    shape.kernel = units(6, 4 / alpha);
    break;
  case F::Softsign:
    libm(4, {-1, 1}, true);
    break;
  case F::TanhShrink:
    libm(2);
    shape.margin = kComposite;
    shape.kernel = units(2, 0, 4, 1);
    shape.kernel.keepsSign = false;
    break;
  case F::Mish:
    shape.margin = kComposite;
    shape.kernel = units(12, 0, 6, 40);
    break;
  case F::Silu:
  case F::QuickGelu:
    shape.margin = kComposite;
    shape.kernel = units(8, alpha == 1 || alpha == 0 ? 0 : 2 / alpha);
    shape.kernel.inputNormals = 1;
    break;
  case F::Gelu:
  case F::GeluTanh:
    shape.margin = kComposite;
    shape.kernel = units(12, 0, 6, 40);
    // Rational forms of tanh reach past -1, and 1 + tanh below 0 (ONNX
    // Runtime).
    shape.kernel.keepsSign = unary.function == F::Gelu;
    break;
  }
  return shape;
}

/// Whether some phase + 2 pi k lies in `x`. Beyond 1e8 the period is not
/// resolved, and the answer is yes.
static bool holdsPhase(const Interval &x, double phase, double period) {
  if (!(x.maxAbs() < 1e8) || x.width() >= period)
    return true;
  double slack = 1e-7;
  double next = std::ceil((x.lo - slack - phase) / period);
  return phase + next * period <= x.hi + slack;
}

void mpopt::getInteriorValues(const Unary &unary, const Interval &x,
                              llvm::SmallVectorImpl<double> &values) {
  // The functions are flat where they are least: 1e-15 beside the point is far
  // closer in value than the margin.
  auto stationary = [&](double at) {
    if (x.contains(at))
      values.push_back(evaluate(unary, at));
  };
  switch (unary.function) {
  case F::Sin:
  case F::Cos: {
    double peak = unary.function == F::Sin ? kPi / 2 : 0;
    if (holdsPhase(x, peak, 2 * kPi))
      values.push_back(1);
    if (holdsPhase(x, peak + kPi, 2 * kPi))
      values.push_back(-1);
    break;
  }
  case F::Tan:
    if (holdsPhase(x, kPi / 2, kPi))
      values.append({-kInfinity, kInfinity});
    break;
  case F::Cosh:
  case F::Elu:
  case F::Celu:
  case F::Selu:
    stationary(0);
    break;
  case F::Silu:
  case F::QuickGelu:
    if (unary.alpha != 0)
      stationary(-1.2784645427610738 / unary.alpha);
    break;
  case F::Gelu:
    stationary(-0.7517915246935645);
    break;
  case F::GeluTanh:
    stationary(-0.7524614220710162);
    break;
  case F::Mish:
    stationary(-1.1924312145154952);
    break;
  case F::Softplus: {
    // The jump to x itself; a kernel may take it a rounding early or late.
    double at = unary.threshold / unary.alpha;
    if (!std::isfinite(at) || !x.widened(0x1p-7).contains(at))
      break;
    Unary smooth = unary;
    smooth.threshold = kInfinity;
    values.push_back(evaluate(smooth, at));
    values.push_back(at);
    break;
  }
  default:
    break;
  }
}

FloatRange mpopt::applyToInfinity(const Unary &unary, bool negative) {
  FloatRange result =
      FloatRange::point(evaluate(unary, negative ? -kInfinity : kInfinity));
  switch (unary.function) {
  case F::Silu:
  case F::QuickGelu:
    // Inf times a factor that is exactly 0 there.
    result.nan |= negative == (unary.alpha > 0);
    break;
  case F::Gelu:
  case F::GeluTanh:
  case F::Mish:
  case F::HardSwish:
    result.nan |= negative;
    break;
  case F::Softsign: // Inf / Inf.
    result.nan = true;
    break;
  default:
    break;
  }
  return result;
}

Interval mpopt::getValuesOfNaN(const Unary &unary) {
  switch (unary.function) {
  case F::Sign:
  case F::Relu:
  case F::ThresholdedRelu:
  case F::Shrink:
    return Interval::point(0);
  case F::Relu6:
    return {0, 6};
  case F::HardSigmoid:
    return {0, 1};
  case F::HardTanh:
    return {unary.alpha, unary.beta};
  default:
    return Interval::empty();
  }
}
