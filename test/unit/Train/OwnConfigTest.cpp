//===- OwnConfigTest.cpp - mpopt's own configuration ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Configs.h"

using namespace mpopt;

// As the training zoo writes it.
static const char *kZoo = R"({
 "model": "vae-b", "seed": 0, "opset": 17, "exporter": "torchscript",
 "nodes": 40, "mode": "train",
 "inputs": {"image": {"lo": 0.0, "hi": 1.0, "mean": 0.13, "std": 0.3,
                      "dtype": "float32", "shape": [16, 784]}},
 "targets": {"labels": {"lo": 0, "hi": 6399, "dtype": "int64",
                        "shape": [8, 32], "zipf": 1.1}},
 "outputs": ["logits", "mean", "logvar"],
 "loss": {"output": "loss", "value": 543.2, "terms": [
   {"kind": "cross_entropy", "prediction": "logits", "target": "labels",
    "reduction": "mean", "weight": 0.5, "class_axis": -1,
    "ignore_index": -100, "share_counted": 0.15, "positions": "last"},
   {"kind": "kl_normal", "prediction": "mean,logvar", "target": null,
    "reduction": "sum_then_batch_mean", "weight": 1e-4},
   {"kind": "contrastive", "prediction": "similarity", "target": "match",
    "diagonal": true},
   {"kind": "custom", "text": "a sum over pairs"}]},
 "targets_related": true, "steps_done": 60,
 "optimizer": {"name": "adamw", "lr": 0.001, "betas": [0.9, 0.999],
               "eps": 1e-08, "weight_decay": 0.01},
 "parameters": ["net.0.weight"], "unnamed_parameters": []
})";

TEST(OwnConfig, readsTheZoosDescription) {
  TrainConfig config = parsed(kZoo);
  EXPECT_EQ(config.format, TrainFormat::Own);
  EXPECT_EQ(config.warnings, Warnings());
  ASSERT_EQ(config.lossTerms.size(), 4u);
  const TrainLossTerm &entropy = config.lossTerms[0];
  EXPECT_EQ(entropy.kind, "cross-entropy");
  EXPECT_EQ(entropy.prediction, "logits");
  EXPECT_EQ(entropy.target, "labels");
  EXPECT_EQ(entropy.weight, 0.5);
  EXPECT_EQ(entropy.reduction, "mean");
  EXPECT_EQ(entropy.classAxis, -1);
  EXPECT_EQ(entropy.ignore, -100);
  EXPECT_EQ(entropy.shareCounted, 0.15);
  EXPECT_EQ(entropy.positions, "last");
  EXPECT_FALSE(entropy.text);
  EXPECT_EQ(config.lossTerms[1].kind, "kl-normal");
  EXPECT_FALSE(config.lossTerms[1].target);
  EXPECT_EQ(config.lossTerms[1].reduction, "sum-then-batch-mean");
  EXPECT_EQ(config.lossTerms[2].diagonal, true);
  EXPECT_EQ(config.lossTerms[3].text, "a sum over pairs");
  EXPECT_EQ(config.lossValue, 543.2);
  EXPECT_EQ(config.lossOutput, "loss");
  ASSERT_EQ(config.inputs.size(), 1u);
  EXPECT_EQ(config.inputs[0].name, "image");
  EXPECT_EQ(config.inputs[0].mean, 0.13);
  EXPECT_EQ(config.inputs[0].shape, (std::vector<int64_t>{16, 784}));
  EXPECT_FALSE(config.inputs[0].zipf);
  ASSERT_EQ(config.targets.size(), 1u);
  EXPECT_EQ(config.targets[0].hi, 6399);
  EXPECT_EQ(config.targets[0].zipf, 1.1);
  EXPECT_EQ(config.targets[0].dtype, "int64");
  EXPECT_EQ(config.targetsRelated, true);
  EXPECT_EQ(config.stepsDone, 60);
  EXPECT_EQ(config.outputs.size(), 3u);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.optimizer.learningRate, 1e-3);
  EXPECT_EQ(config.optimizer.beta2, 0.999);
  EXPECT_EQ(config.optimizer.epsilon, 1e-8);
  // Keys that the file lacks stay open.
  EXPECT_FALSE(config.scaler.kind);
  EXPECT_FALSE(config.batch.micro);
  EXPECT_FALSE(config.clip);
  EXPECT_FALSE(config.sharding.kind);
  EXPECT_FALSE(config.precision);
}

TEST(OwnConfig, readsYaml) {
  TrainConfig config = parsed(R"(
schema: mpopt-train-config/1
loss:
  terms:
    - {kind: bce-with-logits, prediction: y, target: t}
optimizer: {name: sgd, lr: 1e-1, momentum: 0.9, state: bf16, master: no}
scaler: {kind: dynamic, initial: 1024, growth: 2, backoff: 0.5,
         interval: 500, hysteresis: 2, min: 1}
batch: {micro: 4, accumulate: 8, world: 16}
reduce: {dtype: f16, predivide: auto, divide: after}
clip: 1
sharding: {kind: fsdp, stage: 3, param_dtype: bf16, reduce_dtype: float32,
           buffer_dtype: torch.float16, checkpointing: true}
precision: autocast-bf16
)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.optimizer.learningRate, 0.1);
  EXPECT_EQ(config.optimizer.state, TrainType::BF16);
  EXPECT_EQ(config.optimizer.master, false);
  EXPECT_EQ(config.scaler.kind, ScalerKind::Dynamic);
  EXPECT_EQ(config.scaler.initial, 1024);
  EXPECT_EQ(config.scaler.interval, 500);
  EXPECT_EQ(config.scaler.hysteresis, 2);
  EXPECT_EQ(config.scaler.minimum, 1);
  EXPECT_EQ(config.batch.total, 512);
  EXPECT_EQ(config.reduce.type, TrainType::F16);
  EXPECT_EQ(config.reduce.predivideAuto, true);
  EXPECT_FALSE(config.reduce.predivide);
  EXPECT_EQ(config.reduce.division, ReduceDivision::After);
  EXPECT_EQ(config.clip, 1);
  EXPECT_EQ(config.sharding.kind, ShardingKind::Fsdp);
  EXPECT_EQ(config.sharding.parameters, TrainType::BF16);
  EXPECT_EQ(config.sharding.reduce, TrainType::F32);
  EXPECT_EQ(config.sharding.buffers, TrainType::F16);
  EXPECT_EQ(config.sharding.checkpointing, true);
  EXPECT_EQ(config.precision, "autocast-bf16");
}

static std::string own(const std::string &rest) {
  return "{\"schema\": \"mpopt-train-config/1\", " + rest + "}";
}

TEST(OwnConfig, takesShortForms) {
  TrainConfig config = parsed(own(R"("scaler": 128, "batch": 4,
      "reduce": "bf16", "optimizer": "lion")"));
  EXPECT_EQ(config.scaler.kind, ScalerKind::Static);
  EXPECT_EQ(config.scaler.initial, 128);
  EXPECT_EQ(config.batch.micro, 4);
  EXPECT_EQ(config.reduce.type, TrainType::BF16);
  EXPECT_EQ(config.optimizer.name, "lion");
  EXPECT_EQ(parsed(own(R"("scaler": "none")")).scaler.kind, ScalerKind::None);
}

TEST(OwnConfig, warnsOfUnknownKeys) {
  EXPECT_EQ(parsed(own(R"("colour": 1, "optimizer": {"name": "sgd",
                          "nesterov": true})"))
                .warnings,
            (Warnings{"FILE: optimizer.nesterov: is not known and is ignored",
                      "FILE: colour: is not known and is ignored"}));
}

TEST(OwnConfig, refusesWhatItCannotMean) {
  EXPECT_EQ(errorOf(R"({"schema": "mpopt-train-config/2"})"),
            "FILE: schema: 'mpopt-train-config/2' is not mpopt-train-config/1");
  EXPECT_EQ(errorOf(own(R"("loss": {"terms": [{"prediction": "y"}]})")),
            "FILE: loss.terms[0].kind: is missing");
  EXPECT_EQ(errorOf(own(R"("loss": {"terms": [{"kind": "mse"},
                                              {"kind": "mze"}]})"))
                .substr(0, 56),
            "FILE: loss.terms[1].kind: 'mze' is not a loss that is kn");
  EXPECT_EQ(errorOf(own(R"("loss": {"terms": 3})")),
            "FILE: loss.terms: must be a list of objects");
  EXPECT_EQ(errorOf(own(R"("loss": 3)")), "FILE: loss: must be an object");
  EXPECT_EQ(errorOf(own(R"("optimizer": {"lr": "fast"})")),
            "FILE: optimizer.lr: must be a number of at least 0");
  EXPECT_EQ(errorOf(own(R"("optimizer": {"betas": [0.9, 1.0]})")),
            "FILE: optimizer.betas: must be a list of two numbers from 0 to "
            "below 1");
  EXPECT_EQ(errorOf(own(R"("optimizer": "sdg")")),
            "FILE: optimizer: 'sdg' is none of sgd, adam, adamw, adafactor, "
            "lion, lamb, rmsprop, adagrad");
  EXPECT_EQ(errorOf(own(R"("scaler": -2)")),
            "FILE: scaler: must be a positive number");
  EXPECT_EQ(errorOf(own(R"("scaler": {"kind": "static"})")),
            "FILE: scaler.initial: is missing: the scale of a static scaler");
  EXPECT_EQ(errorOf(own(R"("batch": {"micro": 0})")),
            "FILE: batch.micro: must be an integer of at least 1");
  EXPECT_EQ(errorOf(own(R"("batch": {"micro": 2, "accumulate": 2, "world": 2,
                                     "total": 9})")),
            "FILE: batch.total: 9 is not 2 samples of a pass times 2 "
            "accumulated passes times 2 workers");
  EXPECT_EQ(errorOf(own(R"("reduce": "f17")")),
            "FILE: reduce: 'f17' is not a type: f32, f16, bf16, ...");
  EXPECT_EQ(errorOf(own(R"("sharding": {"kind": "zero", "stage": 4})")),
            "FILE: sharding.stage: must be 0, 1, 2 or 3");
  EXPECT_EQ(errorOf(own(R"("precision": "fp17")")),
            "FILE: precision: 'fp17' is none of fp32, as-is, fp16, "
            "bf16, autocast-fp16, autocast-bf16");
  EXPECT_EQ(errorOf(own(R"("inputs": {"x": {"lo": 2, "hi": 1}})")),
            "FILE: inputs.x.lo: is above hi");
  EXPECT_EQ(errorOf(own(R"("inputs": {"x": {"shape": [1.5]}})")),
            "FILE: inputs.x.shape: must be a list of integers");
}
