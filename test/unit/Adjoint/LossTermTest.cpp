//===- LossTermTest.cpp - Losses as text
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Adjoint/Loss.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mpopt;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

static LossTerm read(llvm::StringRef text) {
  llvm::Expected<LossTerm> term = parseLossTerm(text);
  if (term)
    return *term;
  ADD_FAILURE() << llvm::toString(term.takeError());
  return {};
}

static std::string errorOf(llvm::StringRef text) {
  llvm::Expected<LossTerm> term = parseLossTerm(text);
  return term ? "none" : llvm::toString(term.takeError());
}

TEST(LossTerm, KindAlone) {
  LossTerm term = read("cross-entropy");
  EXPECT_EQ(term.kind, LossKind::CrossEntropy);
  EXPECT_THAT(term.predictions, IsEmpty());
  EXPECT_EQ(term.target, "");
  EXPECT_EQ(term.weight, 1);
  EXPECT_FALSE(term.reduction || term.ignoreIndex || term.classAxis);
}

TEST(LossTerm, Everything) {
  LossTerm term = read("nll:y,labels:ignore=-100:weight=2.5e-3:reduction=sum:"
                       "class_axis=-1:positions=last");
  EXPECT_EQ(term.kind, LossKind::Nll);
  EXPECT_THAT(term.predictions, ElementsAre("y"));
  EXPECT_EQ(term.target, "labels");
  EXPECT_EQ(term.weight, 2.5e-3);
  EXPECT_EQ(term.reduction, LossReduction::Sum);
  EXPECT_EQ(term.ignoreIndex, -100);
  EXPECT_EQ(term.classAxis, -1);
  EXPECT_TRUE(term.lastPosition);
}

TEST(LossTerm, EitherSpelling) {
  EXPECT_EQ(read("bce_with_logits").kind, LossKind::BceWithLogits);
  EXPECT_EQ(read("bce-with-logits").kind, LossKind::BceWithLogits);
  EXPECT_EQ(read("mse::reduction=sum-then-batch-mean").reduction,
            LossReduction::SumThenBatchMean);
}

TEST(LossTerm, SeveralPredictions) {
  LossTerm term = read("kl-normal:mean,logvar");
  EXPECT_THAT(term.predictions, ElementsAre("mean", "logvar"));
  EXPECT_EQ(term.target, "");
  EXPECT_THAT(read("triplet:a,p,n").predictions, ElementsAre("a", "p", "n"));
}

TEST(LossTerm, NamesMayHaveColons) {
  LossTerm term = read("mse:scope/y:0,t:0:weight=2");
  EXPECT_THAT(term.predictions, ElementsAre("scope/y:0"));
  EXPECT_EQ(term.target, "t:0");
  EXPECT_EQ(term.weight, 2);
}

TEST(LossTerm, TargetAlone) {
  LossTerm term = read("mse:,t");
  EXPECT_THAT(term.predictions, IsEmpty());
  EXPECT_EQ(term.target, "t");
}

TEST(LossTerm, ReadsWhatItWrites) {
  for (llvm::StringRef text :
       {"mse", "mse:y", "mse:y,t:weight=0.5", "mse:,t", "kl-normal:m,v",
        "cross-entropy:y,t:weight=2:reduction=none:ignore=0:class_axis=1:"
        "positions=last",
        "l1:weight=3", "l1:weight=0.1234567890123"})
    EXPECT_EQ(read(text).str(), text);
}

TEST(LossTerm, Errors) {
  EXPECT_THAT(errorOf("rmse"), HasSubstr("no loss is called 'rmse'; there are: "
                                         "cross-entropy, bce-with-logits,"));
  EXPECT_THAT(errorOf(""), HasSubstr("no loss is called ''"));
  EXPECT_EQ(errorOf("mse:y:weight=heavy"), "weight 'heavy' is not a number");
  EXPECT_EQ(errorOf("mse:y:weight=inf"), "weight 'inf' is not a number");
  EXPECT_EQ(errorOf("mse:y:reduction=max"),
            "reduction 'max' is not mean, sum, sum_then_batch_mean or none");
  EXPECT_EQ(errorOf("nll:y:ignore=pad"), "ignore 'pad' is not an integer");
  EXPECT_EQ(errorOf("nll:y:positions=first"),
            "positions 'first' are neither last nor all");
  EXPECT_EQ(errorOf("nll:y:wieght=2"),
            "no option is called 'wieght'; there are weight, reduction, "
            "ignore, class_axis, positions, margin, label_smoothing, beta, "
            "delta, gamma, alpha and share_counted");
  EXPECT_EQ(errorOf("mse:a,b,c"),
            "mse takes 1 prediction and a target, not 'a,b,c'");
  EXPECT_EQ(errorOf("sum:a,b"),
            "sum takes 1 prediction and no target, not 'a,b'");
  EXPECT_EQ(errorOf("triplet:a,p"), "triplet takes 3 predictions, not 2");
  EXPECT_EQ(errorOf("triplet:a,,n"), "a prediction of triplet has no name");
}

TEST(LossTerm, OptionsOfSomeKinds) {
  LossTerm term = read("hinge:y,t:margin=0.5:share_counted=0.25");
  EXPECT_EQ(term.margin, 0.5);
  EXPECT_EQ(term.shareCounted, 0.25);
  EXPECT_EQ(term.str(), "hinge:y,t:margin=0.5:share_counted=0.25");
  EXPECT_EQ(read("cross-entropy:label_smoothing=0.1").labelSmoothing, 0.1);
  EXPECT_EQ(errorOf("cross-entropy:label_smoothing=1.5"),
            "label_smoothing '1.5' is not from 0 to 1");
  EXPECT_EQ(errorOf("hinge:margin=wide"), "margin 'wide' is not a number");
  EXPECT_THAT(errorOf("graph"), HasSubstr("no loss is called 'graph'"));
}
