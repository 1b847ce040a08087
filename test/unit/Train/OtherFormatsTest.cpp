//===- OtherFormatsTest.cpp - Accelerate, Megatron-LM, Lightning ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Configs.h"

using namespace mpopt;

TEST(Accelerate, readsWhatItsQuestionsWrite) {
  TrainConfig config = parsed(R"(compute_environment: LOCAL_MACHINE
debug: false
distributed_type: MULTI_GPU
downcast_bf16: 'no'
machine_rank: 0
main_training_function: main
mixed_precision: fp16
num_machines: 1
num_processes: 8
rdzv_backend: static
use_cpu: false
)");
  EXPECT_EQ(config.format, TrainFormat::Accelerate);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-fp16");
  EXPECT_EQ(config.scaler.initial, 65536);
  EXPECT_EQ(config.batch.world, 8);
  EXPECT_FALSE(config.sharding.kind);
  EXPECT_FALSE(config.clip);
}

TEST(Accelerate, readsFsdp) {
  TrainConfig config = parsed(R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
num_processes: 16
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_sharding_strategy: SHARD_GRAD_OP
  fsdp_activation_checkpointing: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.sharding.kind, ShardingKind::Fsdp);
  EXPECT_EQ(config.sharding.stage, 2);
  EXPECT_EQ(config.sharding.parameters, TrainType::BF16);
  EXPECT_EQ(config.sharding.buffers, TrainType::BF16);
  EXPECT_EQ(config.reduce.type, TrainType::BF16);
  EXPECT_EQ(config.sharding.checkpointing, true);
  EXPECT_EQ(config.scaler.kind, ScalerKind::None);
}

TEST(Accelerate, readsDeepSpeed) {
  TrainConfig config = parsed(R"(distributed_type: DEEPSPEED
mixed_precision: fp16
deepspeed_config:
  gradient_accumulation_steps: 4
  gradient_clipping: 0.5
  offload_optimizer_device: none
  zero3_init_flag: true
  zero_stage: 3
num_processes: 4
)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "fp16");
  EXPECT_EQ(config.scaler.interval, 1000);
  EXPECT_EQ(config.sharding.kind, ShardingKind::Zero);
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.clip, 0.5);
  EXPECT_EQ(config.batch.accumulate, 4);
  EXPECT_EQ(config.batch.world, 4);
}

TEST(Accelerate, saysWhatIsWrong) {
  EXPECT_EQ(parsed("mixed_precision: no\n").precision, "fp32");
  EXPECT_EQ(parsed("mixed_precision: 'no'\n").precision, "fp32");
  EXPECT_EQ(parsed("mixed_precision: fp8\n").warnings, Warnings());
  EXPECT_EQ(errorOf("mixed_precision: fp17\n"),
            "FILE: mixed_precision: 'fp17' is none of no, fp16, bf16 and fp8");
  EXPECT_EQ(errorOf("mixed_precision: bf16\nfp16: true\n"),
            "FILE: fp16: is true beside a mixed_precision of bf16");
  EXPECT_EQ(errorOf("distributed_type: NO\nnum_processes: 0\n"),
            "FILE: num_processes: must be an integer of at least 1");
}

TEST(Megatron, readsAScript) {
  TrainConfig config = parsed(R"(#!/bin/bash
# Runs a model of 345M parameters.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=2
LR=0.00015
DISTRIBUTED_ARGS="
    --nproc_per_node $GPUS_PER_NODE \
    --nnodes ${NNODES}
"
GPT_ARGS="
    --tensor-model-parallel-size 2 \
    --num-layers 24 \
    --micro-batch-size 4 \
    --global-batch-size 64 \
    --lr $LR \
    --weight-decay 1e-2 \
    --clip-grad 1.0 \
    --lr-warmup-fraction .01 \
    --hysteresis 3 \
    --fp16
"
torchrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS
)");
  EXPECT_EQ(config.format, TrainFormat::Megatron);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "fp16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::Dynamic);
  EXPECT_EQ(config.scaler.initial, 0x1p32);
  EXPECT_EQ(config.scaler.hysteresis, 3);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.optimizer.learningRate, 0.00015);
  EXPECT_EQ(config.optimizer.beta2, 0.999);
  EXPECT_EQ(config.optimizer.master, true);
  EXPECT_EQ(config.batch.world, 8);
  EXPECT_EQ(config.batch.accumulate, 2);
  EXPECT_EQ(config.reduce.type, TrainType::F16);
  EXPECT_EQ(config.sharding.kind, ShardingKind::None);
  EXPECT_EQ(config.clip, 1);
}

TEST(Megatron, readsArrays) {
  TrainConfig config = parsed(R"(
TRAINING_ARGS=(
    --micro-batch-size 1
    --bf16
    --adam-beta1=0.9 --adam-beta2=0.95
    --lr 6.0e-5
    --use-distributed-optimizer
    --recompute-granularity full
    --fp8-format hybrid
    --global-batch-size $GBS
)
)");
  EXPECT_EQ(config.precision, "bf16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::None);
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  EXPECT_EQ(config.reduce.type, TrainType::F32);
  EXPECT_EQ(config.reduce.accumulate, TrainType::F32);
  EXPECT_EQ(config.sharding.kind, ShardingKind::Zero);
  EXPECT_EQ(config.sharding.stage, 1);
  EXPECT_EQ(config.sharding.checkpointing, true);
  EXPECT_FALSE(config.batch.total);
  EXPECT_EQ(config.warnings,
            Warnings{"FILE: global-batch-size: '$GBS' is not set in the file"});
  ASSERT_TRUE(config.fp8.recipe);
  EXPECT_EQ(config.fp8.recipe->name, "delayed");
  EXPECT_EQ(config.fp8.by.line, 9u);
}

TEST(Megatron, leavesOpenWhatAScriptComputes) {
  TrainConfig config = parsed(R"(#!/bin/sh
MICRO=2
GLOBAL=$((MICRO * (4 + 4)))
WORKERS=`nvidia-smi -L | wc -l`
ARGS="--fp16 --global-batch-size $GLOBAL --nproc-per-node ${WORKERS} \
      --micro-batch-size $(expr $MICRO) --lr 1e-4"
python pretrain_gpt.py $ARGS
)");
  EXPECT_EQ(config.optimizer.learningRate, 1e-4);
  EXPECT_FALSE(config.batch.total);
  EXPECT_FALSE(config.batch.micro);
  EXPECT_FALSE(config.batch.world);
  EXPECT_EQ(config.warnings.size(), 3u);
}

TEST(Megatron, refusesContradictions) {
  EXPECT_EQ(errorOf("--fp16 --bf16"),
            "FILE: fp16: is given, and so is bf16: only one can be");
  EXPECT_EQ(errorOf("--fp16 --loss-scale -8"),
            "FILE: loss-scale: must be a positive number");
  EXPECT_EQ(errorOf("--nproc-per-node 8 --micro-batch-size 3 "
                    "--global-batch-size 64"),
            "FILE: global-batch-size: 64 is not a multiple of 3 samples of a "
            "pass times 8 workers");
  EXPECT_EQ(errorOf("--nproc-per-node 8 --tensor-model-parallel-size 3"),
            "FILE: nproc-per-node: 8 ranks are not a multiple of the 3 that "
            "share a model");
  EXPECT_EQ(errorOf("--lr high"), "FILE: lr: must be a number of at least 0");
}

TEST(Lightning, readsATrainer) {
  TrainConfig config = parsed(R"(# pytorch_lightning==1.8
seed_everything: true
trainer:
  accelerator: gpu
  devices: 4
  num_nodes: 2
  precision: 16
  gradient_clip_val: 0.5
  accumulate_grad_batches: 8
  strategy: ddp
  max_epochs: 10
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 2e-4
    betas: [0.9, 0.98]
)");
  EXPECT_EQ(config.format, TrainFormat::Lightning);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-fp16");
  EXPECT_EQ(config.scaler.interval, 2000);
  EXPECT_EQ(config.clip, 0.5);
  EXPECT_EQ(config.batch.accumulate, 8);
  EXPECT_EQ(config.batch.world, 8);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.optimizer.learningRate, 2e-4);
  EXPECT_EQ(config.optimizer.beta2, 0.98);
  EXPECT_EQ(config.optimizer.weightDecay, 0.01);
  EXPECT_EQ(config.sharding.kind, ShardingKind::None);
}

TEST(Lightning, readsStrategies) {
  TrainConfig config = parsed(R"(trainer:
  precision: bf16-mixed
  devices: [0, 1]
  strategy:
    class_path: lightning.pytorch.strategies.FSDPStrategy
    init_args: {sharding_strategy: SHARD_GRAD_OP}
)");
  EXPECT_EQ(config.sharding.kind, ShardingKind::Fsdp);
  EXPECT_EQ(config.sharding.stage, 2);
  EXPECT_EQ(config.sharding.parameters, TrainType::F32);
  EXPECT_EQ(config.sharding.reduce, TrainType::BF16);
  EXPECT_EQ(config.batch.world, 2);
  EXPECT_EQ(config.clip, 0);

  config = parsed(
      "trainer: {precision: 16-mixed, strategy: deepspeed_stage_3_offload}");
  EXPECT_EQ(config.precision, "fp16");
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.scaler.interval, 1000);
  EXPECT_EQ(config.optimizer.master, true);

  config = parsed("trainer: {precision: bf16-true, devices: auto}");
  EXPECT_EQ(config.precision, "bf16");
  EXPECT_EQ(config.optimizer.master, false);
  EXPECT_EQ(config.optimizer.state, TrainType::BF16);
  EXPECT_FALSE(config.batch.world);
}

TEST(Lightning, saysWhatIsWrong) {
  EXPECT_EQ(parsed("trainer: {precision: transformer-engine, "
                   "gradient_clip_val: 1, gradient_clip_algorithm: value}")
                .warnings,
            (Warnings{"FILE: trainer.precision: 'transformer-engine' is not "
                      "understood",
                      "FILE: trainer.gradient_clip_algorithm: clipping each "
                      "value is not understood and is ignored"}));
  EXPECT_EQ(errorOf("trainer: {accumulate_grad_batches: 0.5}"),
            "FILE: trainer.accumulate_grad_batches: must be an integer of at "
            "least 1");
  EXPECT_EQ(errorOf("trainer: {devices: 0}"),
            "FILE: trainer.devices: must be an integer of at least 1");
}
