//===- UnaryTest.cpp - Images under functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Soundness: every function, four formats, random boxes; the samples go through
// kernels as they are written in practice, in f32 with a final rounding and in
// the format itself, with the cancellations their formulas have.
//
//===----------------------------------------------------------------------===//

#include "Variants.h"

#include "mpopt/Numerics/StorageFormat.h"
#include "test/unit/Numerics/Samples.h"

#include "gtest/gtest.h"

#include <functional>
#include <numbers>

using namespace mpopt;
using F = UnaryFunction;

namespace {

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

/// A function that no formula of the library names.
F find(llvm::StringRef mnemonic) { return *parseUnaryFunction(mnemonic); }

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
  llvm::StringRef name = unary.function.row().name;
  if (name == "Rsqrt")
    return one / number(std::sqrt(x.value));
  if (name == "Exp")
    return CALL(exp, x);
  if (name == "Exp2")
    return CALL(exp2, x);
  if (name == "Expm1")
    return CALL(expm1, x);
  if (name == "Log")
    return CALL(log, x);
  if (name == "Log2")
    return CALL(log2, x);
  if (name == "Log10")
    return CALL(log10, x);
  if (name == "Log1p")
    return CALL(log1p, x);
  if (name == "Sin")
    return CALL(sin, x);
  if (name == "Cos")
    return CALL(cos, x);
  if (name == "Tan")
    return CALL(tan, x);
  if (name == "Asin")
    return CALL(asin, x);
  if (name == "Acos")
    return CALL(acos, x);
  if (name == "Atan")
    return CALL(atan, x);
  if (name == "Sinh")
    return CALL(sinh, x);
  if (name == "Cosh")
    return CALL(cosh, x);
  if (name == "Tanh")
    return CALL(tanh, x);
  if (name == "Asinh")
    return CALL(asinh, x);
  if (name == "Acosh")
    return CALL(acosh, x);
  if (name == "Atanh")
    return CALL(atanh, x);
  if (name == "Erf")
    return CALL(erf, x);
  if (name == "Erfc")
    return CALL(erfc, x);
  if (name == "LeakyRelu")
    return x.value < 0 ? alpha * x : x;
  if (name == "HardSigmoid")
    return clamp(alpha * x + beta, 0, 1);
  if (name == "HardSwish")
    return x * clamp(x / number(6) + number(0.5), 0, 1);
  if (name == "Elu")
    return x.value < 0 ? alpha * (CALL(exp, x) - one) : x;
  if (name == "Celu") {
    Soft part = alpha * (CALL(exp, x / alpha) - one);
    return number(x.value > 0 ? x.value : 0) +
           number(part.value < 0 || std::isnan(x.value) ? part.value : 0);
  }
  if (name == "Selu")
    return x.value > 0 ? beta * x : beta * (alpha * (CALL(exp, x) - one));
  if (name == "Sigmoid")
    return sigmoid(x);
  if (name == "LogSigmoid")
    return -softplus(-x);
  if (name == "Softplus") {
    if ((alpha * x).value > unary.threshold)
      return x;
    return softplus(alpha * x) / alpha;
  }
  if (name == "Softsign")
    return x / (one + number(std::fabs(x.value)));
  if (name == "TanhShrink")
    return x - CALL(tanh, x);
  if (name == "Mish")
    return x * CALL(tanh, softplus(x));
  if (name == "Silu")
    return x * sigmoid(alpha * x);
  if (name == "QuickGelu")
    return x / (one + CALL(exp, -(alpha * x)));
  if (name == "Gelu")
    return number(0.5) * x * (one + CALL(erf, x / number(std::numbers::sqrt2)));
  if (name == "GeluTanh") {
    Soft inner = number(std::sqrt(2 / std::numbers::pi)) *
                 (x + number(0.044715) * (x * x * x));
    return number(0.5) * x * (one + CALL(tanh, inner));
  }
  return number(evaluate(unary, x.value));
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
            << toString(GetParam()) << "(" << value << ") = " << result
            << " for " << x << " is not in " << image << ", "
            << stored->name.str() << " by " << computed->name.str()
            << ", alpha " << unary.alpha;
        double exact = evaluate(unary, value);
        if (std::isfinite(value) && std::isfinite(exact))
          ASSERT_TRUE(real.finite.contains(exact))
              << toString(GetParam()) << "(" << value << ") = " << exact
              << " for " << x << " is not in " << real;
      }
    }
  }
}

std::string getName(const testing::TestParamInfo<F> &info) {
  return toString(info.param);
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
    if (function == find("tan"))
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
        EXPECT_GE(bound.lo, sampled.lo - slack) << toString(function);
        EXPECT_LE(bound.hi, sampled.hi + slack) << toString(function);
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
      {F::Exp, {-2, 3}},
      {F::Log, {0.1, 7}},
      {F::Tanh, {-2, 1}},
      {F::Sigmoid, {-5, 4}},
      {F::Sqrt, {0, 9}},
      {F::Rsqrt, {0.5, 4}},
      {find("reciprocal"), {2, 3}},
      {find("erf"), {-1, 2}},
      {find("asinh"), {-3, 3}},
      {F::Log1p, {-0.5, 5}},
      {find("expm1"), {-3, 1}},
      {find("atan"), {-1, 50}},
      {find("exp2"), {-3, 3}},
      {find("sinh"), {-2, 2}},
      {F::Softsign, {-2, 2}},
  };
  for (const Row &row : rows) {
    Unary unary = {row.function};
    FloatRange range = apply(unary, FloatRange::of(row.x),
                             ComputeError::in(FloatFormat::f32()));
    double a = evaluate(unary, row.x.lo), b = evaluate(unary, row.x.hi);
    double low = std::min(a, b), high = std::max(a, b);
    EXPECT_LE(low - range.finite.lo, 0x1p-20 * std::fabs(low))
        << toString(row.function);
    EXPECT_LE(range.finite.hi - high, 0x1p-20 * std::fabs(high))
        << toString(row.function);
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
  EXPECT_EQ(of(find("reciprocal"), infinity).finite, Interval::point(0));
  EXPECT_FALSE(of(find("reciprocal"), infinity).mayBeInf());
  EXPECT_EQ(of(F::Exp, infinity).finite, Interval::point(0));
  EXPECT_TRUE(of(F::Exp, infinity).posInf);
  EXPECT_FALSE(of(F::Exp, infinity).nan);
  EXPECT_TRUE(of(F::Tanh, infinity).finite.contains(Interval{-1, 1}));
  EXPECT_TRUE(of(find("sin"), infinity).nan);
  EXPECT_TRUE(of(find("gelu"), infinity).nan);

  FloatRange f16 = FloatRange::of({0, 1}).store(FloatFormat::f16());
  // Zero is a pole; the smallest FP16 value bounds the rest.
  FloatRange log = of(F::Log, f16);
  EXPECT_TRUE(log.negInf);
  EXPECT_FALSE(log.nan);
  EXPECT_NEAR(log.finite.lo, std::log(0x1p-24), 1e-4);
  FloatRange inverse = of(find("reciprocal"), f16);
  EXPECT_TRUE(inverse.posInf);
  EXPECT_EQ(inverse.finite, (Interval{1, 0x1p24}));
  EXPECT_TRUE(of(F::Log, FloatRange::of({-1, 1})).nan);
  EXPECT_TRUE(of(F::Sqrt, FloatRange::of({-1e-9, 1})).nan);
  EXPECT_TRUE(of(F::Sqrt, FloatRange::of({0, 1})).isFinite());
  EXPECT_TRUE(of(find("acos"), FloatRange::of({-5, 5})).nan);
  EXPECT_TRUE(of(F::Log1p, FloatRange::of({-2, 0})).nan);
  EXPECT_FALSE(of(F::Square, FloatRange::of({-50, 50})).mayBeNegative());
  // Minima inside.
  EXPECT_NEAR(of(find("gelu"), FloatRange::of({-10, 1})).finite.lo, -0.16997,
              1e-4);
  EXPECT_NEAR(of(F::Silu, FloatRange::of({-10, 1})).finite.lo, -0.27846, 1e-4);
  EXPECT_NEAR(of(find("mish"), FloatRange::of({-10, 1})).finite.lo, -0.30884,
              1e-4);
  EXPECT_EQ(of(find("hard_swish"), FloatRange::of({-9, 0})).finite.hi, 0);
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
