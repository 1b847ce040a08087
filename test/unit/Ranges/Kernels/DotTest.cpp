//===- DotTest.cpp - Ranges of a product of two unknown rows
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/Kernels/Dot.h"
#include "mpopt/Numerics/Accumulation.h"
#include "mpopt/Ranges/Weights/Kernels/Linear.h"

#include "Samples.h"

#include "gtest/gtest.h"

using namespace mpopt;
using namespace mpopt::test;

namespace {

std::vector<Interval> randomBox(Random &random, size_t count) {
  std::vector<Interval> box(count);
  for (Interval &range : box) {
    double a = uniform(random, -3, 3), b = uniform(random, -3, 3);
    range = {std::min(a, b), std::max(a, b)};
  }
  return box;
}

std::vector<double> sampleOf(Random &random, const std::vector<Interval> &box,
                             size_t count) {
  std::vector<double> row(count);
  for (size_t k = 0; k < count; ++k) {
    const Interval &range = box[box.size() == 1 ? 0 : k];
    row[k] = random() % 3 == 0   ? range.lo
             : random() % 2 == 0 ? range.hi
                                 : uniform(random, range.lo, range.hi);
  }
  return row;
}

TEST(DotOfBoxes, HoldsSamples) {
  Random random(1);
  const FloatFormat &format = FloatFormat::f16();
  for (int round = 0; round < 300; ++round) {
    size_t count = 1 + random() % 40;
    std::vector<Interval> left = randomBox(random, random() % 2 ? count : 1);
    std::vector<Interval> right = randomBox(random, random() % 2 ? count : 1);
    DotOperand a, b;
    a.range = left;
    b.range = right;
    DotRange range = dotOfBoxes(a, b, count);
    double error = dotError({&format}, count, range.terms);
    for (int sample = 0; sample < 20; ++sample) {
      std::vector<double> x = sampleOf(random, left, count);
      std::vector<double> y = sampleOf(random, right, count);
      long double exact = 0, terms = 0;
      double emulated = 0, normX = 0, normY = 0;
      for (size_t k = 0; k < count; ++k) {
        exact += (long double)x[k] * y[k];
        terms += fabsl((long double)x[k] * y[k]);
        emulated = format.round(emulated + format.round(x[k] * y[k]));
        normX += x[k] * x[k], normY += y[k] * y[k];
      }
      EXPECT_LE(range.bound.lo, exact);
      EXPECT_GE(range.bound.hi, exact);
      EXPECT_GE(range.terms, terms);
      EXPECT_LE(range.bound.lo - error, emulated);
      EXPECT_GE(range.bound.hi + error, emulated);
      // And with the sample's own norms as what is known.
      DotOperand knownA = a, knownB = b;
      knownA.norm = std::sqrt(normX) * (1 + 1e-12);
      knownB.norm = std::sqrt(normY) * (1 + 1e-12);
      DotRange known = dotOfBoxes(knownA, knownB, count);
      EXPECT_LE(known.bound.lo, exact);
      EXPECT_GE(known.bound.hi, exact);
      EXPECT_GE(known.terms, terms);
      EXPECT_TRUE(range.bound.contains(known.bound));
    }
  }
}

TEST(DotOfBoxes, ClosedForms) {
  std::vector<Interval> unit = {{-1, 1}}, wide = {{-100, 100}};
  DotOperand a, b;
  a.range = unit;
  b.range = wide;
  EXPECT_EQ(dotOfBoxes(a, b, 64).bound, (Interval{-6400, 6400}));
  // Rows of norm 8 on both sides, as behind a normalisation.
  a.range = wide;
  a.norm = b.norm = 8;
  EXPECT_EQ(dotOfBoxes(a, b, 64).bound, (Interval{-64, 64}));
  EXPECT_EQ(dotOfBoxes(a, b, 64).terms, 64);
  EXPECT_EQ(dotOfBoxes(a, b, 0).bound, Interval::point(0));
  // A softmax's row times values: within their hull.
  std::vector<Interval> share = {{0, 1}}, values = {{-2, 5}, {1, 7}};
  DotOperand weights, rows;
  weights.range = share;
  weights.sum = Interval{1, 1};
  rows.range = values;
  EXPECT_EQ(dotOfBoxes(weights, rows, 2).bound, (Interval{-2, 7}));
  EXPECT_EQ(dotOfBoxes(rows, weights, 2).bound, (Interval{-2, 7}));
  // Unbounded values are not tamed by a norm of the other side.
  std::vector<Interval> any = {Interval::whole()};
  rows.range = any;
  EXPECT_EQ(dotOfBoxes(weights, rows, 2).bound, Interval::whole());
}

// Against the moments of samples.
TEST(DotOfBoxes, LikelyPart) {
  Random random(2);
  size_t count = 24;
  std::vector<Interval> any = {{-100, 100}};
  std::vector<double> meanA = randomList(random, count, -1, 1);
  std::vector<double> varianceA = randomList(random, count, 0.1, 1);
  std::vector<double> meanB = {0.7}, varianceB = {0.4}, half = {2};
  DotOperand a, b;
  a.range = b.range = any;
  a.mean = meanA;
  a.variance = varianceA;
  b.mean = meanB;
  b.variance = varianceB;
  a.halfRange = b.halfRange = half;
  DotRange range = dotOfBoxes(a, b, count);
  std::normal_distribution<double> normal;
  double sum = 0, squares = 0;
  constexpr int samples = 8000;
  for (int sample = 0; sample < samples; ++sample) {
    double dot = 0;
    for (size_t k = 0; k < count; ++k)
      dot += (meanA[k] + std::sqrt(varianceA[k]) * normal(random)) *
             (meanB[0] + std::sqrt(varianceB[0]) * normal(random));
    sum += dot;
    squares += dot * dot;
  }
  double mean = sum / samples, variance = squares / samples - mean * mean;
  EXPECT_NEAR(range.mean, mean, 5 * std::sqrt(variance / samples));
  EXPECT_NEAR(range.variance, variance, 0.1 * variance);
  // Both factors are seldom at their extremes at once.
  double largest = 0;
  for (double m : meanA)
    largest = std::max(largest, std::hypot(m * 2, 0.7 * 2) + 2 * 2 / 2);
  EXPECT_GE(range.tail, largest);
  EXPECT_LE(range.tail, 2 * largest);
}

} // namespace
