//===- SharedSumsTest.cpp - Passes over weights that were made before
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Ranges/Weights/Kernels/SharedSums.h"

#include "Samples.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace mpopt;
using namespace mpopt::test;

namespace {
constexpr uint64_t kSize = 256;

struct Fixture {
  std::vector<float> numbers;
  std::vector<double> centre, radius, mean, variance, halfRange;
  LinearRequest request;

  explicit Fixture(Random &random) {
    for (double number : randomList(random, kSize * kSize, -1, 1))
      numbers.push_back(float(number));
    centre = randomList(random, kSize, -1, 1);
    radius = randomList(random, kSize, 0.5, 1);
    mean = centre;
    variance = radius;
    halfRange = radius;
    request.weights.bytes = {reinterpret_cast<const char *>(numbers.data()),
                             numbers.size() * sizeof(float)};
    request.weights.format = &FloatFormat::f32();
    request.k = request.n = kSize;
    update();
  }
  void update() {
    request.inputs = {centre, radius, mean, variance, halfRange};
  }
};

bool contains(const LinearSums &outer, const LinearSums &inner) {
  for (size_t i = 0; i < inner.size(); ++i) {
    Interval wide = outer.bound(i), narrow = inner.bound(i);
    if (!(wide.lo <= narrow.lo && narrow.hi <= wide.hi) ||
        outer.terms[i] < inner.terms[i])
      return false;
  }
  return outer.size() == inner.size();
}
} // namespace

TEST(SharedSums, TheSamePassIsMadeOnce) {
  Random random(1);
  Fixture fixture(random);
  Memo memo;
  LinearSums first = linearSums(fixture.request, {&memo, false});
  // Other bytes at the same place would be read if the pass were made again.
  std::fill(fixture.numbers.begin(), fixture.numbers.end(), 0.0f);
  LinearSums again = linearSums(fixture.request, {&memo, false});
  EXPECT_EQ(first.centre, again.centre);
  EXPECT_EQ(first.radius, again.radius);
  fixture.radius[3] *= 2;
  fixture.update();
  LinearSums other = linearSums(fixture.request, {&memo, false});
  EXPECT_EQ(other.centre, std::vector<double>(kSize, 0));
}

TEST(SharedSums, NearBoxesAreCovered) {
  Random random(2);
  for (unsigned round = 0; round < 20; ++round) {
    Fixture fixture(random);
    Memo memo;
    SharedSums shared{&memo, true};
    (void)linearSums(fixture.request, shared);
    std::vector<double> moves = randomList(random, kSize, -0.002, 0.002);
    for (size_t i = 0; i < kSize; ++i) {
      fixture.centre[i] += moves[i];
      fixture.radius[i] *= 1 + moves[kSize - 1 - i];
    }
    fixture.update();
    LinearSums exact = linearSums(fixture.request);
    LinearSums near = linearSums(fixture.request, shared);
    EXPECT_TRUE(contains(near, exact));
    EXPECT_NE(near.radius, exact.radius); // it was shared
    for (size_t i = 0; i < kSize; ++i)
      EXPECT_LE(near.radius[i], 1.06 * exact.radius[i]);
  }
}

TEST(SharedSums, FarBoxesAreComputed) {
  Random random(3);
  Fixture fixture(random);
  Memo memo;
  SharedSums shared{&memo, true};
  (void)linearSums(fixture.request, shared);
  fixture.radius[7] *= 1.2;
  fixture.update();
  LinearSums exact = linearSums(fixture.request);
  LinearSums near = linearSums(fixture.request, shared);
  EXPECT_EQ(near.radius, exact.radius);
  // The bound of a far larger box holds, but says nothing.
  fixture.radius[7] /= 1e6;
  fixture.update();
  near = linearSums(fixture.request, shared);
  EXPECT_EQ(near.radius, linearSums(fixture.request).radius);
  // An element that was known and is not any more.
  fixture.radius[9] = HUGE_VAL;
  fixture.update();
  near = linearSums(fixture.request, shared);
  EXPECT_EQ(near.radius, linearSums(fixture.request).radius);
}

TEST(SharedSums, LossesOfASummaryAreKept) {
  std::vector<float> numbers(1 << 17, 1e-9f);
  SummaryRequest request;
  request.weights.bytes = {reinterpret_cast<const char *>(numbers.data()),
                           numbers.size() * sizeof(float)};
  request.weights.format = &FloatFormat::f32();
  request.rows = 1 << 7;
  request.columns = 1 << 10;
  request.byColumn = true;
  request.target = &FloatFormat::f16();
  request.channel = channelOf({1 << 7, 1 << 10});
  Memo memo;
  keepLosses(request, summarizeWeight(request).losses, memo);
  // Other bytes at the same place would be read if the pass were made again.
  std::fill(numbers.begin(), numbers.end(), 0.0f);
  request.rows = 1;
  request.columns = numbers.size();
  request.byColumn = false;
  WeightStats losses = weightLosses(request, &memo);
  EXPECT_EQ(losses.flushes, numbers.size());
  EXPECT_EQ(losses.lostChannels, 1u << 7);
  request.target = &FloatFormat::bf16();
  EXPECT_EQ(weightLosses(request, &memo).flushes, 0u);
}
