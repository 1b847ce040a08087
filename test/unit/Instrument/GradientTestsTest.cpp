//===- GradientTestsTest.cpp - Tests on records of gradients --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sights.h"

#include "lib/Instrument/Confirm/GradientTests.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mpopt;
using namespace mpopt::confirming;
using namespace mpopt::testing;
using ::testing::HasSubstr;

static constexpr float kInf = HUGE_VALF;

namespace {
/// One test on a gradient; sights that are not set were not recorded.
struct Case {
  Watch watch;
  GradientSights sights;
  std::vector<std::shared_ptr<ProbeSight>> kept;
  std::shared_ptr<RunScale> scale;

  Case(Decision test, ProbeSight gradient, std::string dtype = "f16") {
    watch.test = test;
    watch.tensor = "w";
    watch.dtype = std::move(dtype);
    watch.threshold = 0.1;
    sights.gradient = keep(std::move(gradient));
    sights.coarsest = sights.gradient->stored();
  }
  const ProbeSight *keep(ProbeSight sight) {
    kept.push_back(std::make_shared<ProbeSight>(std::move(sight)));
    return kept.back().get();
  }
  Case &against(ProbeSight sight) {
    watch.against = "g";
    sights.against = keep(std::move(sight));
    return *this;
  }
  Case &factor(ProbeSight sight) {
    watch.factor = "x";
    sights.factor = keep(std::move(sight));
    return *this;
  }
  Case &values(ProbeSight sight) {
    sights.values = keep(std::move(sight));
    return *this;
  }
  /// Judged at the first loss scale, run at the second.
  Case &scales(double judged, double lo, double hi) {
    watch.scale = judged;
    scale = std::make_shared<RunScale>(RunScale{{lo, hi}});
    sights.scale = scale.get();
    return *this;
  }
  Case &bounds(double lo, double hi) {
    watch.lo = lo;
    watch.hi = hi;
    return *this;
  }
  TestResult run() const { return runGradientTest(watch, sights); }
  Verdict verdict() const { return run().verdict; }
};
} // namespace

/// Ten values in FP16, so many of them 0 and the others 1.
static ProbeSight seeZeros(unsigned zeros) {
  std::vector<uint16_t> bits(10, 0x3C00);
  std::fill_n(bits.begin(), zeros, uint16_t(0));
  ProbeSight sight = unseen();
  observe(sight, bits.data(), bits.size(), MPOPT_F16, 0);
  return sight;
}

TEST(GradientFlush, IsCountedWhereTheRunWasWider) {
  // 1e-9 is 0 in FP16; what is 0 already is nobody's loss.
  EXPECT_EQ(Case(Decision::GradientFlush, seeF32({1, 1e-9f, 0, 0})).verdict(),
            Verdict::Yes);
  EXPECT_EQ(Case(Decision::GradientFlush, seeF32({1, 1e-3f, 0, 0})).verdict(),
            Verdict::No);
  EXPECT_EQ(Case(Decision::GradientFlush, seeF32({1, 1e-9f}), "bf16").verdict(),
            Verdict::No);
}

TEST(GradientFlush, IsJudgedAtAnotherLossScale) {
  auto at = [](double judged, double ran) {
    return Case(Decision::GradientFlush, seeF32({1, 0x1p-30f}))
        .scales(judged, ran, ran)
        .verdict();
  };
  EXPECT_EQ(at(1, 1), Verdict::Yes);
  EXPECT_EQ(at(16, 1), Verdict::Yes); // 2^-26
  EXPECT_EQ(at(64, 1), Verdict::No);  // 2^-24
  EXPECT_EQ(at(1, 1.0 / 64), Verdict::No);
  EXPECT_EQ(at(3, 1), Verdict::Yes);     // no power of two
  EXPECT_EQ(at(24, 1), Verdict::Unable); // in one bin with the limit
}

TEST(GradientFlush, NeedsTheLossScaleOfTheRun) {
  Case moving =
      Case(Decision::GradientFlush, seeF32({1, 0x1.8p-25f})).scales(1, 1, 2);
  EXPECT_EQ(moving.verdict(), Verdict::Unable);
  EXPECT_THAT(moving.run().why, HasSubstr("1 to 2"));
  moving.sights.scale = nullptr;
  EXPECT_THAT(moving.run().why, HasSubstr("Recorder.scalar"));
}

TEST(GradientFlush, ZerosOfTheRunThatNothingExplainsWereLost) {
  auto zeros = [](unsigned own, unsigned gradient, unsigned factor) {
    return Case(Decision::GradientFlush, seeZeros(own))
        .against(seeZeros(gradient))
        .factor(seeZeros(factor))
        .verdict();
  };
  EXPECT_EQ(zeros(0, 0, 0), Verdict::No);
  EXPECT_EQ(zeros(5, 0, 0), Verdict::Yes);
  EXPECT_EQ(zeros(5, 2, 2), Verdict::Yes);
  // All of them may be columns that are 0.
  EXPECT_EQ(zeros(5, 3, 2), Verdict::Unable);
  EXPECT_EQ(zeros(10, 10, 10), Verdict::Unable);
  EXPECT_EQ(zeros(10, 0, 0), Verdict::Yes);
}

TEST(GradientFlush, ZerosOfTheRunNeedAllThatMayExplainThem) {
  Case sum = Case(Decision::GradientFlush, seeZeros(5)).against(seeZeros(0));
  EXPECT_EQ(sum.verdict(), Verdict::Yes);
  sum.watch.factor = "x";
  EXPECT_EQ(sum.verdict(), Verdict::Unable);
  EXPECT_EQ(Case(Decision::GradientFlush, seeZeros(5)).verdict(),
            Verdict::Unable);
  // At most all zeros were lost, whatever explains them.
  EXPECT_EQ(Case(Decision::GradientFlush, seeZeros(0)).verdict(), Verdict::No);
}

TEST(GradientFlush, WhatIsWidenedHasLostAlready) {
  Case widened(Decision::GradientFlush, seeF32({1, 0}));
  EXPECT_EQ(widened.verdict(), Verdict::No);
  widened.sights.coarsest = &FloatFormat::f16();
  EXPECT_EQ(widened.verdict(), Verdict::Unable);
  EXPECT_THAT(widened.run().why, HasSubstr("other gradients of the run were"));
}

TEST(GradientFlush, WhatIsLeftTellsOfWhatIsLost) {
  // Half as many as the least subnormal are below it.
  EXPECT_EQ(
      Case(Decision::GradientFlush, seeF16({0, 0, 1, 1, 0x3C00})).verdict(),
      Verdict::Yes);
  EXPECT_EQ(
      Case(Decision::GradientFlush, seeF16({0, 0, 2, 2, 0x3C00})).verdict(),
      Verdict::Unable);
}

TEST(GradientOverflow, WhileTheScaleMoved) {
  auto at = [](ProbeSight seen, double judged) {
    return Case(Decision::GradientOverflow, std::move(seen))
        .scales(judged, 1024, 65536)
        .verdict();
  };
  // Inf at some scale up to the judged one, and at one that may be above it.
  EXPECT_EQ(at(seeF16({0x7C00}), 65536), Verdict::Yes);
  EXPECT_EQ(at(seeF16({0x7C00}), 2048), Verdict::Unable);
  EXPECT_EQ(at(seeF32({1}), 65536), Verdict::No);
  EXPECT_EQ(at(seeF32({60000}), 65536), Verdict::Unable);
  EXPECT_EQ(at(seeF32({60000}), 262144), Verdict::Yes);
}

TEST(GradientRatio, OfAllParametersIsTheirNorm) {
  Case test =
      Case(Decision::GradientRatio, seeF32({1}), "f32").bounds(1e-6, kInf);
  test.sights.norm = Interval{1e-4, 1e-4};
  EXPECT_EQ(test.verdict(), Verdict::Unable);
  EXPECT_EQ(test.scales(0, 1, 1).verdict(), Verdict::No);
  EXPECT_EQ(test.scales(0, 1024, 1024).verdict(), Verdict::Yes);
  EXPECT_EQ(test.scales(0, 1, 1024).verdict(), Verdict::Unable);
}

TEST(GradientZero, OfAParameterThatNoneReaches) {
  Case test(Decision::GradientZero, unseen(), "f32");
  EXPECT_EQ(test.verdict(), Verdict::Unseen);
  test.sights.othersLearn = true;
  EXPECT_EQ(test.verdict(), Verdict::Yes);
}

TEST(GradientZero, OfUnits) {
  ProbeSight values = seeF32({-1, 2});
  values.channels = {{-1, 0}, {-3, -2}, {-1, 1}};
  Case test = Case(Decision::GradientZero, seeF32({1}), "f32")
                  .values(std::move(values));
  test.watch.axis = 1;
  test.watch.threshold = 0.5;
  EXPECT_EQ(test.verdict(), Verdict::Yes);
  test.watch.threshold = 1;
  EXPECT_EQ(test.verdict(), Verdict::No);
}

TEST(GradientOverflow, InTheRunOrInTheDtype) {
  EXPECT_EQ(
      Case(Decision::GradientOverflow, seeF16({0x3C00, 0x7C00})).verdict(),
      Verdict::Yes);
  EXPECT_EQ(Case(Decision::GradientOverflow, seeF32({1, 70000})).verdict(),
            Verdict::Yes);
  EXPECT_EQ(Case(Decision::GradientOverflow, seeF32({1, 60000})).verdict(),
            Verdict::No);
  // FP16 overflows before BF16 does.
  EXPECT_EQ(
      Case(Decision::GradientOverflow, seeF16({0x7C00}), "bf16").verdict(),
      Verdict::Unseen);
  EXPECT_EQ(Case(Decision::GradientOverflow, seeF16({0x7E00})).verdict(),
            Verdict::Unseen);
  EXPECT_EQ(
      Case(Decision::GradientOverflow, seeF16({0x3C00, 0x7E00})).verdict(),
      Verdict::Unseen);
}

TEST(GradientOverflow, AtAnotherLossScale) {
  auto at = [](float value, double judged, double ran) {
    return Case(Decision::GradientOverflow, seeF32({value}))
        .scales(judged, ran, ran)
        .verdict();
  };
  EXPECT_EQ(at(1, 65536, 1), Verdict::Yes);
  EXPECT_EQ(at(1, 32768, 1), Verdict::No);
  EXPECT_EQ(at(70000, 1, 2), Verdict::No);
  // An Inf at a greater scale says nothing of a smaller one.
  EXPECT_EQ(Case(Decision::GradientOverflow, seeF16({0x7C00}))
                .scales(1, 1024, 1024)
                .verdict(),
            Verdict::Unable);
}

TEST(GradientRatio, OfRootMeanSquares) {
  auto ratio = [](float own, float other) {
    return Case(Decision::GradientRatio, seeF32({own, -own}), "f32")
        .against(seeF32({other, 0, 0, other}))
        .bounds(1e-4, 1e3)
        .verdict();
  };
  EXPECT_EQ(ratio(1, 1), Verdict::No);
  EXPECT_EQ(ratio(1e-5f, 1), Verdict::Yes);
  EXPECT_EQ(ratio(1e4f, 1), Verdict::Yes);
  EXPECT_EQ(ratio(1, 0), Verdict::Unable);
}

TEST(GradientRatio, WhatWasFlushedMayHaveBeenThere) {
  // 2^-24 in half of the elements, against 2^-11: 8.6e-5, or up to 9.6e-5 with
  // what was lost.
  Case test = Case(Decision::GradientRatio, seeF16({1, 0}))
                  .against(seeF16({0x1000, 0x1000}))
                  .bounds(9e-5, 1e3);
  EXPECT_EQ(test.verdict(), Verdict::Unable);
  test.bounds(1e-5, 1e3);
  EXPECT_EQ(test.verdict(), Verdict::No);
  test.bounds(1e-3, 1e3);
  EXPECT_EQ(test.verdict(), Verdict::Yes);
}

TEST(GradientRatio, NeedsTheOtherGradient) {
  Case test = Case(Decision::GradientRatio, seeF32({1}), "f32").bounds(0.5, 2);
  EXPECT_EQ(test.verdict(), Verdict::Unable);
  EXPECT_EQ(test.against(unseen()).verdict(), Verdict::Unseen);
  EXPECT_EQ(test.against(seeF32({kInf})).verdict(), Verdict::Unseen);
}

TEST(GradientZero, IsNoneThatMayHaveBeenFlushed) {
  EXPECT_EQ(Case(Decision::GradientZero, seeF32({0, 0}), "f32").verdict(),
            Verdict::Yes);
  EXPECT_EQ(Case(Decision::GradientZero, seeF32({0, 1e-30f}), "f32").verdict(),
            Verdict::No);
  EXPECT_EQ(Case(Decision::GradientZero, seeF32({0, NAN}), "f32").verdict(),
            Verdict::No);
  EXPECT_EQ(Case(Decision::GradientZero, seeF16({0, 0})).verdict(),
            Verdict::Unable);
  Case behind(Decision::GradientZero, seeF32({0, 0}), "f32");
  behind.sights.coarsest = &FloatFormat::bf16();
  EXPECT_EQ(behind.verdict(), Verdict::Yes);
  behind.sights.coarsest = &FloatFormat::f16();
  EXPECT_EQ(behind.verdict(), Verdict::Unable);
}

TEST(GradientNonFinite, BeginsWhereNothingElseWasBad) {
  auto bad = [](ProbeSight values, ProbeSight from) {
    return Case(Decision::GradientNonFinite, seeF32({1, kInf}, 3), "f32")
        .values(std::move(values))
        .against(std::move(from))
        .run();
  };
  TestResult own = bad(seeF32({0}, 3), seeF32({1}, 3));
  EXPECT_EQ(own.verdict, Verdict::Yes);
  EXPECT_EQ(own.step, 3u);
  EXPECT_EQ(bad(seeF32({NAN}, 3), seeF32({1}, 3)).verdict, Verdict::Unseen);
  EXPECT_EQ(bad(seeF32({0}, 3), seeF32({NAN}, 3)).verdict, Verdict::Unseen);
  // What was bad later explains nothing.
  EXPECT_EQ(bad(seeF32({NAN}, 4), seeF32({NAN}, 5)).verdict, Verdict::Yes);
  EXPECT_EQ(Case(Decision::GradientNonFinite, seeF32({1}), "f32").verdict(),
            Verdict::No);
  EXPECT_EQ(Case(Decision::GradientNonFinite, seeF32({NAN}), "f32").verdict(),
            Verdict::Unable);
}

TEST(GradientNonFinite, AnInfInFP16MayBeAnOverflow) {
  EXPECT_EQ(Case(Decision::GradientNonFinite, seeF16({0x7C00}))
                .values(seeF16({0}))
                .verdict(),
            Verdict::Unable);
  EXPECT_EQ(Case(Decision::GradientNonFinite, seeF16({0x7E00}))
                .values(seeF16({0}))
                .verdict(),
            Verdict::Yes);
}

TEST(GradientTests, OfWhatWasNotSeen) {
  for (Decision test : {Decision::GradientFlush, Decision::GradientOverflow,
                        Decision::GradientRatio, Decision::GradientZero,
                        Decision::GradientNonFinite}) {
    EXPECT_TRUE(looksAtGradient(test));
    EXPECT_EQ(Case(test, unseen()).verdict(), Verdict::Unseen);
    ProbeSight mixed = seeF32({0, 1});
    observe(mixed, "\0\0", 1, MPOPT_F16, 1);
    EXPECT_THAT(Case(test, std::move(mixed)).run().why,
                HasSubstr("several dtypes"));
  }
  EXPECT_FALSE(looksAtGradient(Decision::Overflow));
}
