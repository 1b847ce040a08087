//===- LikelyTest.cpp - Expected ranges of numbers
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates against samples: moments within some percent, extremes within a
// factor of what the draws reach.
//
//===----------------------------------------------------------------------===//

#include "mpopt/Numerics/Likely.h"

#include "gtest/gtest.h"

#include <cmath>
#include <functional>
#include <numbers>
#include <random>

using namespace mpopt;

namespace {

constexpr int kDraws = 20000;

struct Normals {
  std::mt19937_64 generator{17};
  std::normal_distribution<double> normal;
  double of(const Likely &x) {
    return x.mean + x.deviation() * normal(generator);
  }
};

/// Mean, variance and extremes of that many draws.
Likely observe(const std::function<double()> &draw) {
  double sum = 0, squares = 0, low = HUGE_VAL, high = -HUGE_VAL;
  double shift = draw();
  for (int i = 0; i < kDraws; ++i) {
    double value = draw();
    sum += value - shift;
    squares += (value - shift) * (value - shift);
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double mean = sum / kDraws;
  return {shift + mean, squares / kDraws - mean * mean, low, high};
}

void expectNear(const Likely &estimate, const Likely &observed,
                const std::string &what, double momentShare = 0.05,
                double extremeFactor = 1.4) {
  double sigma = std::sqrt(observed.variance);
  EXPECT_NEAR(estimate.mean, observed.mean, momentShare * sigma + 1e-12)
      << what;
  EXPECT_NEAR(estimate.variance, observed.variance,
              2 * momentShare * observed.variance + 1e-12)
      << what;
  double reach =
      std::max(observed.hi - observed.mean, observed.mean - observed.lo);
  double expected =
      std::max(estimate.hi - estimate.mean, estimate.mean - estimate.lo);
  EXPECT_LE(expected, extremeFactor * reach) << what;
  EXPECT_GE(expected, reach / extremeFactor) << what;
}

TEST(Likely, MatchesSamples) {
  double k = expectedExtreme(kDraws, 1);
  Normals normals;
  for (auto [m, v] : {std::pair(0.0, 1.0), {2.0, 0.25}, {-5.0, 9.0}}) {
    Likely a = Likely::normal(m, v, k), b = Likely::normal(1, 2, k);
    std::string at = " of mean " + std::to_string(m);
    auto pair = [&](double (*function)(double, double)) {
      return observe([&] { return function(normals.of(a), normals.of(b)); });
    };
    expectNear(likely::add(a, b),
               pair([](double x, double y) { return x + y; }), "add" + at);
    expectNear(likely::sub(a, b),
               pair([](double x, double y) { return x - y; }), "sub" + at);
    expectNear(likely::mul(a, b, k),
               pair([](double x, double y) { return x * y; }), "mul" + at, 0.05,
               1.5);
    expectNear(likely::max(a, b),
               pair([](double x, double y) { return std::max(x, y); }),
               "max" + at);
    expectNear(likely::min(a, b),
               pair([](double x, double y) { return std::min(x, y); }),
               "min" + at);
    expectNear(likely::square(a), observe([&] {
                 double x = normals.of(a);
                 return x * x;
               }),
               "square" + at, 0.05, 1.7);
    expectNear(likely::affine(a, -3, 7),
               observe([&] { return 7 - 3 * normals.of(a); }), "affine" + at);
    for (UnaryFunction function :
         {UnaryFunction::Tanh, UnaryFunction::Sigmoid,
          *parseUnaryFunction("gelu"), UnaryFunction::Silu,
          *parseUnaryFunction("sin"), UnaryFunction::Softplus,
          *parseUnaryFunction("erf")}) {
      Unary unary = {function};
      expectNear(likely::apply(unary, a),
                 observe([&] { return evaluate(unary, normals.of(a)); }),
                 toString(function) + at, 0.1, 1.7);
    }
  }
  // A heavy tail times a normal value: less than both extremes together.
  Likely heavy =
      likely::apply(Unary{UnaryFunction::Exp}, Likely::normal(0, 1, k));
  Likely gain = Likely::normal(0, 1, k);
  expectNear(likely::mul(heavy, gain, k), observe([&] {
               return std::exp(normals.normal(normals.generator)) *
                      normals.of(gain);
             }),
             "heavy mul", 0.3, 2);
  // Lognormal: mean e^(1/2), variance (e - 1) e.
  Likely exponential =
      likely::apply(Unary{UnaryFunction::Exp}, Likely::normal(0, 1, k));
  EXPECT_NEAR(exponential.mean, std::exp(0.5), 0.02);
  EXPECT_NEAR(exponential.variance, (std::exp(1) - 1) * std::exp(1), 0.3);
  EXPECT_NEAR(exponential.hi, std::exp(k), 1e-6);
}

TEST(Likely, Reciprocal) {
  double k = expectedExtreme(kDraws, 1);
  Normals normals;
  // Away from zero.
  Likely far = Likely::normal(10, 1, k);
  expectNear(likely::reciprocal(far, k),
             observe([&] { return 1 / normals.of(far); }), "reciprocal", 0.05,
             1.6);
  // Across zero: the extreme's order of magnitude, 2 N density(0).
  Likely across = Likely::normal(0, 1, k);
  Likely inverse = likely::reciprocal(across, k);
  Likely observed = observe([&] { return 1 / normals.of(across); });
  EXPECT_LT(std::fabs(std::log2(inverse.absMax() / observed.absMax())), 4);
  EXPECT_LT(inverse.lo, 0);
  // A sum of squares does not become negative.
  Likely positive = {1, 1, 0, 20};
  EXPECT_GT(likely::reciprocal(positive, k).lo, 0);
  // A ratio of values away from zero.
  Likely ratio = likely::div(Likely::normal(5, 1, k), far, k);
  EXPECT_NEAR(ratio.mean, 0.5, 0.02);
}

TEST(Likely, ReciprocalOfExponential) {
  // 1 / e^s has the moments of e^-s, however much larger the largest divisor is
  // than the least.
  double k = expectedExtreme(kDraws, 1);
  for (double variance : {0.25, 1.0, 4.0}) {
    auto exponential = [](double s) { return std::exp(s); };
    Likely s = Likely::normal(0.5, variance, k);
    Likely inverse =
        likely::reciprocal(likely::applyMonotone(exponential, s), k);
    Likely wanted =
        likely::applyMonotone(exponential, Likely::normal(-0.5, variance, k));
    EXPECT_NEAR(inverse.mean, wanted.mean, 0.2 * wanted.mean) << variance;
    EXPECT_NEAR(inverse.deviation(), wanted.deviation(),
                0.2 * wanted.deviation())
        << variance;
  }
}

TEST(Likely, Sums) {
  double k = expectedExtreme(kDraws, 1);
  // Many equal terms: normal.
  Likely term = Likely::uniform(-1, 1);
  Likely many =
      likely::sum(0, 1000 * term.variance, likely::tailFromPower(1000), k);
  EXPECT_NEAR(many.hi, k * std::sqrt(1000 / 3.0), 1e-9);
  // One term that dwarfs the others and has a heavy tail: its extreme decides.
  Likely heavy = {0, 1, -400, 400};
  Likely few =
      likely::sum(0, 1.1, likely::tailFromPower(std::pow(heavy.hi, 6)), k);
  EXPECT_NEAR(few.hi, 400, 1e-6);
}

TEST(Likely, StaysWithinBounds) {
  Likely wide = Likely::normal(0.5, 4, 5);
  Likely cut = wide.within({0, 1});
  EXPECT_EQ(cut.lo, 0);
  EXPECT_EQ(cut.hi, 1);
  EXPECT_LE(cut.variance, 0.25);
  EXPECT_EQ(Likely::point(3).absMax(), 3);
  Likely either = likely::mix(Likely::point(0), Likely::point(10), 0.9);
  EXPECT_NEAR(either.mean, 1, 1e-12);
  EXPECT_NEAR(either.variance, 9, 1e-12);
  // Half of the operand is outside the domain.
  Likely root =
      likely::apply(Unary{UnaryFunction::Sqrt}, Likely::normal(0, 1, 4));
  EXPECT_GE(root.lo, 0);
  EXPECT_LE(root.hi, 2.01);
  EXPECT_NEAR(root.mean, 0.7, 0.25);
  EXPECT_GT(expectedExtreme(1, 1), 1);
  EXPECT_NEAR(expectedExtreme(1e6, 1), 5.2565, 1e-3);
}

/// Sums of squares: of two normal numbers the power of a spectrum's bin, of
/// more that of a band.
TEST(Likely, PositiveSums) {
  std::mt19937_64 generator(11);
  for (double shape : {0.5, 1.0, 3.0, 20.0}) {
    constexpr int kRuns = 20, kCount = 1000;
    std::gamma_distribution<double> draw(shape, 2.0);
    double least = 0, inverse = 0, squared = 0;
    for (int run = 0; run < kRuns; ++run) {
      double low = HUGE_VAL;
      for (int i = 0; i < kCount; ++i) {
        double x = draw(generator);
        low = std::min(low, x);
        inverse += 1 / x / kRuns / kCount;
      }
      least += std::log(low) / kRuns;
    }
    double k = expectedExtreme(kCount, 1);
    double expected = expectedLeast(2 * shape, 4 * shape, k);
    // A power of the count that is the inverse of the shape.
    EXPECT_NEAR(std::log(expected), least, 0.6 / shape + 0.05) << shape;
    Likely x{2 * shape, 4 * shape, expected,
             2 * shape + k * k / 2 * 2 * std::sqrt(shape)};
    Likely its = likely::reciprocal(x, k);
    if (shape > 1) {
      EXPECT_NEAR(its.mean, inverse, 0.1 * inverse) << shape;
      // Cut at the least number, of which a normal estimate has far more.
      squared = 1 / (4 * (shape - 1) * (shape - 2));
      double square = its.mean * its.mean + its.variance;
      EXPECT_GT(square, 0.5 * squared) << shape;
      EXPECT_LT(square, 2 * squared) << shape;
    }
    if (shape == 1) {
      // E 1 / x^2 from the least number on: 1 / (4 least), about.
      double square = its.mean * its.mean + its.variance;
      EXPECT_GT(square, 0.25 / (2 * expected));
      EXPECT_LT(square, 4 / (2 * expected));
    }
  }
  EXPECT_EQ(expectedLeast(3, 0, 4), 3);
  EXPECT_NEAR(expectedLeast(1e4, 1, 4), 1e4 - 4, 1);
}

/// Between the extremes of normal and of Laplacian draws.
TEST(Likely, ExtremesOfFilters) {
  std::mt19937_64 generator(5);
  std::exponential_distribution<double> side(std::numbers::sqrt2);
  double laplacian = 0;
  for (int i = 0; i < kDraws; ++i)
    laplacian = std::max(laplacian, side(generator));
  double k = expectedFilterExtreme(kDraws);
  EXPECT_LT(expectedExtreme(kDraws), k);
  EXPECT_LT(k, laplacian);
  for (double count : {10.0, 1e3, 1e6, 1e9}) {
    EXPECT_LT(expectedFilterExtreme(count) / expectedExtreme(count), 1.6);
    EXPECT_GE(expectedFilterExtreme(count), expectedExtreme(count));
  }
}

TEST(LikelyTest, TruncationKeepsAPart) {
  for (double mean : {0.0, 1.5})
    for (double limit : {-1.0, 0.0, 2.0}) {
      Likely x = Likely::normal(mean, 4, expectedExtreme(kDraws));
      Normals normals;
      Likely observed = observe([&] {
        double value = normals.of(x);
        while (value < limit)
          value = normals.of(x);
        return value;
      });
      Likely kept = likely::truncate(x, {limit, HUGE_VAL});
      EXPECT_NEAR(kept.mean, observed.mean, 0.03);
      EXPECT_NEAR(kept.variance, observed.variance, 0.06);
      EXPECT_EQ(kept.lo, limit);
    }
  // Next to nothing is kept: no moment is NaN.
  Likely tail = likely::truncate(Likely::normal(0, 1, 40), {30, HUGE_VAL});
  EXPECT_GE(tail.mean, 30);
  EXPECT_GE(tail.variance, 0);
}

} // namespace
