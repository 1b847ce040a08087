//===- FunctionTableTest.cpp - Facts of functions of one number
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every row of the table against its own value function. That the images hold
// what kernels compute is UnaryTest's.
//
//===----------------------------------------------------------------------===//

#include "Variants.h"

#include "gtest/gtest.h"

#include <numbers>
#include <random>

using namespace mpopt;

namespace {

/// A row in all its variants, each with points of its domain in order: dense
/// where functions bend, and out to the ends of FP16 and of f32.
class FunctionTableTest : public testing::TestWithParam<UnaryFunction> {
protected:
  template <typename Check> void forEachVariant(Check check) {
    for (const Unary &unary : getVariants(GetParam())) {
      SCOPED_TRACE(toString(GetParam()) + ", alpha " +
                   std::to_string(unary.alpha));
      FunctionFacts facts = getFacts(unary);
      std::vector<double> points;
      for (int i = -6000; i <= 6000; ++i)
        points.push_back(i / 500.0);
      for (int exponent = -40; exponent <= 127; ++exponent)
        for (double x : {std::ldexp(1.0, exponent), std::ldexp(1.37, exponent)})
          points.insert(points.end(), {x, -x, 1 - x, x - 1});
      llvm::erase_if(points, [&](double x) {
        return !facts.domain.contains(x) ||
               llvm::any_of(facts.poles, [&](Pole p) { return p.at == x; });
      });
      llvm::sort(points);
      check(unary, facts, points);
    }
  }
};

/// Room for the error of the value function itself.
double slack(const FunctionFacts &facts, double value) {
  return (facts.margin + 0x1p-50) * std::fabs(value) + 1e-300;
}

} // namespace

TEST_P(FunctionTableTest, ValuesAreInTheRange) {
  forEachVariant([](const Unary &unary, const FunctionFacts &facts,
                    llvm::ArrayRef<double> points) {
    for (double x : points) {
      double value = evaluate(unary, x);
      ASSERT_FALSE(std::isnan(value)) << x;
      ASSERT_TRUE(facts.range.widened(facts.margin).contains(value))
          << x << " -> " << value;
    }
    EXPECT_TRUE(std::isnan(evaluate(unary, NAN)));
    for (double outside : {facts.domain.lo - 0.5, facts.domain.hi + 0.5})
      if (std::isfinite(outside)) {
        EXPECT_TRUE(std::isnan(evaluate(unary, outside))) << outside;
        EXPECT_TRUE(std::isnan(derivative(unary, outside))) << outside;
      }
  });
}

TEST_P(FunctionTableTest, PolesAreInfinite) {
  forEachVariant([](const Unary &unary, const FunctionFacts &facts,
                    llvm::ArrayRef<double>) {
    for (Pole pole : facts.poles) {
      double value = evaluate(unary, pole.at);
      EXPECT_TRUE(std::isinf(value)) << pole.at;
      EXPECT_TRUE(value > 0 ? pole.posInf : pole.negInf) << pole.at;
    }
  });
}

TEST_P(FunctionTableTest, IsMonotoneBetweenBreaks) {
  forEachVariant([](const Unary &unary, const FunctionFacts &facts,
                    llvm::ArrayRef<double> points) {
    llvm::SmallVector<double, 2> breaks = getBreaks(unary);
    bool pieces = facts.monotone == Monotone::InPieces;
    auto pieceOf = [&](double x) {
      double piece = llvm::count_if(breaks, [&](double at) { return at <= x; });
      if (facts.spacing != 0)
        piece += std::floor((x - facts.phase) / facts.spacing);
      return piece;
    };
    int direction = facts.monotone == Monotone::Decreasing ? -1 : 1;
    if (pieces)
      direction = 0;
    for (size_t i = 1; i < points.size(); ++i) {
      double a = points[i - 1], b = points[i];
      // A period is resolved near zero only.
      if (facts.spacing != 0 && std::max(std::fabs(a), std::fabs(b)) > 100)
        continue;
      if (pieces && pieceOf(a) != pieceOf(b)) {
        direction = 0;
        continue;
      }
      // A break itself may belong to either side.
      if (llvm::is_contained(breaks, a) || llvm::is_contained(breaks, b))
        continue;
      double from = evaluate(unary, a), to = evaluate(unary, b);
      double noise = 4 * (slack(facts, from) + slack(facts, to));
      if (!std::isfinite(from) || !std::isfinite(to) ||
          std::fabs(to - from) <= noise)
        continue;
      int step = to > from ? 1 : -1;
      if (direction == 0)
        direction = step;
      ASSERT_EQ(step, direction) << "between " << a << " and " << b;
    }
  });
}

/// By central differences of order 6 (Fornberg, "Generation of Finite
/// Difference Formulas on Arbitrarily Spaced Grids", 1988); `scale` is the
/// distance over which the function changes.
static double difference(const Unary &unary, double x, double scale) {
  double h = std::ldexp(scale, -6);
  auto at = [&](int k) {
    return (long double)(evaluate(unary, x + k * h)) -
           (long double)(evaluate(unary, x - k * h));
  };
  return double((45 * at(1) - 9 * at(2) + at(3)) / (60 * (long double)(h)));
}

TEST_P(FunctionTableTest, DerivativeIsTheSlope) {
  forEachVariant([](const Unary &unary, const FunctionFacts &facts,
                    llvm::ArrayRef<double>) {
    std::mt19937_64 generator(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    double rate = std::max(1.0, std::fabs(unary.alpha)), tried = 0;
    rate = std::max(rate, 1 / std::max(std::fabs(unary.alpha), 0.05));
    for (int i = 0; i < 4000; ++i) {
      double x = 9 * uniform(generator);
      if (facts.domain.maxAbs() <= 1)
        x /= 9;
      // As far as to the next place where the function is not smooth.
      double scale = 0.5 / rate;
      auto keepFrom = [&](double at) {
        scale = std::min(scale, std::fabs(x - at) / 4);
      };
      for (double at : getBreaks(unary))
        keepFrom(at);
      for (Pole pole : facts.poles)
        keepFrom(pole.at);
      keepFrom(facts.domain.lo);
      keepFrom(facts.domain.hi);
      if (facts.spacing != 0)
        keepFrom(facts.phase +
                 facts.spacing * std::round((x - facts.phase) / facts.spacing));
      if (facts.integral)
        for (double step : {1.0, 2.0})
          keepFrom(std::round(x * step) / step);
      // Ramps have corners where the value leaves an end, softsign at zero.
      for (double corner :
           {-3.0, 0.0, 3.0, 6.0, unary.alpha, unary.beta,
            -unary.beta / unary.alpha, (1 - unary.beta) / unary.alpha})
        keepFrom(corner);
      if (!facts.domain.contains(x) || scale < 1e-3)
        continue;
      double wanted = difference(unary, x, scale);
      double size = std::max(std::fabs(evaluate(unary, x)), 1e-3);
      ASSERT_NEAR(derivative(unary, x), wanted,
                  2e-8 * std::fabs(wanted) + 1e-10 * size / scale)
          << "at " << x;
      ++tried;
    }
    EXPECT_GT(tried, 1000);
  });
}

TEST_P(FunctionTableTest, DerivativeHasTheSignOfTheFacts) {
  forEachVariant([](const Unary &unary, const FunctionFacts &facts,
                    llvm::ArrayRef<double> points) {
    for (double x : points) {
      double slope = derivative(unary, x);
      ASSERT_FALSE(std::isnan(slope)) << x;
      if (facts.monotone == Monotone::Increasing)
        ASSERT_GE(slope, 0) << x;
      if (facts.monotone == Monotone::Decreasing)
        ASSERT_LE(slope, 0) << x;
    }
    EXPECT_TRUE(std::isnan(derivative(unary, NAN)));
    // A limit at an infinity exists, but for waves and outside the domain.
    for (double infinity : {kInfinity, -kInfinity})
      if (facts.spacing == 0 && facts.domain.contains(infinity))
        EXPECT_FALSE(std::isnan(derivative(unary, infinity))) << infinity;
  });
}

TEST_P(FunctionTableTest, FlagsHold) {
  forEachVariant([](const Unary &unary, const FunctionFacts &facts,
                    llvm::ArrayRef<double> points) {
    double above = 0, below = 0;
    if (facts.growsFromZero)
      EXPECT_EQ(evaluate(unary, 0), 0);
    for (double x : points) {
      double value = evaluate(unary, x);
      if (facts.contracts)
        ASSERT_LE(std::fabs(value), std::fabs(x) * (1 + facts.margin)) << x;
      if (facts.integral ||
          (facts.keepsIntegers && std::floor(x) == x && std::isfinite(value)))
        ASSERT_EQ(std::floor(value), value) << x;
      if (facts.growsFromZero && x > 0) {
        ASSERT_GE(std::fabs(value) + slack(facts, value), above) << x;
        above = std::fabs(value);
      }
    }
    for (double x : llvm::reverse(points))
      if (facts.growsFromZero && x < 0) {
        double value = evaluate(unary, x);
        ASSERT_GE(std::fabs(value) + slack(facts, value), below) << x;
        below = std::fabs(value);
      }
  });
}

INSTANTIATE_TEST_SUITE_P(All, FunctionTableTest,
                         testing::ValuesIn(getUnaryFunctions().begin(),
                                           getUnaryFunctions().end()),
                         [](const auto &info) { return toString(info.param); });

// Where PyTorch's backward functions take a side.
TEST(FunctionTable, DerivativesAtKinks) {
  auto at = [](const Unary &unary, double x) { return derivative(unary, x); };
  auto find = [](llvm::StringRef name) { return *parseUnaryFunction(name); };
  EXPECT_EQ(at({UnaryFunction::Abs}, 0), 0);
  EXPECT_EQ(at({UnaryFunction::Relu}, 0), 0);
  EXPECT_EQ(at({UnaryFunction::LeakyRelu, 0.1}, 0), 0.1);
  EXPECT_EQ(at({UnaryFunction::Elu, 0.5}, 0), 0.5);
  EXPECT_EQ(at({find("relu6")}, 6), 0);
  EXPECT_EQ(at({find("hard_tanh"), -1, 1}, 1), 0);
  EXPECT_EQ(at({find("hard_swish")}, -3), 0);
  EXPECT_EQ(at({find("hard_swish")}, 3), 1);
  EXPECT_EQ(at({UnaryFunction::Sqrt}, 0), kInfinity);
  EXPECT_EQ(at({UnaryFunction::Log}, 0), kInfinity);
  EXPECT_EQ(at({find("floor")}, 2), 0);
}

// High precision, from the functions' closed forms (mpmath, 50 digits).
TEST(FunctionTable, DerivativesInTails) {
  auto expect = [](llvm::StringRef name, double x, double wanted) {
    double got = derivative({*parseUnaryFunction(name)}, x);
    EXPECT_NEAR(got, wanted, 1e-12 * std::fabs(wanted)) << name.str() << x;
  };
  expect("tanh", 0.3, 0.9151369618266292);
  expect("tanh", -9, 6.091991712323229e-08);
  expect("tanh", 17, 6.855633726168028e-15);
  expect("sigmoid", -40, 4.248354255291589e-18);
  expect("sigmoid", 0.7, 0.22171287329310904);
  expect("sigmoid", 36, 2.319522830243568e-16);
  expect("log_sigmoid", -30, 0.9999999999999064);
  expect("log_sigmoid", 30, 9.357622968839299e-14);
  expect("softplus", -35, 6.305116760146985e-16);
  expect("softplus", 2, 0.8807970779778824);
  expect("tanh_shrink", 0.001, 9.999993333337113e-07);
  expect("tanh_shrink", 0.04, 0.0015982948794222179);
  expect("tanh_shrink", 3, 0.9901339628345598);
  expect("mish", -30, -2.713710660963392e-12);
  expect("mish", -1, 0.05921675587739495);
  expect("mish", 0.5, 0.8864243753577272);
  expect("mish", 20, 1.0000000000000002);
  expect("silu", -50, -9.450874255023197e-21);
  expect("silu", -1, 0.07232948812851327);
  expect("silu", 0.25, 0.6237100215701977);
  expect("silu", 12, 1.0000675854676138);
  expect("gelu", -9, -9.138937373906639e-18);
  expect("gelu", -2, -0.0852318010781969);
  expect("gelu", 0.5, 0.8674951246561629);
  expect("gelu", 7, 1.0000000000626632);
  expect("gelu_tanh", -6, -7.709973930953701e-10);
  expect("gelu_tanh", -2, -0.08609925662361838);
  expect("gelu_tanh", 0.5, 0.8673699035346423);
  expect("gelu_tanh", 5, 1.0000015463619876);
  expect("erf", -5, 1.5670866531017336e-11);
  expect("erf", 0.1, 1.1171516067889369);
  expect("erfc", -1, -0.4151074974205947);
  expect("erfc", 8, -1.8097067968559843e-28);
  expect("erfinv", 0.01, 0.8862965359311331);
  expect("erfinv", -0.75, 1.7174997693674523);
  expect("erfinv", 0.875, 2.874793037400603);
  expect("rsqrt", 1e-06, -500000000.00000006);
  expect("rsqrt", 65504, -2.982416359080774e-08);
  expect("reciprocal", -1e-06, -1000000000000.0001);
  expect("reciprocal", 65504, -2.33058183971253e-10);
  expect("softsign", -10000.0, 9.998000299960006e-09);
  expect("softsign", 0.5, 0.4444444444444444);
  expect("atanh", 0.96875, 16.253968253968253);
  expect("atanh", -0.5, 1.3333333333333333);
  expect("acosh", 1.0009765625, 22.6218947484674);
  expect("acosh", 1000000.0, 1.0000000000005e-06);
  expect("asinh", -1000000.0, 9.999999999995e-07);
  expect("asinh", 0.5, 0.8944271909999159);
  expect("asin", 0.9990234375, 22.632943293569802);
  expect("acos", -0.9990234375, -22.632943293569802);
  expect("tan", 1.5, 199.85004452649247);
  expect("tan", -0.5, 1.2984464104095248);
  expect("log1p", -0.9990234375, 1024.0);
  expect("log1p", 1e-09, 0.999999999);
  expect("exp2", -20, 6.610366635894254e-07);
  expect("exp2", 10, 709.782712893384);
  expect("log10", 1e-07, 4342944.819032518);
  expect("log10", 3, 0.14476482730108395);
  expect("log2", 3, 0.4808983469629878);
}

TEST(FunctionTable, NamesAreUnique) {
  std::vector<std::string> names;
  for (UnaryFunction function : getUnaryFunctions()) {
    names.push_back(toString(function));
    EXPECT_EQ(parseUnaryFunction(names.back()), function);
  }
  llvm::sort(names);
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_GE(names.size(), 54u);
}

TEST(FunctionTable, SlopesAreBounded) {
  auto isBounded = [](llvm::StringRef name) {
    return hasBoundedSlope({*parseUnaryFunction(name)});
  };
  for (llvm::StringRef name : {"relu", "tanh", "sigmoid", "gelu", "sin", "abs"})
    EXPECT_TRUE(isBounded(name)) << name.str();
  for (llvm::StringRef name : {"log", "sqrt", "reciprocal", "exp", "tan"})
    EXPECT_FALSE(isBounded(name)) << name.str();
}
