//===- DeepSpeedTest.cpp - DeepSpeed and Hugging Face ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Configs.h"

using namespace mpopt;

TEST(DeepSpeed, readsFp16WithZero) {
  TrainConfig config = parsed(R"({
    "train_batch_size": 512, "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 8, "steps_per_print": 100,
    "gradient_clipping": 1.0, "prescale_gradients": false,
    "optimizer": {"type": "Adam", "params": {"lr": 0.00015,
        "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}},
    "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 0}},
    "fp16": {"enabled": true, "loss_scale": 0, "loss_scale_window": 500,
             "hysteresis": 2, "min_loss_scale": 1,
             "initial_scale_power": 15},
    "zero_optimization": {"stage": 2, "reduce_scatter": true,
        "reduce_bucket_size": 5e8, "overlap_comm": true,
        "offload_optimizer": {"device": "cpu"}},
    "wall_clock_breakdown": false})");
  EXPECT_EQ(config.format, TrainFormat::DeepSpeed);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "fp16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::Dynamic);
  EXPECT_EQ(config.scaler.initial, 32768);
  EXPECT_EQ(config.scaler.interval, 500);
  EXPECT_EQ(config.scaler.growth, 2);
  EXPECT_EQ(config.batch.world, 16);
  EXPECT_EQ(config.clip, 1);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  EXPECT_EQ(config.optimizer.master, true);
  EXPECT_EQ(config.optimizer.state, TrainType::F32);
  EXPECT_EQ(config.sharding.kind, ShardingKind::Zero);
  EXPECT_EQ(config.sharding.stage, 2);
  EXPECT_EQ(config.sharding.buffers, TrainType::F16);
  EXPECT_EQ(config.reduce.type, TrainType::F16);
  EXPECT_EQ(config.reduce.division, ReduceDivision::After);
}

TEST(DeepSpeed, fillsInItsDefaults) {
  TrainConfig config = parsed(R"({"fp16": {"enabled": true}})");
  EXPECT_EQ(config.scaler.initial, 65536);
  EXPECT_EQ(config.scaler.interval, 1000);
  EXPECT_EQ(config.scaler.hysteresis, 2);
  EXPECT_EQ(config.scaler.minimum, 1);
  EXPECT_EQ(config.clip, 0);
  EXPECT_FALSE(config.optimizer.name);
  EXPECT_FALSE(config.batch.micro);
}

TEST(DeepSpeed, readsBf16) {
  TrainConfig config = parsed(R"({
    "bf16": {"enabled": true}, "fp16": {"enabled": false},
    "zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1e9},
    "communication_data_type": "fp32", "prescale_gradients": true,
    "gradient_predivide_factor": 8,
    "optimizer": {"type": "OneCycle", "params": {"lr": 1}}})");
  EXPECT_EQ(config.precision, "bf16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::None);
  EXPECT_EQ(config.sharding.parameters, TrainType::BF16);
  EXPECT_EQ(config.reduce.type, TrainType::F32);
  EXPECT_EQ(config.sharding.reduce, TrainType::F32);
  EXPECT_EQ(config.reduce.division, ReduceDivision::Before);
  EXPECT_EQ(config.reduce.predivide, 8);
  EXPECT_EQ(config.warnings,
            Warnings{"FILE: optimizer.type: 'OneCycle' is not an optimizer "
                     "that is known"});
}

// Published with the Trainer's documentation: nearly all is left to it.
static const char *kAuto = R"({
    "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000,
             "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto",
                  "eps": "auto", "weight_decay": "auto"}},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"},
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})";

TEST(DeepSpeed, leavesAutoOpen) {
  TrainConfig config = parsed(kAuto);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_FALSE(config.precision);
  EXPECT_FALSE(config.scaler.kind);
  EXPECT_FALSE(config.clip);
  EXPECT_FALSE(config.optimizer.learningRate);
  EXPECT_FALSE(config.optimizer.beta1);
  EXPECT_FALSE(config.batch.total);
  EXPECT_FALSE(config.reduce.type);
  EXPECT_EQ(config.sharding.stage, 3);
}

TEST(DeepSpeed, readsAStaticScale) {
  TrainConfig config = parsed(R"({"fp16": {"enabled": true, "loss_scale": 128,
                          "initial_scale_power": 16}})");
  EXPECT_EQ(config.scaler.kind, ScalerKind::Static);
  EXPECT_EQ(config.scaler.initial, 128);
  EXPECT_FALSE(config.scaler.interval);
}

TEST(DeepSpeed, refusesContradictions) {
  EXPECT_EQ(
      errorOf(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})"),
      "FILE: fp16.enabled: is true, and so is bf16.enabled: only one can "
      "be");
  EXPECT_EQ(errorOf(R"({"fp16": {"enabled": true}, "amp": {"enabled": true}})"),
            "FILE: amp.enabled: is true beside fp16 or bf16: only one can be");
  EXPECT_EQ(errorOf(R"({"fp16": {"enabled": true, "loss_scale": -1}})"),
            "FILE: fp16.loss_scale: must be a number of at least 0 (0: "
            "dynamic)");
  EXPECT_EQ(errorOf(R"({"train_batch_size": 100, "gradient_accumulation_steps":
                        3, "train_micro_batch_size_per_gpu": 16})"),
            "FILE: train_batch_size: 100 is not a multiple of 16 samples of a "
            "pass times 3 accumulated passes");
  EXPECT_EQ(errorOf(R"({"zero_optimization": {"stage": 5}})"),
            "FILE: zero_optimization.stage: must be 0, 1, 2 or 3");
  EXPECT_EQ(errorOf(R"({"fp16": {"enabled": "maybe"}})"),
            "FILE: fp16.enabled: must be true or false");
  EXPECT_EQ(errorOf(R"({"fp16": {"enabled": true,
                                 "initial_scale_power": 1e300}})"),
            "FILE: fp16.initial_scale_power: must be an exponent of 2 from "
            "-126 to 127");
}

TEST(DeepSpeed, asksForMultiples) {
  EXPECT_EQ(errorOf(R"({"train_batch_size": 10,
                        "train_micro_batch_size_per_gpu": 4})"),
            "FILE: train_batch_size: 10 is not a multiple of 4 samples of a "
            "pass");
  TrainConfig config = parsed(R"({"train_batch_size": 12,
                                  "train_micro_batch_size_per_gpu": 4})");
  EXPECT_FALSE(config.batch.world);
  EXPECT_FALSE(config.batch.accumulate);
}

TEST(DeepSpeed, leavesTheScaleOfAutocastOpen) {
  TrainConfig config =
      parsed(R"({"zero_optimization": {"stage": 1}, "torch_autocast":
                 {"enabled": true, "dtype": "float16"}})");
  EXPECT_EQ(config.precision, "autocast-fp16");
  EXPECT_FALSE(config.scaler.kind);
}

TEST(DeepSpeed, warnsOfPrecisionItDoesNotKnow) {
  EXPECT_EQ(parsed(R"({"fp16": {"enabled": true, "fp16_new": 1},
                       "fp8_recipe": {"a": 1}, "tensorboard": {"x": 1},
                       "zero_optimization": {"stage": 1,
                                             "zero_quantized_gradients": true}})")
                .warnings,
            (Warnings{"FILE: fp16.fp16_new: is not known and is ignored",
                      "FILE: zero_optimization.zero_quantized_gradients: is "
                      "not understood and is ignored",
                      "FILE: fp8_recipe: is not understood and is ignored"}));
}

TEST(HuggingFace, readsFp16AndItsDefaults) {
  TrainConfig config = parsed(R"({
    "output_dir": "out", "fp16": true, "fp16_full_eval": true, "bf16": false,
    "per_device_train_batch_size": 16, "gradient_accumulation_steps": 4,
    "learning_rate": 2e-5, "num_train_epochs": 3, "warmup_ratio": 0.1})");
  EXPECT_EQ(config.format, TrainFormat::HuggingFace);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-fp16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::Dynamic);
  EXPECT_EQ(config.scaler.initial, 65536);
  EXPECT_EQ(config.scaler.interval, 2000);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.optimizer.epsilon, 1e-8);
  EXPECT_EQ(config.optimizer.learningRate, 2e-5);
  EXPECT_EQ(config.clip, 1);
  EXPECT_EQ(config.batch.micro, 16);
  EXPECT_EQ(config.batch.accumulate, 4);
  EXPECT_EQ(config.sharding.checkpointing, false);
}

TEST(HuggingFace, readsYamlWithFsdp) {
  TrainConfig config = parsed(R"(
# a recipe
bf16: true
learning_rate: 1.0e-4
gradient_checkpointing: true
optim: adamw_bnb_8bit
max_grad_norm: 0.3
fsdp: "full_shard auto_wrap"
fsdp_config: {activation_checkpointing: true}
)");
  EXPECT_EQ(config.precision, "autocast-bf16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::None);
  EXPECT_EQ(config.optimizer.state, TrainType::Int8);
  EXPECT_EQ(config.clip, 0.3);
  EXPECT_EQ(config.sharding.kind, ShardingKind::Fsdp);
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.sharding.reduce, TrainType::BF16);
  EXPECT_EQ(config.sharding.checkpointing, true);
  EXPECT_EQ(config.batch.micro, 8);
}

TEST(HuggingFace, fillsWhatDeepSpeedLeavesToIt) {
  TrainConfig config =
      parsed(std::string(R"({"fp16": true, "learning_rate": 3e-5,
        "per_device_train_batch_size": 2, "deepspeed": )") +
             kAuto + "}");
  EXPECT_EQ(config.format, TrainFormat::HuggingFace);
  EXPECT_EQ(config.precision, "fp16");
  EXPECT_EQ(config.scaler.interval, 1000);
  EXPECT_EQ(config.scaler.hysteresis, 2);
  EXPECT_EQ(config.optimizer.learningRate, 3e-5);
  EXPECT_EQ(config.optimizer.beta2, 0.999);
  EXPECT_EQ(config.optimizer.master, true);
  EXPECT_EQ(config.clip, 1);
  EXPECT_EQ(config.batch.micro, 2);
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.reduce.type, TrainType::F16);
}

TEST(HuggingFace, leavesPrecisionOpen) {
  TrainConfig config = parsed(R"({"output_dir": "x"})");
  EXPECT_FALSE(config.precision);
  EXPECT_FALSE(config.scaler.kind);
  EXPECT_EQ(parsed(R"({"fp16": false})").precision, "fp32");
}

TEST(HuggingFace, refusesContradictions) {
  EXPECT_EQ(errorOf(R"({"fp16": true, "bf16": true})"),
            "FILE: fp16: is true, and so is bf16: only one can be");
  EXPECT_EQ(errorOf(R"({"bf16": true, "deepspeed": {"fp16":
                        {"enabled": true}}})"),
            "FILE: deepspeed.fp16.enabled: is true, and the file around it "
            "asks for the other type");
  EXPECT_EQ(errorOf(R"({"output_dir": "x", "adam_beta2": 1.5})"),
            "FILE: adam_beta2: must be a number from 0 to below 1");
}

TEST(HuggingFace, warnsOfFilesAndPrecision) {
  EXPECT_EQ(parsed(R"({"deepspeed": "ds.json", "optim": "galore_adamw",
                       "fp16_backend": "apex"})")
                .warnings,
            (Warnings{"FILE: deepspeed: 'ds.json' is not read: give it "
                      "instead, or put it in",
                      "FILE: fp16_backend: Apex is not understood: say "
                      "--precision and --scaler",
                      "FILE: optim: 'galore_adamw' is not an optimizer that "
                      "is known"}));
}
