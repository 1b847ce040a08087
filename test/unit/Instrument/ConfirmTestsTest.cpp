//===- ConfirmTestsTest.cpp - The tests that decide findings --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sights.h"

#include "lib/Instrument/Confirm/Tests.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mpopt;
using namespace mpopt::confirming;
using namespace mpopt::testing;

static constexpr float kInf = HUGE_VALF;

static Watch watch(Decision test, std::string dtype = "f16",
                   double threshold = 0) {
  Watch watch;
  watch.test = test;
  watch.tensor = "t";
  watch.dtype = std::move(dtype);
  watch.threshold = threshold;
  return watch;
}

static Verdict run(const Watch &watch, const ProbeSight &seen,
                   const ProbeSight *against = nullptr, bool given = false) {
  return runTest(watch, seen, against, given).verdict;
}

TEST(Tests, WhatDidNotRunIsUnseen) {
  Watch overflow = watch(Decision::Overflow);
  EXPECT_EQ(run(overflow, unseen()), Verdict::Unseen);
  EXPECT_EQ(run(overflow, seeF32({})), Verdict::Unseen);
  ProbeSight skipped = unseen();
  skipped.record.skipped = 5;
  EXPECT_EQ(runTest(overflow, skipped, nullptr, false).why,
            "none of its calls was recorded");
}

TEST(Tests, OverflowBeginsWhereRoundingGivesInf) {
  Watch overflow = watch(Decision::Overflow);
  EXPECT_EQ(run(overflow, seeF32({1, 65519.996f})), Verdict::No);
  EXPECT_EQ(run(overflow, seeF32({1, -65520})), Verdict::Yes);
  EXPECT_EQ(run(watch(Decision::Overflow, "bf16"), seeF32({1, -65520})),
            Verdict::No);
  EXPECT_EQ(run(watch(Decision::Overflow, "f8E4M3FN"), seeF32({464})),
            Verdict::No);
  EXPECT_EQ(run(watch(Decision::Overflow, "f8E4M3FN"), seeF32({464.1f})),
            Verdict::Yes);
  // A format that the record has no counts of.
  EXPECT_EQ(run(watch(Decision::Overflow, "f8E5M2FNUZ"), seeF32({70000})),
            Verdict::Yes);
  EXPECT_EQ(run(watch(Decision::Overflow, "i64"), seeF32({1})),
            Verdict::Unable);
}

TEST(Tests, OverflowTellsItsStep) {
  ProbeSight seen = seeF32({1}, 2);
  float large = 1e5f;
  observe(seen, &large, 1, MPOPT_F32, 7);
  EXPECT_EQ(runTest(watch(Decision::Overflow), seen, nullptr, false).step, 7u);
}

TEST(Tests, InfCountsUnlessItIsTheModelsOwn) {
  Watch overflow = watch(Decision::Overflow);
  ProbeSight seen = seeF32({1, -kInf});
  EXPECT_EQ(run(overflow, seen), Verdict::Yes);
  EXPECT_EQ(run(overflow, seen, nullptr, /*given=*/true), Verdict::No);
  EXPECT_EQ(run(overflow, seeF32({NAN, NAN})), Verdict::Unseen);
  EXPECT_EQ(run(overflow, seeF32({NAN, 1})), Verdict::No);
}

TEST(Tests, AnInfOfANarrowerRunSaysNothingOfAWiderFormat) {
  ProbeSight seen = seeF16({0x7c00, 0x3c00});
  EXPECT_EQ(run(watch(Decision::Overflow, "f16"), seen), Verdict::Yes);
  EXPECT_EQ(run(watch(Decision::Overflow, "bf16"), seen), Verdict::Unseen);
}

TEST(Tests, FlushShareIsOfTheNonZeroValues) {
  Watch half = watch(Decision::FlushShare, "f16", 0.5);
  EXPECT_EQ(run(half, seeF32({0, 0, 1, 1e-9f})), Verdict::Yes);
  EXPECT_EQ(run(half, seeF32({0, 1, 1, 1e-9f})), Verdict::No);
  EXPECT_EQ(run(half, seeF32({0, 0})), Verdict::No);
  // 2^-25 rounds to zero, the next FP32 value does not.
  EXPECT_EQ(run(half, seeF32({0x1p-25f})), Verdict::Yes);
  EXPECT_EQ(run(half, seeF32({std::nextafterf(0x1p-25f, 1)})), Verdict::No);
}

TEST(Tests, WhatWasFlushedIsAZeroAmongOthers) {
  Watch half = watch(Decision::FlushShare, "f16", 0.5);
  EXPECT_EQ(run(half, seeF16({0, 0, 0, 0x3c00})), Verdict::Unable);
  EXPECT_EQ(run(half, seeF16({0, 0x3c00, 0x3c00, 0x3c00})), Verdict::No);
  EXPECT_EQ(run(watch(Decision::LossOfRange), seeF16({0, 0x3c00})),
            Verdict::Unable);
  EXPECT_EQ(run(watch(Decision::LossOfRange), seeF16({0x3c00})), Verdict::No);
}

TEST(Tests, LossOfRangeIsEither) {
  Watch loss = watch(Decision::LossOfRange);
  EXPECT_EQ(run(loss, seeF32({1, 1e5f})), Verdict::Yes);
  EXPECT_EQ(run(loss, seeF32({1, 1e-9f})), Verdict::Yes);
  EXPECT_EQ(run(loss, seeF32({1, 0})), Verdict::No);
}

TEST(Tests, ZeroAlsoByRounding) {
  Watch zero = watch(Decision::Zero);
  EXPECT_EQ(run(zero, seeF32({1, -2})), Verdict::No);
  EXPECT_EQ(run(zero, seeF32({1, -0.0f})), Verdict::Yes);
  EXPECT_EQ(run(zero, seeF32({1, 1e-9f})), Verdict::Yes);
  EXPECT_EQ(run(watch(Decision::Zero, "f32"), seeF32({1, 1e-9f})), Verdict::No);
  EXPECT_EQ(run(zero, seeF32({NAN})), Verdict::Unseen);
}

TEST(Tests, DomainEndsInsideOrOutside) {
  Watch log = watch(Decision::Domain);
  log.lo = 0;
  log.open = true;
  EXPECT_EQ(run(log, seeF32({1, 1e-9f})), Verdict::Yes);
  EXPECT_EQ(run(log, seeF32({1, 1e-7f})), Verdict::No);
  EXPECT_EQ(run(log, seeF32({1, -3})), Verdict::Yes);
  Watch sqrt = log;
  sqrt.open = false;
  EXPECT_EQ(run(sqrt, seeF32({0, 4})), Verdict::No);
  EXPECT_EQ(run(sqrt, seeF32({-1e-9f, 4})), Verdict::No); // -0 in FP16
  EXPECT_EQ(run(sqrt, seeF32({-1e-3f, 4})), Verdict::Yes);
  Watch acos = sqrt;
  acos.lo = -1;
  acos.hi = 1;
  EXPECT_EQ(run(acos, seeF32({1.0001f})), Verdict::No); // 1 in FP16
  EXPECT_EQ(run(acos, seeF32({-1.001f})), Verdict::Yes);
  // Infinities are arguments like others.
  EXPECT_EQ(run(log, seeF32({1, -INFINITY})), Verdict::Yes);
  EXPECT_EQ(run(log, seeF32({1, INFINITY})), Verdict::No);
  EXPECT_EQ(run(log, seeF32({INFINITY})), Verdict::No);
  EXPECT_EQ(run(sqrt, seeF32({-INFINITY})), Verdict::Yes);
  EXPECT_EQ(run(acos, seeF32({0, INFINITY})), Verdict::Yes);
  EXPECT_EQ(runTest(sqrt, seeF32({-INFINITY}, 4), nullptr, false).step, 4u);
  EXPECT_EQ(run(log, seeF32({NAN})), Verdict::Unseen);
  // 1 - p where p rounds to 1.
  Watch complement = watch(Decision::Domain);
  complement.hi = 1;
  complement.open = true;
  EXPECT_EQ(run(complement, seeF32({0.9999f})), Verdict::Yes);
  EXPECT_EQ(run(complement, seeF32({0.99f})), Verdict::No);
}

TEST(Tests, NearOverflow) {
  Watch near = watch(Decision::NearOverflow, "f16", 60000);
  EXPECT_EQ(run(near, seeF32({59999})), Verdict::No);
  EXPECT_EQ(run(near, seeF32({-60000})), Verdict::Yes);
  EXPECT_EQ(run(near, seeF32({1e6f})), Verdict::Yes);
  EXPECT_EQ(run(near, seeF16({0x7c00})), Verdict::Yes);
}

TEST(Tests, MaskedRowsOfANarrowerFormat) {
  Watch rows = watch(Decision::NonFinite);
  rows.against = "scores";
  ProbeSight probabilities = seeF32({0.5f, 0.5f});
  ProbeSight inside = seeF32({1, -30000}), some = seeF32({1, -1e9f}),
             all = seeF32({-1e9f, -1e9f});
  EXPECT_EQ(run(rows, seeF32({NAN}), &some), Verdict::Yes);
  EXPECT_EQ(run(rows, probabilities, &inside), Verdict::No);
  EXPECT_EQ(run(rows, probabilities, &some), Verdict::Unseen);
  EXPECT_EQ(run(rows, probabilities, &all), Verdict::Yes);
  // A run in FP16 shows it.
  ProbeSight stored = seeF16({0xfc00, 0x3c00});
  EXPECT_EQ(run(rows, seeF16({0x3800}), &stored), Verdict::No);
}

TEST(Tests, TwoTensors) {
  Watch cancel = watch(Decision::Cancellation, "f16", 0.1);
  ProbeSight large = seeF32({1000, 1001}), left = seeF32({1, -1}),
             small = seeF32({1, 2});
  EXPECT_EQ(run(cancel, left, &large), Verdict::Yes);
  EXPECT_EQ(run(cancel, left, &small), Verdict::No);
  EXPECT_EQ(run(cancel, left, nullptr), Verdict::Unable);
  Watch absorb = watch(Decision::Absorption);
  ProbeSight huge = seeF32({10000});
  EXPECT_EQ(run(absorb, left, &huge), Verdict::Yes);
  EXPECT_EQ(run(absorb, left, &large), Verdict::No);
  EXPECT_EQ(run(absorb, seeF32({0}), &huge), Verdict::No);
}

TEST(Tests, IntegersAndAngles) {
  Watch integers = watch(Decision::IntegerLimit);
  EXPECT_EQ(run(integers, seeF32({2048})), Verdict::No);
  EXPECT_EQ(run(integers, seeF32({2049})), Verdict::Yes);
  EXPECT_EQ(run(integers, seeI64({-4000})), Verdict::Yes);
  EXPECT_EQ(run(watch(Decision::IntegerLimit, "bf16"), seeF32({257})),
            Verdict::Yes);
  Watch angle = watch(Decision::LargeAngle, "f16", 0.01);
  EXPECT_EQ(run(angle, seeF32({15.9f})), Verdict::No);
  EXPECT_EQ(run(angle, seeF32({16})), Verdict::Yes);
  EXPECT_EQ(run(angle, seeF32({0})), Verdict::No);
}

TEST(Tests, Channels) {
  Watch ratio = watch(Decision::ChannelRatio, "f16", 1e4);
  ProbeSight seen = seeF32({1});
  EXPECT_EQ(run(ratio, seen), Verdict::Unable);
  seen.channels = {{-1e5, 1e5}, {0, 1}, {-1e5, 0}, {1e4, 1e5}};
  EXPECT_EQ(run(ratio, seen), Verdict::Yes);
  seen.channels[1] = {0, 100};
  EXPECT_EQ(run(ratio, seen), Verdict::No);
  // A dead channel is not a small one, and one without values is none.
  seen.channels[1] = {0, 0};
  EXPECT_EQ(run(ratio, seen), Verdict::No);
  seen.channels[1] = {INFINITY, -INFINITY};
  EXPECT_EQ(run(ratio, seen), Verdict::No);
  seen.channels.assign(4, {0, 0});
  EXPECT_EQ(run(ratio, seen), Verdict::No);
}

TEST(Tests, RoundingsOfALongSum) {
  Watch sum = watch(Decision::SumError, "f16", 0.1);
  sum.terms = 350;
  // Partial sums of terms around 0 are as large as the sum, which is small.
  ProbeSight around = seeF32({1, -1}), same = seeF32({3, 3});
  EXPECT_EQ(run(sum, around), Verdict::Yes);
  EXPECT_EQ(run(sum, same), Verdict::No);
  EXPECT_EQ(run(sum, seeF32({0, 0})), Verdict::No);
  EXPECT_EQ(run(sum, seeF32({NAN})), Verdict::Unseen);
  sum.oneSign = true;
  EXPECT_EQ(run(sum, around), Verdict::No);
  sum.terms = 420;
  EXPECT_EQ(run(sum, around), Verdict::Yes);
  EXPECT_EQ(run(sum, same), Verdict::Yes);
  EXPECT_EQ(run(sum, seeF32({0, 0})), Verdict::No);
  sum.pairwise = true;
  EXPECT_EQ(run(sum, same), Verdict::No);
  sum.dtype = "f32";
  sum.pairwise = false;
  EXPECT_EQ(run(sum, same), Verdict::No);
}

/// Without sums nobody knows what is typical; counts and extremes are enough
/// for all else.
TEST(Tests, StatisticsAsOutputs) {
  ProbeSight large = seeOutputs({1000, 1001}), left = seeOutputs({1, -1});
  ProbeSight whole = seeF32({1, -1}), wholeLarge = seeF32({1000, 1001});
  Watch cancel = watch(Decision::Cancellation, "f16", 0.1);
  EXPECT_EQ(run(cancel, left, &wholeLarge), Verdict::Unable);
  EXPECT_EQ(run(cancel, whole, &large), Verdict::Unable);
  EXPECT_EQ(run(cancel, seeOutputs({NAN}), &large), Verdict::Unseen);
  Watch absorb = watch(Decision::Absorption);
  EXPECT_EQ(run(absorb, whole, &large), Verdict::Unable);
  EXPECT_EQ(run(absorb, left, &wholeLarge), run(absorb, whole, &wholeLarge));
  EXPECT_THAT(runTest(absorb, left, &large, false).why,
              ::testing::HasSubstr("no sums"));
  Watch sum = watch(Decision::SumError, "f16", 0.1);
  sum.terms = 420;
  EXPECT_EQ(run(sum, left), Verdict::Unable);
  sum.oneSign = true;
  EXPECT_EQ(run(sum, left), Verdict::Yes);

  for (auto values : {std::initializer_list<float>{1, 65520, 1e-9f},
                      {0, 1, 2},
                      {448, 65504, 3e-8f, kInf}})
    for (Decision test :
         {Decision::Overflow, Decision::FlushShare, Decision::LossOfRange,
          Decision::Zero, Decision::NonFinite, Decision::Nan, Decision::Dead,
          Decision::NearOverflow, Decision::IntegerLimit, Decision::LargeAngle})
      for (const char *dtype : {"f16", "bf16", "f8E4M3FN", "f8E5M2", "f32"}) {
        TestResult one =
            runTest(watch(test, dtype, 0.3), seeF32(values, 4), nullptr, false);
        TestResult other = runTest(watch(test, dtype, 0.3),
                                   seeOutputs(values, 4), nullptr, false);
        EXPECT_EQ(one.verdict, other.verdict) << dtype << ' ' << int(test);
        EXPECT_EQ(one.step, other.step) << dtype << ' ' << int(test);
      }
}

TEST(Tests, Dead) {
  Watch dead = watch(Decision::Dead, "f16", 1e-10);
  EXPECT_EQ(run(dead, seeF32({0, 1e-11f})), Verdict::Yes);
  EXPECT_EQ(run(dead, seeF32({0, 1e-9f})), Verdict::No);
  EXPECT_EQ(run(dead, seeF32({0, NAN})), Verdict::No);
}
