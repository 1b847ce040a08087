//===- TrainOptionsTest.cpp - Lists that options take ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mpopt/Train/TrainOptions.h"

#include "Configs.h"

using namespace mpopt;

static TrainConfig said(const TrainOptionTexts &texts) {
  llvm::Expected<TrainConfig> config = parseTrainOptions(texts);
  if (config)
    return std::move(*config);
  ADD_FAILURE() << llvm::toString(config.takeError());
  return {};
}

static std::string errorOf(const TrainOptionTexts &texts) {
  llvm::Expected<TrainConfig> config = parseTrainOptions(texts);
  return config ? "no error" : llvm::toString(config.takeError());
}

TEST(TrainOptions, Everything) {
  TrainOptionTexts texts;
  texts.optimizer = "adamw,lr=3e-4,betas=0.9,0.95,eps=1e-6,weight_decay=0.1,"
                    "state=bf16,master=no";
  texts.scaler = "dynamic,initial=1024,growth=4,backoff=0.25,interval=100,"
                 "hysteresis=2,min=1";
  texts.batch = "8,accumulate=4,world=16";
  texts.reduce = "f16,predivide=4,before";
  texts.clip = "0.5";
  texts.lossValue = "3.25";
  TrainConfig config = said(texts);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.optimizer.learningRate, 3e-4);
  EXPECT_EQ(config.optimizer.beta1, 0.9);
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  EXPECT_EQ(config.optimizer.epsilon, 1e-6);
  EXPECT_EQ(config.optimizer.weightDecay, 0.1);
  EXPECT_EQ(config.optimizer.state, TrainType::BF16);
  EXPECT_EQ(config.optimizer.master, false);
  EXPECT_EQ(config.scaler.kind, ScalerKind::Dynamic);
  EXPECT_EQ(config.scaler.initial, 1024);
  EXPECT_EQ(config.scaler.growth, 4);
  EXPECT_EQ(config.scaler.backoff, 0.25);
  EXPECT_EQ(config.scaler.interval, 100);
  EXPECT_EQ(config.scaler.hysteresis, 2);
  EXPECT_EQ(config.scaler.minimum, 1);
  EXPECT_EQ(config.batch.total, 512);
  EXPECT_EQ(config.reduce.type, TrainType::F16);
  EXPECT_EQ(config.reduce.predivide, 4);
  EXPECT_EQ(config.reduce.division, ReduceDivision::Before);
  EXPECT_EQ(config.clip, 0.5);
  EXPECT_EQ(config.lossValue, 3.25);
}

TEST(TrainOptions, ShortForms) {
  TrainOptionTexts texts;
  texts.scaler = "65536";
  texts.batch = "4";
  texts.reduce = "bf16,predivide=auto,after";
  TrainConfig config = said(texts);
  EXPECT_EQ(config.scaler.kind, ScalerKind::Static);
  EXPECT_EQ(config.scaler.initial, 65536);
  EXPECT_EQ(config.batch.micro, 4);
  EXPECT_FALSE(config.batch.total);
  EXPECT_EQ(config.reduce.predivideAuto, true);
  EXPECT_EQ(config.reduce.division, ReduceDivision::After);
  EXPECT_FALSE(config.optimizer.name);
}

TEST(TrainOptions, ErrorsNameTheOption) {
  auto optimizer = [](const char *text) {
    TrainOptionTexts texts;
    texts.optimizer = text;
    return errorOf(texts);
  };
  EXPECT_EQ(optimizer("adamw,foo=1"),
            "--optimizer: foo: is not known (known: lr, learning_rate, eps, "
            "betas, momentum, weight_decay, state, master)");
  EXPECT_EQ(optimizer("adamw,lr"), "--optimizer: 'lr' is not KEY=VALUE");
  EXPECT_EQ(optimizer("adamw,lr="), "--optimizer: lr has no value");
  EXPECT_EQ(optimizer("adamw,lr=1,lr=2"), "--optimizer: lr is given twice");
  EXPECT_EQ(optimizer("adamw,name=sgd"), "--optimizer: name is given twice");
  EXPECT_EQ(optimizer("adamw,lr=-1"),
            "--optimizer: lr: must be a number of at least 0");
  EXPECT_EQ(optimizer("adamw,betas=0.9"),
            "--optimizer: betas: must be a list of two numbers from 0 to below "
            "1");
  EXPECT_EQ(optimizer(""), "--optimizer: name has no value");
  TrainOptionTexts texts;
  texts.scaler = "-2";
  EXPECT_EQ(errorOf(texts), "--scaler: initial: must be a positive number");
  texts = {};
  texts.clip = "much";
  EXPECT_EQ(errorOf(texts), "--clip: 'much' is not a number");
  texts.clip = "-1";
  EXPECT_EQ(errorOf(texts), "--clip: must be a number of at least 0");
}

static TrainConfig over(llvm::StringRef file, const TrainOptionTexts &texts) {
  TrainConfig config = parsed(file);
  EXPECT_FALSE(bool(overrideTrainConfig(config, said(texts))));
  return config;
}

TEST(TrainOptions, OverrideTheFile) {
  const char *file = R"({"schema": "mpopt-train-config/1",
    "loss": {"value": 2, "output": "loss", "terms": [{"kind": "mse"}]},
    "optimizer": {"name": "adam", "lr": 0.1, "eps": 1e-4},
    "scaler": {"kind": "dynamic", "initial": 8},
    "batch": {"micro": 2, "accumulate": 3, "world": 4}})";
  TrainOptionTexts texts;
  texts.optimizer = "adam,lr=0.5";
  texts.batch = "5";
  TrainConfig config = over(file, texts);
  EXPECT_EQ(config.optimizer.learningRate, 0.5);
  EXPECT_EQ(config.optimizer.epsilon, 1e-4);
  EXPECT_EQ(config.batch.total, 60);
  EXPECT_EQ(config.scaler.initial, 8);
  EXPECT_EQ(config.lossOutput, "loss");
  // The numbers of another optimizer or scaler are not this one's.
  texts.optimizer = "sgd";
  texts.scaler = "none";
  config = over(file, texts);
  EXPECT_FALSE(config.optimizer.epsilon);
  EXPECT_FALSE(config.scaler.initial);
}

TEST(TrainOptions, TermsReplaceTerms) {
  TrainConfig config = parsed(R"({"schema": "mpopt-train-config/1",
    "loss": {"value": 2, "output": "loss", "terms": [{"kind": "mse"}]}})");
  TrainConfig options;
  options.lossTerms.resize(2);
  options.lossTerms[0].kind = "l1";
  EXPECT_FALSE(bool(overrideTrainConfig(config, options)));
  ASSERT_EQ(config.lossTerms.size(), 2u);
  EXPECT_EQ(config.lossTerms[0].kind, "l1");
  EXPECT_EQ(config.lossValue, 2);
  EXPECT_FALSE(config.lossOutput);
}

TEST(TrainOptions, SizesThatContradict) {
  TrainConfig config = parsed(R"({"schema": "mpopt-train-config/1",
    "batch": {"micro": 2, "accumulate": 3, "world": 4}})");
  TrainConfig options;
  options.batch.total = 25;
  llvm::Error error = overrideTrainConfig(config, options);
  EXPECT_EQ(llvm::toString(std::move(error)),
            "--batch: 25 is not 2 samples of a pass times 3 accumulated passes "
            "times 4 workers");
}
