//===- ConfirmTest.cpp - Records against ledgers --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Sights.h"

#include "lib/Instrument/Confirm/Scales.h"

#include "mpopt/Report/JsonReader.h"
#include "mpopt/Report/Keys.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mpopt;
using namespace mpopt::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

static constexpr float kInf = HUGE_VALF;

namespace {
/// A chain of probes, each of which depends on the one before it.
struct Case {
  Ledger ledger;
  RunRecords runs;

  explicit Case(unsigned probes, std::string dtype = "f32") {
    ledger.report.precision = "as-is";
    for (unsigned id = 0; id < probes; ++id) {
      Probe probe;
      probe.id = id;
      probe.role = id ? ProbeRole::Sentinel : ProbeRole::Input;
      probe.tensor.name = "t" + std::to_string(id);
      if (id) {
        probe.tensor.op = {"op" + std::to_string(id), "Add", ""};
        probe.from = {int64_t(id) - 1};
        probe.via = {probe.tensor.op.name};
      }
      probe.tensor.dtype = dtype;
      probe.tensor.fileDtype = "f32";
      probe.tensor.asFiled = dtype == "f32";
      probe.tensor.narrowest = dtype;
      probe.tensor.bound = {-100, 100};
      probe.tensor.nan = probe.tensor.posInf = probe.tensor.negInf = false;
      ledger.plan.probes.push_back(std::move(probe));
      runs.probes.push_back(unseen());
      runs.gradients.push_back(unseen());
    }
    ledger.report.assumptions = {{"t0", {-10, 10}, 0, 1, "default", ""}};
    runs.probes[0] = seeF32({1, 2});
  }

  TensorFacts &tensor(unsigned id) { return ledger.plan.probes[id].tensor; }
  Confirmation confirm() {
    ConfirmOptions options;
    for (const RuleInfo &rule : getRules())
      options.rules.push_back(&rule);
    return mpopt::confirm(ledger, runs, options);
  }
};
} // namespace

static std::vector<std::string> listKinds(const Confirmation &confirmation) {
  std::vector<std::string> kinds;
  for (const Exceeded &exceeded : confirmation.exceeded)
    kinds.push_back(exceeded.kind);
  return kinds;
}

TEST(Exceeded, OnlyByMoreThanARuntimeMayDiffer) {
  Case test(2);
  test.runs.probes[1] = seeF32({100.01f});
  EXPECT_TRUE(test.confirm().exceeded.empty());
  test.runs.probes[1] = seeF32({101});
  Confirmation confirmation = test.confirm();
  EXPECT_THAT(listKinds(confirmation), ElementsAre("bound"));
  EXPECT_EQ(confirmation.comparable, 2u);
}

TEST(Exceeded, NotWhereAnotherPrecisionWasJudged) {
  Case test(2, "f16");
  test.runs.probes[1] = seeF32({1e6f, NAN});
  Confirmation confirmation = test.confirm();
  EXPECT_TRUE(confirmation.exceeded.empty());
  EXPECT_EQ(confirmation.comparable, 0u);
}

TEST(Exceeded, NotUnderAnAutocastThatTheFileDoesNotKnow) {
  Case test(3);
  test.tensor(1).dtype = test.tensor(1).narrowest = "f16";
  test.tensor(1).asFiled = false;
  test.runs.probes[1] = seeF16({0x3C00});
  test.runs.probes[2] = seeF32({1e6f});
  EXPECT_THAT(test.confirm().outside, ::testing::SizeIs(1));
  test.ledger.report.precision = "autocast-fp16";
  Confirmation confirmation = test.confirm();
  EXPECT_TRUE(confirmation.outside.empty());
  EXPECT_TRUE(confirmation.exceeded.empty());
  EXPECT_EQ(confirmation.comparable, 0u);
  // In FP32 after all, the bounds are those of the file.
  test.runs.probes[1] = seeF32({1});
  EXPECT_THAT(listKinds(test.confirm()), ElementsAre("bound"));
}

TEST(Exceeded, NotWhereAnAssumptionDidNotHold) {
  Case test(2);
  test.runs.probes[0] = seeF32({11});
  test.runs.probes[1] = seeF32({1e6f});
  Confirmation confirmation = test.confirm();
  EXPECT_TRUE(confirmation.exceeded.empty());
  ASSERT_EQ(confirmation.outside.size(), 1u);
  EXPECT_EQ(confirmation.outside[0].kind, "range");
}

TEST(Exceeded, NotWhereBoundsByElementCannotBeChecked) {
  Case test(2);
  test.ledger.report.assumptions[0].byElement = true;
  test.runs.probes[1] = seeF32({1e6f});
  EXPECT_TRUE(test.confirm().exceeded.empty());
}

TEST(Exceeded, FlagsAndSmallestMagnitude) {
  Case test(2);
  test.runs.probes[1] = seeF32({1, kInf});
  EXPECT_THAT(listKinds(test.confirm()), ElementsAre("non-finite"));
  // So near to the edge that rounding may pass it.
  test.tensor(1).bound = {-3.4e38, 3.4e38};
  EXPECT_TRUE(test.confirm().exceeded.empty());
  test.tensor(1).bound = {-100, 100};
  test.tensor(1).minNonZero = 0.5;
  test.runs.probes[1] = seeF32({0, 0.1f});
  EXPECT_THAT(listKinds(test.confirm()), ElementsAre("min_nonzero"));
}

TEST(Exceeded, WhatIsBehindFP16MayHaveLeftOutItsRounding) {
  Case test(2);
  test.tensor(1).narrowest = "f16";
  test.tensor(1).minNonZero = 0.5;
  test.runs.probes[1] = seeF32({100.5f, 1e-9f});
  EXPECT_TRUE(test.confirm().exceeded.empty());
  test.runs.probes[1] = seeF32({101});
  EXPECT_THAT(listKinds(test.confirm()), ElementsAre("bound"));
}

TEST(Exceeded, WhatIsCertainHasToHappen) {
  Case test(2);
  Finding finding;
  finding.rule = "MP201";
  finding.certainty = Certainty::Certain;
  finding.tensor = "t1";
  finding.fingerprint = "print";
  Watch watch;
  watch.test = Decision::Overflow;
  watch.tensor = "t1";
  watch.dtype = "f32";
  finding.watches = {watch};
  test.ledger.report.findings = {finding};
  test.runs.probes[1] = seeF32({1});
  EXPECT_THAT(listKinds(test.confirm()), ElementsAre("certain"));
}

TEST(Outside, TheBoxIsThatOfTheDtype) {
  Case test(1);
  // 0.1 is 0.100000001 in FP32.
  test.ledger.report.assumptions[0].bound = {0, 0.1};
  test.runs.probes[0] = seeF32({0.1f});
  EXPECT_TRUE(test.confirm().outside.empty());
}

TEST(Outside, DimsAndDtype) {
  Case test(1);
  test.tensor(0).shape = {3};
  std::vector<Outside> outside = test.confirm().outside;
  ASSERT_EQ(outside.size(), 1u);
  EXPECT_EQ(outside[0].text, "axis 0 had 2 elements in place of 3");
  test.tensor(0).shape = {-1};
  EXPECT_TRUE(test.confirm().outside.empty());
  test.tensor(0).shape = {2, 2};
  EXPECT_THAT(test.confirm().outside[0].text, HasSubstr("rank 1 in place"));
  test.tensor(0).shape = {-1};
  test.tensor(0).fileDtype = "f16";
  EXPECT_EQ(test.confirm().outside[0].kind, "dtype");
}

TEST(Outside, WhatWasNotRecordedIsNotOutside) {
  Case test(1);
  test.tensor(0).shape = {-1, 4};
  test.runs.probes[0] = seeOutputs({1, 2});
  Confirmation confirmed = test.confirm();
  EXPECT_TRUE(confirmed.outside.empty());
  EXPECT_EQ(confirmed.comparable, 1u);
  test.runs.probes[0].record.dtype = MPOPT_UNDEFINED;
  confirmed = test.confirm();
  EXPECT_TRUE(confirmed.outside.empty());
  EXPECT_EQ(confirmed.comparable, 0u);
}

static std::vector<int64_t> listBeginnings(const Confirmation &confirmation) {
  std::vector<int64_t> probes;
  for (const FirstBad &first : confirmation.beginnings)
    probes.push_back(first.probe);
  return probes;
}

TEST(FirstBad, TheEarliestStepCounts) {
  Case test(4);
  // Both get as far.
  test.ledger.plan.probes[2].output = test.ledger.plan.probes[3].output = true;
  test.ledger.plan.probes[3].from = {0};
  test.runs.probes[1] = seeF32({NAN}, 5);
  test.runs.probes[2] = seeF32({NAN}, 5);
  test.runs.probes[3] = seeF32({kInf}, 4);
  Confirmation confirmation = test.confirm();
  EXPECT_THAT(listBeginnings(confirmation), ElementsAre(3, 1));
  EXPECT_EQ(confirmation.beginnings[0].step, 4u);
  test.runs.probes[3] = seeF32({1}, 4);
  EXPECT_THAT(listBeginnings(test.confirm()), ElementsAre(1));
}

TEST(FirstBad, WhatIsHandedOnIsAConsequence) {
  Case test(3);
  test.runs.probes[1] = seeF32({kInf});
  test.runs.probes[2] = seeF32({NAN});
  Confirmation confirmation = test.confirm();
  ASSERT_EQ(test.ledger.report.findings.size(), 2u);
  EXPECT_TRUE(test.ledger.report.findings[0].root.empty());
  EXPECT_EQ(test.ledger.report.findings[1].root,
            test.ledger.report.findings[0].fingerprint);
  EXPECT_THAT(listBeginnings(confirmation), ElementsAre(1));
}

/// A branch is taken for the first time when what it reads was NaN for long.
TEST(FirstBad, NumbersOfOwnCallsAreInNoOrder) {
  Case test(3);
  test.runs.probes[1] = seeF32({NAN}, 4);
  test.runs.probes[2] = seeF32({NAN}, 0);
  EXPECT_THAT(listBeginnings(test.confirm()), ElementsAre(2, 1));
  for (unsigned counted : {1, 2}) {
    test.runs.probes[counted].record.flags |= MPOPT_STEPS_COUNTED;
    Confirmation confirmation = test.confirm();
    EXPECT_THAT(listBeginnings(confirmation), ElementsAre(1));
    EXPECT_THAT(confirmation.beginnings[0].why, HasSubstr("was ever NaN"));
    EXPECT_EQ(confirmation.beginnings[0].sharesSteps, counted == 2);
    test.runs.probes[counted].record.flags = MPOPT_STEPS_SHARED;
  }
  // As records were that say nothing of steps.
  test.runs.probes[1].record.flags = test.runs.probes[2].record.flags = 0;
  EXPECT_THAT(listBeginnings(test.confirm()), ElementsAre(1));
}

TEST(FirstBad, WhatReachesAnOutputComesFirst) {
  Case test(6);
  for (unsigned id : {1, 2, 4})
    test.ledger.plan.probes[id].from = {0};
  test.ledger.plan.probes[5].output = true;
  // 1 reaches nothing, 2 reaches 3, 4 the output.
  test.runs.probes[1] = seeF32({-kInf}, 0);
  test.runs.probes[2] = seeF32({-kInf}, 1);
  test.runs.probes[3] = seeF32({NAN}, 1);
  test.runs.probes[4] = seeF32({kInf}, 2);
  test.runs.probes[5] = seeF32({NAN}, 2);
  Confirmation confirmation = test.confirm();
  ASSERT_THAT(listBeginnings(confirmation), ElementsAre(4, 2, 1));
  EXPECT_EQ(confirmation.beginnings[0].reaches, Reach::Output);
  EXPECT_EQ(confirmation.beginnings[1].reaches, Reach::Op);
  EXPECT_EQ(confirmation.beginnings[2].reaches, Reach::Nothing);
}

/// Nothing comes through a tensor that is proved finite, if the proof counts.
TEST(FirstBad, WhatIsBlockedDoesNotHideAnother) {
  Case test(3);
  test.ledger.plan.probes[2].blocked = {1};
  test.runs.probes[1] = seeF32({-kInf}, 0);
  test.runs.probes[2] = seeF32({kInf}, 0);
  Confirmation confirmation = test.confirm();
  EXPECT_THAT(listBeginnings(confirmation), ElementsAre(1, 2));
  EXPECT_THAT(confirmation.beginnings[1].why, HasSubstr("cannot get here"));
  test.runs.probes[0] = seeF32({11});
  EXPECT_THAT(listBeginnings(test.confirm()), ElementsAre(1));
}

/// In a loop each has something bad before it.
TEST(FirstBad, OfALoopTheLargestShareIsLikeliest) {
  Case test(5);
  test.ledger.plan.probes[1].from = {0, 3};
  test.runs.probes[1] = seeF32({1, 2, 3, kInf});
  test.runs.probes[2] = seeF32({1, 2, kInf, kInf});
  test.runs.probes[3] = seeF32({1, 2, kInf, kInf});
  test.runs.probes[4] = seeF32({NAN, NAN, NAN, NAN});
  Confirmation confirmation = test.confirm();
  ASSERT_THAT(listBeginnings(confirmation), ElementsAre(2));
  EXPECT_FALSE(confirmation.beginnings[0].isSure);
  EXPECT_THAT(confirmation.beginnings[0].why, HasSubstr("this loop"));
}

TEST(FirstBad, DependenciesThatAreNotListedMayExplainIt) {
  Case test(3);
  test.ledger.plan.probes[2].fromMore = true;
  test.runs.probes[2] = seeF32({NAN});
  Confirmation confirmation = test.confirm();
  ASSERT_THAT(listBeginnings(confirmation), ElementsAre(2));
  EXPECT_FALSE(confirmation.beginnings[0].isSure);
}

TEST(FirstBad, TheChainIsAWay) {
  Case test(4);
  // 3 reads 1 and 2, and its way comes from 1; 2 depends on 0 only.
  test.ledger.plan.probes[3].from = {2, 1};
  test.ledger.plan.probes[3].via = {"between", "op3"};
  test.ledger.plan.probes[3].viaFrom = 1;
  test.ledger.plan.probes[2].from = {0};
  test.runs.probes[3] = seeF32({NAN});
  EXPECT_THAT(test.confirm().beginnings[0].chain,
              ElementsAre("op1", "between", "op3"));
  // A ledger that does not tell where it begins.
  test.ledger.plan.probes[3].viaFrom = -1;
  EXPECT_THAT(test.confirm().beginnings[0].chain,
              ElementsAre("between", "op3"));
}

TEST(FirstBad, MasksAreTheModelsOwn) {
  Case test(3);
  test.tensor(1).copies = true;
  test.runs.probes[1] = seeF32({-kInf, 0});
  test.runs.probes[2] = seeF32({-kInf, 3});
  test.tensor(1).negInf = test.tensor(2).negInf = true;
  Confirmation confirmation = test.confirm();
  EXPECT_TRUE(confirmation.beginnings.empty());
  EXPECT_TRUE(test.ledger.report.findings.empty());
  // Selected from an input that was infinite is not the model's own.
  test.runs.probes[0] = seeF32({-kInf});
  EXPECT_THAT(listBeginnings(test.confirm()), ElementsAre(0));
}

TEST(RunRules, AConfirmedFindingIsNotSaidTwice) {
  Case test(2, "f16");
  test.runs.probes[1] = seeF32({1e6f});
  test.confirm();
  ASSERT_EQ(test.ledger.report.findings.size(), 1u);
  EXPECT_EQ(test.ledger.report.findings[0].rule, "MP501");
  test.ledger.report.findings[0].rule = "MP201";
  test.confirm();
  EXPECT_EQ(test.ledger.report.findings.size(), 1u);
}

TEST(Scales, TheNearestThatLosesLeast) {
  auto f16 = [](std::initializer_list<float> values) {
    return confirming::findScales(0, seeF32(values))->f16;
  };
  EXPECT_EQ(f16({1, 2, 3}).exponent, 0);
  EXPECT_EQ(f16({1, 65519}).exponent, 0);
  EXPECT_EQ(f16({1, 65520}).exponent, -1);
  EXPECT_EQ(f16({1, 65520}).overflowBefore, 1u);
  EXPECT_EQ(f16({131071}).exponent, -2);
  // All of them normal, and no farther than that.
  EXPECT_EQ(f16({1e-9f, 1e-9f}).exponent, 16);
  EXPECT_EQ(f16({1e-9f}).flushBefore, 1u);
  EXPECT_EQ(f16({1e-9f}).flushAfter, 0u);
  // Exactly half of the smallest subnormal: 0.
  EXPECT_EQ(f16({0x1p-25f, 0x1p-25f, 65504}).flushBefore, 2u);
  EXPECT_EQ(f16({0x1p-25f, 0x1p-25f, 65504}).subnormalBefore, 0u);
  EXPECT_EQ(f16({0x1.8p-25f, 65504}).subnormalBefore, 1u);
  EXPECT_EQ(confirming::findScales(0, seeF32({448, 0x1p-10f}))->e4m3.flushAfter,
            1u);
  EXPECT_FALSE(confirming::findScales(0, seeF32({0, 0})));
  EXPECT_FALSE(confirming::findScales(0, seeI64({1})));
  EXPECT_FALSE(confirming::findScales(0, seeOutputs({1e-9f})));
  EXPECT_EQ(confirming::findScales(0, seeF32({1000}))->e4m3.exponent, -2);
  ProbeSight spoiled = seeF32({1});
  spoiled.record.absmax = HUGE_VAL;
  EXPECT_FALSE(confirming::findScales(0, spoiled));
}

TEST(Ledger, ReadsWhatItWrites) {
  Case test(2);
  test.ledger.modelSha256 = std::string(64, 'a');
  test.ledger.probeWith = "op";
  test.ledger.plan.probes[1].fingerprints = {"print"};
  test.tensor(1).likely = Interval{-HUGE_VAL, 3};
  test.tensor(1).shape = {1, -1};
  test.tensor(1).copies = true;
  test.ledger.plan.probes[1].fromMore = test.ledger.plan.probes[1].output =
      true;
  test.ledger.plan.probes[1].blocked = {0};
  test.ledger.plan.probes[1].viaFrom = 0;
  test.ledger.keep = {{{"op1", "Add", "scope"}, {"print"}, "", true}};
  test.ledger.plan.unprobed = {{"u", "why"}};
  Probe parameter;
  parameter.id = int64_t(test.ledger.plan.probes.size());
  parameter.role = ProbeRole::Parameter;
  parameter.tensor.name = "w";
  parameter.tensor.dtype = "f16";
  parameter.gradient = parameter.cast = true;
  test.ledger.plan.probes.push_back(parameter);
  Finding finding;
  finding.rule = "MP205";
  finding.op = {"op1", "Log", ""};
  finding.tensor = "t1";
  finding.dtype = "f16";
  finding.message = "\"quoted\" \\ and \n";
  finding.fingerprint = "print";
  finding.causes = {{"t0", "op0", "is large", SourceLine{"a.py", 3}}};
  finding.fixes = {{"clamp", "clamp it", true}};
  Watch watch;
  watch.test = Decision::Domain;
  watch.part = "argument";
  watch.tensor = "t1";
  watch.dtype = "f16";
  watch.lo = 0;
  watch.open = true;
  Watch flush;
  flush.test = Decision::GradientFlush;
  flush.tensor = "w";
  flush.against = "t1";
  flush.factor = "t0";
  flush.scale = 65536;
  Watch ratio;
  ratio.test = Decision::GradientRatio;
  ratio.lo = 1e-4;
  ratio.hi = 1e3;
  finding.watches = {watch, flush, ratio};
  test.ledger.report.findings = {finding};
  test.ledger.report.assumptions[0].byElement = true;
  std::string text = writeLedger(test.ledger, "1.0");
  llvm::Expected<Ledger> read = readLedger(text);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(writeLedger(*read, "1.0"), text);
}

TEST(Ledger, HostileTextIsAnErrorOfOneLine) {
  for (const char *text :
       {"", "{", "[]", "{}", "null", "{\"schema\": 1}",
        "{\"schema\": \"mpopt-probes/1\"}",
        "{\"schema\": \"mpopt-probes/1\", \"model_sha256\": \"\", \"probes\": "
        "[{\"id\": -1}]}",
        "{\"schema\": \"mpopt-probes/1\", \"model_sha256\": \"\", \"probes\": "
        "3}",
        "{\"schema\": \"mpopt-probes/1\", \"model_sha256\": \"\", \"probes\": "
        "[], \"report\": []}",
        "{\"schema\": \"mpopt-probes/1\", \"model_sha256\": \"\", \"probes\": "
        "[{\"id\": 0, \"role\": \"input\", \"tensor\": \"x\", \"dtype\": "
        "\"f32\", \"via_from\": 1}], \"report\": {}}"}) {
    llvm::Expected<Ledger> read = readLedger(text);
    ASSERT_FALSE(bool(read)) << text;
    std::string error = llvm::toString(read.takeError());
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  llvm::Expected<Ledger> deep = readLedger(std::string(100000, '['));
  ASSERT_FALSE(bool(deep));
  EXPECT_THAT(llvm::toString(deep.takeError()), HasSubstr("nested too deep"));
}

//===----------------------------------------------------------------------===//
// Findings on gradients
//===----------------------------------------------------------------------===//

namespace {
/// A weight `w` with probes on its cast (2) and on itself (3), the loss scale
/// (4), and a finding that the weight's gradient flushes.
struct Training : Case {
  Training() : Case(2) {
    addProbe(ProbeRole::Parameter, "w", "f16").cast = true;
    addProbe(ProbeRole::Parameter, "w", "f32");
    addProbe(ProbeRole::Scalar, keys::kLossScale.str(), "f64");
    Finding finding;
    finding.rule = "MP503";
    finding.tensor = "w";
    finding.fingerprint = "print";
    Watch watch;
    watch.test = Decision::GradientFlush;
    watch.tensor = "w";
    watch.dtype = "f16";
    watch.threshold = 0.1;
    finding.watches = {watch};
    ledger.report.findings = {finding};
  }
  Probe &addProbe(ProbeRole role, std::string name, std::string dtype) {
    Probe probe;
    probe.id = int64_t(ledger.plan.probes.size());
    probe.role = role;
    probe.tensor.name = std::move(name);
    probe.tensor.dtype = std::move(dtype);
    probe.gradient = role == ProbeRole::Parameter;
    runs.probes.push_back(unseen());
    runs.gradients.push_back(unseen());
    ledger.plan.probes.push_back(std::move(probe));
    return ledger.plan.probes.back();
  }
  void setScale(double scale) {
    ProbeSight sight;
    mpopt_record_init(&sight.record, 4, MPOPT_SCALAR);
    observe(sight, &scale, 1, MPOPT_F64, 0);
    runs.others[{MPOPT_SCALAR, 4}] = sight;
  }
  Watch &watch() { return ledger.report.findings[0].watches[0]; }
  FindingStatus status() {
    Ledger kept = ledger;
    FindingStatus status = confirm().statuses.front();
    ledger = kept;
    return status;
  }
};
} // namespace

TEST(Gradients, OfAParameterByTheProbeThatRan) {
  Training test;
  EXPECT_EQ(test.status().status, Status::NotExercised);
  test.runs.gradients[3] = seeF32({1, 1e-9f});
  EXPECT_EQ(test.status().probe, 3);
  EXPECT_EQ(test.status().status, Status::Confirmed);
  // Both did: the one on the cast, in the dtype that was judged.
  test.runs.gradients[2] = seeF16({0x3C00, 0x3C00});
  EXPECT_EQ(test.status().probe, 2);
  EXPECT_EQ(test.status().status, Status::Refuted);
  EXPECT_TRUE(test.status().isGradient);
}

TEST(Gradients, AreJudgedAtTheLossScale) {
  Training test;
  test.runs.gradients[2] = seeF32({1, 0x1p-30f});
  test.watch().scale = 64;
  EXPECT_EQ(test.status().status, Status::NotObservable);
  test.setScale(1);
  EXPECT_EQ(test.status().status, Status::Refuted);
  test.setScale(64);
  EXPECT_EQ(test.status().status, Status::Confirmed);
}

TEST(Gradients, OfWhatHasNoProbe) {
  Training test;
  test.watch().tensor = "v";
  EXPECT_EQ(test.status().status, Status::NotObservable);
  EXPECT_THAT(test.status().why, HasSubstr("no probe on 'v'"));
}

TEST(Gradients, ThatAFindingExplainsHaveNoOther) {
  Training test;
  // Nine in ten flush: MP503 says so of itself.
  test.runs.gradients[2] = seeF32(
      {1, 1e-9f, 1e-9f, 1e-9f, 1e-9f, 1e-9f, 1e-9f, 1e-9f, 1e-9f, 1e-9f});
  auto count = [&] {
    Ledger kept = test.ledger;
    Confirmation confirmation = test.confirm();
    test.ledger = kept;
    return confirmation.statuses.size();
  };
  EXPECT_EQ(count(), 1u);
  test.watch().threshold = 2;
  EXPECT_EQ(count(), 2u);
}
