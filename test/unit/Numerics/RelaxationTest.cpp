//===- RelaxationTest.cpp - Lines above and below functions
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Variants.h"

#include "mpopt/Numerics/UnaryKernel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace mpopt;

/// The line at x, and how far a double may be from it.
static double at(const Line &line, double x, double &slack) {
  slack = 1e-13 * (std::fabs(line.slope * x) + std::fabs(line.offset) + 1e-300);
  return line.slope * x + line.offset;
}

TEST(Relaxation, ValuesLieBetweenTheLines) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  unsigned relaxed = 0;
  for (UnaryFunction function : getUnaryFunctions())
    for (const Unary &unary : getVariants(function)) {
      UnaryKernel kernel(unary, ComputeError::none());
      UnaryKernel half(unary, ComputeError::in(FloatFormat::f16()));
      for (unsigned round = 0; round < 200; ++round) {
        double scale = std::exp2(int(round % 12) - 6);
        double lo = scale * normal(random);
        Interval x = {lo, lo + std::fabs(scale * normal(random))};
        double near = round % 3 == 0 ? 0.5 : round % 3 == 1 ? 0.05 : 0.95;
        std::optional<Relaxation> lines = kernel.relax(x, near);
        if (!lines)
          continue;
        ++relaxed;
        std::optional<Relaxation> wide = half.relax(x, near);
        ASSERT_TRUE(wide);
        for (unsigned i = 0; i <= 64; ++i) {
          double point = std::clamp(x.lo + (x.hi - x.lo) * i / 64, x.lo, x.hi);
          double value = evaluate(unary, point), slack;
          double upper = at(lines->upper, point, slack);
          EXPECT_LE(value, upper + slack)
              << toString(function) << " " << x.lo << " " << x.hi;
          double lower = at(lines->lower, point, slack);
          EXPECT_GE(value, lower - slack)
              << toString(function) << " " << x.lo << " " << x.hi;
          // A kernel's error only widens.
          EXPECT_LE(value, at(wide->upper, point, slack) + slack);
          EXPECT_GE(value, at(wide->lower, point, slack) - slack);
        }
      }
    }
  EXPECT_GT(relaxed, 5000u);
}

TEST(Relaxation, LinesOfReluAreThoseOfCrown) {
  UnaryKernel kernel({UnaryFunction::Relu}, ComputeError::none());
  std::optional<Relaxation> lines = kernel.relax({-1, 3});
  ASSERT_TRUE(lines);
  EXPECT_DOUBLE_EQ(lines->upper.slope, 0.75);
  EXPECT_DOUBLE_EQ(lines->upper.offset, 0.75);
  EXPECT_EQ(lines->lower.slope, 1);
  EXPECT_EQ(lines->lower.offset, 0);
  EXPECT_EQ(kernel.relax({-3, 1})->lower.slope, 0);
  EXPECT_EQ(kernel.relax({-1, 3}, 0.05)->lower.slope, 0);
}

TEST(Relaxation, SmoothFunctionsAreMetClosely) {
  // A tangent and a chord of e^x on [0, 1]: 0.211 apart at most.
  UnaryKernel kernel({UnaryFunction::Exp}, ComputeError::none());
  std::optional<Relaxation> lines = kernel.relax({0, 1});
  ASSERT_TRUE(lines);
  EXPECT_NEAR(lines->upper.slope, std::exp(1) - 1, 1e-9);
  EXPECT_NEAR(lines->upper.offset, 1, 1e-9);
  EXPECT_NEAR(lines->lower.slope * 0.5 + lines->lower.offset, std::exp(0.5),
              1e-2);
  // No lines around a pole, or where nothing is known.
  EXPECT_FALSE(kernel.relax(Interval::whole()));
  EXPECT_FALSE(
      UnaryKernel({UnaryFunction::Log}, ComputeError::none()).relax({-1, 1}));
}
