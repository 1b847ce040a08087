//===- SteepnessTest.cpp - How far a function carries an error
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Variants.h"

#include "mpopt/Numerics/FunctionTable.h"
#include "mpopt/Numerics/Steepness.h"

#include "gtest/gtest.h"

#include <random>

using namespace mpopt;

namespace {

/// Random pairs in random intervals, of each function in its variants.
TEST(Steepness, HoldsForPairs) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  for (UnaryFunction function : getUnaryFunctions())
    for (const Unary &unary : getVariants(function)) {
      unsigned bounded = 0;
      for (int round = 0; round < 400; ++round) {
        double size = std::exp2(12 * unit(random) - 8);
        double middle =
            (2 * unit(random) - 1) * std::exp2(8 * unit(random) - 4);
        Interval x = {middle - size, middle + size};
        Steepness steepness = getSteepness(unary, x);
        if (!std::isfinite(steepness.slope))
          continue;
        ++bounded;
        for (int pair = 0; pair < 100; ++pair) {
          double a = x.lo + unit(random) * (x.hi - x.lo);
          double b = pair % 2 ? a + 1e-3 * (x.hi - a)
                              : x.lo + unit(random) * (x.hi - x.lo);
          double far = std::fabs(evaluate(unary, a) - evaluate(unary, b));
          double rounding = 1e-12 * (std::fabs(evaluate(unary, a)) + 1);
          EXPECT_LE(far, steepness.slope * std::fabs(a - b) + steepness.jump +
                             rounding)
              << toString(unary.function) << " at " << a << " and " << b;
        }
      }
      // Functions without jumps have a bound.
      llvm::StringRef name = unary.function.row().name;
      if (!unary.function.row().facts.integral && name != "Shrink" &&
          name != "ThresholdedRelu" && name != "Tan" && name != "Sign" &&
          !(name == "Celu" && unary.alpha <= 0) &&
          !(name == "Softplus" && unary.alpha <= 0)) {
        EXPECT_GT(bounded, 0u) << toString(unary.function);
      }
    }
}

TEST(Steepness, KnowsWhereFunctionsAreFlat) {
  Unary sigmoid{UnaryFunction::Sigmoid};
  EXPECT_NEAR(getSteepness(sigmoid, {-1, 1}).slope, 0.25, 1e-6);
  EXPECT_LT(getSteepness(sigmoid, {10, 20}).slope, 1e-4);
  EXPECT_TRUE(std::isinf(getSteepness({UnaryFunction::Log}, {-0.5, 1}).slope));
  EXPECT_TRUE(std::isinf(getSteepness({UnaryFunction::Sqrt}, {0, 1}).slope));
}

} // namespace
