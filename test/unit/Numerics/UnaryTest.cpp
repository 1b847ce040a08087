//===- UnaryTest.cpp - Images under functions of one number
//
// Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Soundness: every function, four formats, random boxes; the samples go through
// kernels as they are written in practice, in f32 with a final rounding and in
// the format itself, with the cancellations their formulas have.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Unary.h"

#include "test/unit/Transfer/Samples.h"

#include "gtest/gtest.h"

#include <functional>
#include <numbers>

using namespace mpopt;
using F = UnaryFunction;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// f32 with the float functions of libm.
Soft call(Soft x, float (*narrow)(float), double (*wide)(double)) {
  if (x.format == &FloatFormat::f32())
    return {x.format, narrow(float(x.value))};
  return x.with(wide(x.value));
}
#define CALL(function, x)                                                      \
  call(                                                                        \
      x, [](float v) { return std::function(v); },                             \
      [](double v) { return std::function(v); })

/// The formula step by step; without one, the rounded value.
Soft kernel(const Unary &unary, Soft x) {
  auto number = [&](double value) { return x.with(value); };
  Soft one = number(1), alpha = number(unary.alpha), beta = number(unary.beta);
  auto clamp = [&](Soft v, double low, double high) {
    return v.value < low ? number(low) : v.value > high ? number(high) : v;
  };
  auto softplus = [&](Soft v) {
    Soft away = number(-std::fabs(v.value));
    return number(v.value > 0           ? v.value
                  : std::isnan(v.value) ? NAN
                                        : 0) +
           CALL(log1p, CALL(exp, away));
  };
  auto sigmoid = [&](Soft v) { return one / (one + CALL(exp, -v)); };
  switch (unary.function) {
  case F::Rsqrt:
    return one / number(std::sqrt(x.value));
  case F::Exp:
    return CALL(exp, x);
  case F::Exp2:
    return CALL(exp2, x);
  case F::Expm1:
    return CALL(expm1, x);
  case F::Log:
    return CALL(log, x);
  case F::Log2:
    return CALL(log2, x);
  case F::Log10:
    return CALL(log10, x);
  case F::Log1p:
    return CALL(log1p, x);
  case F::Sin:
    return CALL(sin, x);
  case F::Cos:
    return CALL(cos, x);
  case F::Tan:
    return CALL(tan, x);
  case F::Asin:
    return CALL(asin, x);
  case F::Acos:
    return CALL(acos, x);
  case F::Atan:
    return CALL(atan, x);
  case F::Sinh:
    return CALL(sinh, x);
  case F::Cosh:
    return CALL(cosh, x);
  case F::Tanh:
    return CALL(tanh, x);
  case F::Asinh:
    return CALL(asinh, x);
  case F::Acosh:
    return CALL(acosh, x);
  case F::Atanh:
    return CALL(atanh, x);
  case F::Erf:
    return CALL(erf, x);
  case F::Erfc:
    return CALL(erfc, x);
  case F::LeakyRelu:
    return x.value < 0 ? alpha * x : x;
  case F::HardSigmoid:
    return clamp(alpha * x + beta, 0, 1);
  case F::HardSwish:
    return x * clamp(x / number(6) + number(0.5), 0, 1);
  case F::Elu:
    return x.value < 0 ? alpha * (CALL(exp, x) - one) : x;
  case F::Celu: {
    Soft part = alpha * (CALL(exp, x / alpha) - one);
    return number(x.value > 0 ? x.value : 0) +
           number(part.value < 0 || std::isnan(x.value) ? part.value : 0);
  }
  case F::Selu:
    return x.value > 0 ? beta * x : beta * (alpha * (CALL(exp, x) - one));
  case F::Sigmoid:
    return sigmoid(x);
  case F::LogSigmoid:
    return -softplus(-x);
  case F::Softplus:
    if ((alpha * x).value > unary.threshold)
      return x;
    return softplus(alpha * x) / alpha;
  case F::Softsign:
    return x / (one + number(std::fabs(x.value)));
  case F::TanhShrink:
    return x - CALL(tanh, x);
  case F::Mish:
    return x * CALL(tanh, softplus(x));
  case F::Silu:
    return x * sigmoid(alpha * x);
  case F::QuickGelu:
    return x / (one + CALL(exp, -(alpha * x)));
  case F::Gelu:
    return number(0.5) * x * (one + CALL(erf, x / number(std::numbers::sqrt2)));
  case F::GeluTanh: {
    Soft inner = number(std::sqrt(2 / std::numbers::pi)) *
                 (x + number(0.044715) * (x * x * x));
    return number(0.5) * x * (one + CALL(tanh, inner));
  }
  default:
    return number(evaluate(unary, x.value));
  }
}

/// Each function with its usual numbers and with awkward ones.
std::vector<Unary> getVariants(F function) {
  constexpr double none = kInfinity;
  switch (function) {
  case F::LeakyRelu:
    return {{function, 0.01}, {function, -0.3}, {function, 2}};
  case F::ThresholdedRelu:
    return {{function, 1}, {function, -2.1}};
  case F::HardSigmoid:
    return {{function, 0.2, 0.5}, {function, -1.7, 0.1}};
  case F::HardTanh:
    return {{function, -1, 1}, {function, 0.3, 5}, {function, -0.1, 6}};
  case F::Shrink:
    return {{function, 0.5, 0}, {function, 0.7, 0.7}, {function, 1, -2}};
  case F::Elu:
  case F::Celu:
    return {{function, 1}, {function, 0.4}, {function, -1.5}};
  case F::Selu:
    return {{function, 1.6732632423543772, 1.0507009873554805}};
  case F::Softplus:
    return {{function, 1, 0, none}, {function, 1, 0, 20}, {function, 3, 0, 2}};
  case F::Silu:
    return {{function, 1}, {function, -2}, {function, 0.3}};
  case F::QuickGelu:
    return {{function, 1.702}};
  default:
    return {{function}};
  }
}

struct Case {
  const FloatFormat *stored, *computed;
};

std::vector<Case> getCases() {
  const FloatFormat *f32 = &FloatFormat::f32(), *f16 = &FloatFormat::f16(),
                    *bf16 = &FloatFormat::bf16(), *f64 = &FloatFormat::f64();
  return {{f64, f64},  {f32, f32}, {f16, f32},
          {bf16, f32}, {f16, f16}, {bf16, bf16}};
}

class UnaryTest : public testing::TestWithParam<F> {};

TEST_P(UnaryTest, HoldsEveryValue) {
  std::vector<Unary> variants = getVariants(GetParam());
  for (auto [stored, computed] : getCases()) {
    Samples samples(*stored, 11);
    for (int box = 0; box < 100; ++box) {
      const Unary &unary = variants[box % variants.size()];
      FloatRange x = samples.box();
      FloatRange image =
          apply(unary, x, ComputeError::in(*computed)).store(*stored);
      FloatRange real = apply(unary, x, ComputeError::none());
      for (int i = 0; i < 12; ++i) {
        double value = samples.in(x);
        double result = stored->round(kernel(unary, {computed, value}).value);
        ASSERT_TRUE(image.contains(result))
            << toString(GetParam()).str() << "(" << value << ") = " << result
            << " for " << x << " is not in " << image << ", "
            << stored->name.str() << " by " << computed->name.str()
            << ", alpha " << unary.alpha;
        double exact = evaluate(unary, value);
        if (std::isfinite(value) && std::isfinite(exact))
          ASSERT_TRUE(real.finite.contains(exact))
              << toString(GetParam()).str() << "(" << value << ") = " << exact
              << " for " << x << " is not in " << real;
      }
    }
  }
}

std::string getName(const testing::TestParamInfo<F> &info) {
  return toString(info.param).str();
}
INSTANTIATE_TEST_SUITE_P(All, UnaryTest,
                         testing::ValuesIn(getUnaryFunctions().begin(),
                                           getUnaryFunctions().end()),
                         getName);

//===----------------------------------------------------------------------===//
// Tightness
//===----------------------------------------------------------------------===//

TEST(Unary, ImageIsTheHullOfItsValues) {
  for (F function : getUnaryFunctions()) {
    if (function == F::Tan)
      continue; // Unbounded between its poles.
    for (const Unary &unary : getVariants(function))
      for (Interval x : {Interval{-3, 2},
                         {-0.5, 0.75},
                         {0.25, 0.5},
                         {1, 9},
                         {-8, -2},
                         {-0.9, -0.1}}) {
        Interval sampled = Interval::empty();
        for (int i = 0; i <= 5000; ++i) {
          double at = x.lo + (x.hi - x.lo) * i / 5000;
          double value = evaluate(unary, at);
          if (std::isfinite(value))
            sampled = hull(sampled, value);
        }
        Interval bound = image(unary, x);
        if (sampled.isEmpty() ||
            apply(unary, FloatRange::of(x), ComputeError::none()).mayBeInf())
          continue; // A pole inside.
        // Extremes between samples are missed by the second order only; the
        // logarithmic ends by more.
        double slack = 2e-3 * std::max(1.0, sampled.maxAbs());
        EXPECT_GE(bound.lo, sampled.lo - slack) << toString(function).str();
        EXPECT_LE(bound.hi, sampled.hi + slack) << toString(function).str();
      }
  }
}

/// A few units of f32 around the values at the ends.
TEST(Unary, MonotoneImagesAreTightInUnits) {
  struct Row {
    F function;
    Interval x;
  };
  const Row rows[] = {
      {F::Exp, {-2, 3}},       {F::Log, {0.1, 7}},  {F::Tanh, {-2, 1}},
      {F::Sigmoid, {-5, 4}},   {F::Sqrt, {0, 9}},   {F::Rsqrt, {0.5, 4}},
      {F::Reciprocal, {2, 3}}, {F::Erf, {-1, 2}},   {F::Asinh, {-3, 3}},
      {F::Log1p, {-0.5, 5}},   {F::Expm1, {-3, 1}}, {F::Atan, {-1, 50}},
      {F::Exp2, {-3, 3}},      {F::Sinh, {-2, 2}},  {F::Softsign, {-2, 2}},
  };
  for (const Row &row : rows) {
    Unary unary = {row.function};
    FloatRange range = apply(unary, FloatRange::of(row.x),
                             ComputeError::in(FloatFormat::f32()));
    double a = evaluate(unary, row.x.lo), b = evaluate(unary, row.x.hi);
    double low = std::min(a, b), high = std::max(a, b);
    EXPECT_LE(low - range.finite.lo, 0x1p-20 * std::fabs(low))
        << toString(row.function).str();
    EXPECT_LE(range.finite.hi - high, 0x1p-20 * std::fabs(high))
        << toString(row.function).str();
    EXPECT_TRUE(range.isFinite());
  }
}

TEST(Unary, SpecialValues) {
  ComputeError error;
  FloatRange infinity;
  infinity.posInf = infinity.negInf = true;
  auto of = [&](F function, FloatRange x) {
    return apply({function}, x, error);
  };
  // 1 / Inf = 0, e^-Inf = 0, tanh(Inf) = 1.
  EXPECT_EQ(of(F::Reciprocal, infinity).finite, Interval::point(0));
  EXPECT_FALSE(of(F::Reciprocal, infinity).mayBeInf());
  EXPECT_EQ(of(F::Exp, infinity).finite, Interval::point(0));
  EXPECT_TRUE(of(F::Exp, infinity).posInf);
  EXPECT_FALSE(of(F::Exp, infinity).nan);
  EXPECT_TRUE(of(F::Tanh, infinity).finite.contains(Interval{-1, 1}));
  EXPECT_TRUE(of(F::Sin, infinity).nan);
  EXPECT_TRUE(of(F::Gelu, infinity).nan);

  FloatRange f16 = FloatRange::of({0, 1}).store(FloatFormat::f16());
  // Zero is a pole; the smallest FP16 value bounds the rest.
  FloatRange log = of(F::Log, f16);
  EXPECT_TRUE(log.negInf);
  EXPECT_FALSE(log.nan);
  EXPECT_NEAR(log.finite.lo, std::log(0x1p-24), 1e-4);
  FloatRange inverse = of(F::Reciprocal, f16);
  EXPECT_TRUE(inverse.posInf);
  EXPECT_EQ(inverse.finite, (Interval{1, 0x1p24}));
  EXPECT_TRUE(of(F::Log, FloatRange::of({-1, 1})).nan);
  EXPECT_TRUE(of(F::Sqrt, FloatRange::of({-1e-9, 1})).nan);
  EXPECT_TRUE(of(F::Sqrt, FloatRange::of({0, 1})).isFinite());
  EXPECT_TRUE(of(F::Acos, FloatRange::of({-5, 5})).nan);
  EXPECT_TRUE(of(F::Log1p, FloatRange::of({-2, 0})).nan);
  EXPECT_FALSE(of(F::Square, FloatRange::of({-50, 50})).mayBeNegative());
  // Minima inside.
  EXPECT_NEAR(of(F::Gelu, FloatRange::of({-10, 1})).finite.lo, -0.16997, 1e-4);
  EXPECT_NEAR(of(F::Silu, FloatRange::of({-10, 1})).finite.lo, -0.27846, 1e-4);
  EXPECT_NEAR(of(F::Mish, FloatRange::of({-10, 1})).finite.lo, -0.30884, 1e-4);
  EXPECT_EQ(of(F::HardSwish, FloatRange::of({-9, 0})).finite.hi, 0);
  // FP16: e^x reaches Inf just above 11.09, not before.
  auto exp16 = [&](double high) {
    return of(F::Exp, FloatRange::of({0, high})).store(FloatFormat::f16());
  };
  EXPECT_FALSE(exp16(11.0898).posInf);
  EXPECT_TRUE(exp16(11.0902).posInf);
}

TEST(Unary, Mnemonics) {
  for (F function : getUnaryFunctions())
    EXPECT_EQ(parseUnaryFunction(toString(function)), function);
  EXPECT_EQ(parseUnaryFunction("conv"), std::nullopt);
}

} // namespace
