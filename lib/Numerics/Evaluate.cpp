//===- Evaluate.cpp - The functions themselves, in double
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In forms that keep the relative error small where the textbook formula
// cancels (erfc instead of 1 + erf in GELU's tail): the images in Unary.cpp
// rely on 2^-40 for these and on 2^-48 for what is one call of libm.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Infinity.h"
#include "mpopt/Numerics/Unary.h"

#include <cmath>
#include <numbers>

using namespace mpopt;

static double sigmoid(double x) {
  if (x >= 0)
    return 1 / (1 + std::exp(-x));
  double e = std::exp(x);
  return e / (1 + e);
}

/// x times a factor that tends to 0 faster than 1/x.
static double gate(double x, double factor) {
  return factor == 0 ? 0 : x * factor;
}

static double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

static double mish(double x) {
  // tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2).
  if (x > 40)
    return x;
  double e = std::exp(x), product = e * (e + 2);
  return gate(x, product / (product + 2));
}

static double tanhShrink(double x) {
  if (std::fabs(x) > 0.05)
    return std::isinf(x) ? x : x - std::tanh(x);
  // The series of x - tanh(x); the next term is below 1e-15 of the sum.
  double s = x * x;
  return x * s *
         (1.0 / 3 -
          s * (2.0 / 15 -
               s * (17.0 / 315 - s * (62.0 / 2835 - s * 1382 / 155925))));
}

/// Newton's method on erfc in the tails and erf between; both converge from the
/// start that the logarithm gives (Winitzki's approximation, 2e-3 relative).
static double erfinv(double x) {
  if (std::fabs(x) >= 1)
    return std::fabs(x) == 1 ? std::copysign(kInfinity, x) : NAN;
  if (std::fabs(x) < 1e-8)
    return x * (std::sqrt(std::numbers::pi) / 2);
  double target = std::fabs(x), rest = 1 - target;
  double logarithm = std::log1p(-target * target), a = 0.147;
  double middle = 2 / (std::numbers::pi * a) + logarithm / 2;
  double y = std::sqrt(std::sqrt(middle * middle - logarithm / a) - middle);
  for (int i = 0; i < 6; ++i) {
    double slope = 2 / std::sqrt(std::numbers::pi) * std::exp(-y * y);
    double off = target < 0.5 ? std::erf(y) - target : rest - std::erfc(y);
    // Halley's correction: erf'' = -2 y erf'.
    double step = off / slope;
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

double mpopt::evaluate(const Unary &unary, double x) {
  using F = UnaryFunction;
  double alpha = unary.alpha, beta = unary.beta;
  switch (unary.function) {
  case F::Abs:
    return std::fabs(x);
  case F::Neg:
    return -x;
  case F::Sign:
    return x > 0 ? 1 : x < 0 ? -1 : x;
  case F::Floor:
    return std::floor(x);
  case F::Ceil:
    return std::ceil(x);
  case F::Round:
    return std::nearbyint(x);
  case F::Trunc:
    return std::trunc(x);
  case F::Sqrt:
    return std::sqrt(x);
  case F::Rsqrt:
    return 1 / std::sqrt(x);
  case F::Reciprocal:
    return 1 / x;
  case F::Square:
    return x * x;
  case F::Exp:
    return std::exp(x);
  case F::Exp2:
    return std::exp2(x);
  case F::Expm1:
    return std::expm1(x);
  case F::Log:
    return std::log(x);
  case F::Log2:
    return std::log2(x);
  case F::Log10:
    return std::log10(x);
  case F::Log1p:
    return std::log1p(x);
  case F::Sin:
    return std::sin(x);
  case F::Cos:
    return std::cos(x);
  case F::Tan:
    return std::tan(x);
  case F::Asin:
    return std::asin(x);
  case F::Acos:
    return std::acos(x);
  case F::Atan:
    return std::atan(x);
  case F::Sinh:
    return std::sinh(x);
  case F::Cosh:
    return std::cosh(x);
  case F::Tanh:
    return std::tanh(x);
  case F::Asinh:
    return std::asinh(x);
  case F::Acosh:
    return std::acosh(x);
  case F::Atanh:
    return std::atanh(x);
  case F::Erf:
    return std::erf(x);
  case F::Erfc:
    return std::erfc(x);
  case F::Erfinv:
    return erfinv(x);
  case F::Relu:
    return x < 0 ? 0 : x;
  case F::Relu6:
    return x < 0 ? 0 : x > 6 ? 6 : x;
  case F::LeakyRelu:
    return x < 0 ? alpha * x : x;
  case F::ThresholdedRelu:
    return x > alpha ? x : std::isnan(x) ? x : 0;
  case F::HardSigmoid:
    return std::isnan(x) ? x : std::clamp(alpha * x + beta, 0.0, 1.0);
  case F::HardSwish:
    return std::isnan(x) ? x : gate(x, std::clamp(x / 6 + 0.5, 0.0, 1.0));
  case F::HardTanh:
    return x < alpha ? alpha : x > beta ? beta : x;
  case F::Shrink:
    return x < -alpha ? x + beta : x > alpha ? x - beta : std::isnan(x) ? x : 0;
  case F::Elu:
    return x < 0 ? alpha * std::expm1(x) : x;
  case F::Celu: {
    double part = alpha * std::expm1(x / alpha);
    return (x > 0 ? x : 0) + (part < 0 ? part : std::isnan(x) ? x : 0);
  }
  case F::Selu:
    return beta * (x > 0 ? x : alpha * std::expm1(x));
  case F::Sigmoid:
    return sigmoid(x);
  case F::LogSigmoid:
    return -softplus(-x);
  case F::Softplus:
    return alpha * x > unary.threshold ? x : softplus(alpha * x) / alpha;
  case F::Softsign:
    return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::fabs(x));
  case F::TanhShrink:
    return tanhShrink(x);
  case F::Mish:
    return mish(x);
  case F::Silu:
  case F::QuickGelu:
    return gate(x, sigmoid(alpha * x));
  case F::Gelu:
    return gate(x, std::erfc(-x / std::numbers::sqrt2) / 2);
  case F::GeluTanh: {
    double scale = 2 * std::sqrt(2 / std::numbers::pi);
    return gate(x, sigmoid(scale * (x + 0.044715 * x * x * x)));
  }
  }
  return NAN;
}
