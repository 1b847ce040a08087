//===- PublishedTest.cpp - Configurations as they are published ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values of configurations that models and examples were published
// with: each is read without a needless warning, and as the framework reads it.
//
//===----------------------------------------------------------------------===//

#include "Configs.h"

using namespace mpopt;

//===----------------------------------------------------------------------===//
// DeepSpeed
//===----------------------------------------------------------------------===//

// Transformers, tests/deepspeed/ds_config_zero3.json.
TEST(Published, transformersZero3) {
  TrainConfig config = parsed(R"({
    "fp16": {"enabled": true, "loss_scale": 0, "loss_scale_window": 1000,
             "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
    "zero_optimization": {
      "stage": 3,
      "offload_optimizer": {"device": "cpu", "pin_memory": true},
      "offload_param": {"device": "cpu", "pin_memory": true},
      "overlap_comm": true, "contiguous_gradients": true,
      "sub_group_size": 1e14, "reduce_bucket_size": 0,
      "stage3_prefetch_bucket_size": 0,
      "stage3_param_persistence_threshold": 0,
      "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9,
      "stage3_gather_fp16_weights_on_model_save": true},
    "optimizer": {"type": "AdamW",
                  "params": {"lr": 3e-5, "betas": [0.8, 0.999], "eps": 1e-8,
                             "weight_decay": 3e-7}},
    "scheduler": {"type": "WarmupLR",
                  "params": {"warmup_min_lr": 0, "warmup_max_lr": 3e-5,
                             "warmup_num_steps": 500}},
    "steps_per_print": 2000, "wall_clock_breakdown": false})");
  EXPECT_EQ(config.format, TrainFormat::DeepSpeed);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "fp16");
  EXPECT_EQ(config.scaler.initial, 65536);
  EXPECT_EQ(config.scaler.hysteresis, 2);
  EXPECT_EQ(config.scaler.minimum, 1);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.optimizer.beta1, 0.8);
  EXPECT_EQ(config.optimizer.weightDecay, 3e-7);
  EXPECT_EQ(config.optimizer.master, true);
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.reduce.type, TrainType::F16);
}

// DeepSpeedExamples, bing_bert: 64k samples with LAMB, and 1-bit Adam.
TEST(Published, bertWithLamb) {
  TrainConfig config = parsed(R"({
    "train_batch_size": 65536, "train_micro_batch_size_per_gpu": 64,
    "steps_per_print": 100, "prescale_gradients": false,
    "optimizer": {"type": "Lamb",
                  "params": {"lr": 11e-3, "weight_decay": 0.01,
                             "bias_correction": false, "max_coeff": 0.3,
                             "min_coeff": 0.01}},
    "gradient_clipping": 1.0, "wall_clock_breakdown": false,
    "fp16": {"enabled": true, "loss_scale": 0},
    "sparse_attention": {"mode": "fixed", "block": 16,
                         "attention": "bidirectional"}})");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.optimizer.name, "lamb");
  EXPECT_EQ(config.optimizer.learningRate, 0.011);
  EXPECT_EQ(config.reduce.division, ReduceDivision::After);
  EXPECT_EQ(config.clip, 1);
  EXPECT_EQ(config.batch.micro, 64);
  EXPECT_FALSE(config.batch.world);

  config = parsed(R"({
    "train_batch_size": 4096, "train_micro_batch_size_per_gpu": 16,
    "prescale_gradients": false,
    "optimizer": {"type": "OneBitAdam",
                  "params": {"lr": 4e-4, "weight_decay": 0.01,
                             "bias_correction": false, "freeze_step": 23000,
                             "cuda_aware": false,
                             "comm_backend_name": "nccl"}},
    "gradient_clipping": 1.0,
    "fp16": {"enabled": true, "loss_scale": 0, "initial_scale_power": 16}})");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.optimizer.learningRate, 4e-4);
}

// DeepSpeedExamples, Megatron-LM with ZeRO-Infinity: a scale that stays.
TEST(Published, zeroInfinity) {
  TrainConfig config = parsed(R"({
    "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1,
    "zero_optimization": {
      "stage": 3, "stage3_max_live_parameters": 1e9,
      "stage3_param_persitance_threshold": 1e5,
      "contiguous_gradients": true, "reduce_bucket_size": 90000000,
      "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme_data",
                            "buffer_count": 4},
      "offload_param": {"device": "nvme", "max_in_cpu": 1}},
    "gradient_clipping": 1.0,
    "fp16": {"enabled": true, "loss_scale": 1024, "loss_scale_window": 1000,
             "hysteresis": 2, "min_loss_scale": 1},
    "zero_allow_untested_optimizer": false,
    "aio": {"block_size": 1048576, "queue_depth": 16}})");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.scaler.kind, ScalerKind::Static);
  EXPECT_EQ(config.scaler.initial, 1024);
}

// The first releases' `zero_optimization` and `fp32_allreduce`.
TEST(Published, oldDeepSpeed) {
  TrainConfig config = parsed(R"({
    "train_batch_size": 8, "zero_optimization": true, "fp32_allreduce": true,
    "disable_allgather": true, "fp16": {"enabled": true}})");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.sharding.kind, ShardingKind::Zero);
  EXPECT_EQ(config.sharding.stage, 1);
  EXPECT_EQ(config.reduce.type, TrainType::F32);
}

// Transformers' templates for the Trainer, with both types left open.
TEST(Published, trainerTemplate) {
  TrainConfig config = parsed(R"({
    "fp16": {"enabled": "auto", "loss_scale": 0, "loss_scale_window": 1000,
             "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1},
    "bf16": {"enabled": "auto"},
    "zero_optimization": {
      "stage": 3, "contiguous_gradients": true, "overlap_comm": true,
      "sub_group_size": 1e9, "reduce_bucket_size": "auto",
      "stage3_gather_16bit_weights_on_model_save": true},
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
    "train_micro_batch_size_per_gpu": "auto", "train_batch_size": "auto",
    "steps_per_print": 1e5, "wall_clock_breakdown": false})");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_FALSE(config.precision);
  EXPECT_FALSE(config.clip);
  EXPECT_EQ(config.sharding.stage, 3);
}

//===----------------------------------------------------------------------===//
// Hugging Face
//===----------------------------------------------------------------------===//

// alignment-handbook, Zephyr 7B: supervised fine-tuning.
TEST(Published, zephyr) {
  TrainConfig config = parsed(R"(model_name_or_path: mistralai/Mistral-7B-v0.1
model_revision: main
attn_implementation: flash_attention_2
dataset_mixture:
  datasets:
    - id: HuggingFaceH4/ultrachat_200k
      columns:
        - messages
      weight: 1.0
  seed: 0
bf16: true
do_eval: true
eval_strategy: epoch
gradient_accumulation_steps: 1
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: False
learning_rate: 2.0e-05
lr_scheduler_type: cosine
max_steps: -1
num_train_epochs: 1
output_dir: data/zephyr-7b-sft-full
per_device_train_batch_size: 16
report_to:
- wandb
warmup_ratio: 0.1
)");
  EXPECT_EQ(config.format, TrainFormat::HuggingFace);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-bf16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::None);
  EXPECT_EQ(config.optimizer.learningRate, 2e-5);
  EXPECT_EQ(config.batch.micro, 16);
  EXPECT_EQ(config.sharding.checkpointing, true);
  // It loads the model in BF16, which the model that is judged has to show.
  EXPECT_EQ(
      parsed("torch_dtype: bfloat16\nbf16: true\noutput_dir: out\n").warnings,
      Warnings{"FILE: torch_dtype: is not understood and is ignored"});
}

// A dump of all arguments, most of which say nothing.
TEST(Published, dumpOfTrainingArguments) {
  TrainConfig config = parsed(R"({
    "output_dir": "out", "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 2, "learning_rate": 5e-05,
    "weight_decay": 0.0, "adam_beta1": 0.9, "adam_beta2": 0.999,
    "adam_epsilon": 1e-08, "max_grad_norm": 1.0, "fp16": true, "bf16": false,
    "fp16_opt_level": "O1", "half_precision_backend": "auto",
    "bf16_full_eval": false, "fp16_full_eval": false, "tf32": null,
    "sharded_ddp": [], "fsdp": [], "fsdp_min_num_params": 0,
    "fsdp_config": {"min_num_params": 0, "xla": false,
                    "xla_fsdp_v2": false, "xla_fsdp_grad_ckpt": false},
    "fsdp_transformer_layer_cls_to_wrap": null, "deepspeed": null,
    "label_smoothing_factor": 0.0, "optim": "adamw_torch", "optim_args": null,
    "adafactor": false, "gradient_checkpointing": false,
    "auto_find_batch_size": false, "fp16_backend": "auto",
    "optim_target_modules": null, "mp_parameters": ""})");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-fp16");
  EXPECT_EQ(config.scaler.initial, 65536);
  EXPECT_EQ(config.optimizer.name, "adamw");
  EXPECT_EQ(config.batch.accumulate, 2);
  EXPECT_FALSE(config.sharding.kind);
}

//===----------------------------------------------------------------------===//
// Accelerate
//===----------------------------------------------------------------------===//

// alignment-handbook, deepspeed_zero3.yaml.
TEST(Published, accelerateWithDeepSpeed) {
  TrainConfig config = parsed(R"(compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  deepspeed_multinode_launcher: standard
  offload_optimizer_device: cpu
  offload_param_device: cpu
  zero3_init_flag: true
  zero3_save_16bit_model: true
  zero_stage: 3
distributed_type: DEEPSPEED
downcast_bf16: 'no'
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: 1
rdzv_backend: static
tpu_env: []
use_cpu: false
)");
  EXPECT_EQ(config.format, TrainFormat::Accelerate);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "bf16");
  EXPECT_EQ(config.sharding.kind, ShardingKind::Zero);
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.optimizer.master, true);
}

// Accelerate, tests/test_configs: files of several releases.
TEST(Published, accelerateReleases) {
  TrainConfig config = parsed(R"(compute_environment: LOCAL_MACHINE
deepspeed_config: {}
distributed_type: 'NO'
downcast_bf16: 'no'
fsdp_config: {}
machine_rank: 0
main_process_ip: null
main_process_port: null
main_training_function: main
mixed_precision: 'no'
num_machines: 1
num_processes: 1
use_cpu: false)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "fp32");
  EXPECT_FALSE(config.sharding.kind);

  config = parsed(R"(compute_environment: LOCAL_MACHINE
distributed_type: FSDP
downcast_bf16: 'no'
enable_cpu_affinity: false
fsdp_config:
  fsdp_activation_checkpointing: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_cpu_ram_efficient_loading: true
  fsdp_forward_prefetch: false
  fsdp_offload_params: false
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_transformer_layer_cls_to_wrap: BertLayer
  fsdp_use_orig_params: true
mixed_precision: 'no'
num_machines: 1
num_processes: 1
tpu_env: []
)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.sharding.kind, ShardingKind::Fsdp);
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.sharding.checkpointing, false);
  EXPECT_FALSE(config.sharding.parameters);
}

// examples/config_yaml_templates/fp8.yaml, and what people write by hand: other
// cases, a downcast that only a TPU does.
TEST(Published, accelerateByHand) {
  TrainConfig config = parsed(R"(distributed_type: "NO"
mixed_precision: "fp8"
fp8_config:
  backend: TE
  amax_history_len: 1024
  fp8_format: E4M3
  override_linear_precision: [false, false, false]
)");
  EXPECT_EQ(config.warnings, Warnings());
  ASSERT_EQ(config.faults.size(), 2u);
  EXPECT_EQ(config.faults[0].rule, "short-amax-history");
  EXPECT_EQ(config.faults[1].rule, "fp8-scale-setting");

  for (llvm::StringRef products : {"[true, true, true]", "true,true,true"}) {
    config = parsed(("mixed_precision: fp8\nfp8_config:\n  backend: TE\n"
                     "  amax_compute_algo: max\n"
                     "  override_linear_precision: " +
                     products + "\n")
                        .str());
    EXPECT_EQ(config.warnings, Warnings());
    ASSERT_EQ(config.faults.size(), 1u);
    EXPECT_EQ(config.faults[0].rule, "refused-fp8-setting");
  }

  config = parsed(R"(compute_environment: MULTI_MACHINE
distributed_type: MULTI_GPU
num_machines: 2
num_processes: 8
gpu_ids: all
mixed_precision: BF16
downcast_bf16: 'yes'
)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-bf16");
  EXPECT_EQ(config.batch.world, 8);
  EXPECT_EQ(parsed("distributed_type: TPU\nmixed_precision: bf16\n"
                   "downcast_bf16: 'yes'\n")
                .warnings,
            Warnings{"FILE: downcast_bf16: is not understood and is ignored"});
}

//===----------------------------------------------------------------------===//
// Megatron-LM
//===----------------------------------------------------------------------===//

// BLOOM 176B: a script with DeepSpeed's configuration written by the way.
TEST(Published, bloom) {
  TrainConfig config = parsed(R"(#!/bin/bash
#SBATCH --nodes=48
#SBATCH --gres=gpu:8
GPUS_PER_NODE=8
NNODES=$SLURM_NNODES
TP_SIZE=4
PP_SIZE=12
MICRO_BATCH_SIZE=2  # 1 at first
GLOBAL_BATCH_SIZE=2048
TRAIN_SAMPLES=220_000_000
OPTIMIZER_ARGS=" \
    --optimizer adam \
    --adam-beta1 0.9 \
    --adam-beta2 0.95 \
    --adam-eps 1e-8 \
    --lr 6e-5 \
    --min-lr 6e-6 \
    --clip-grad 1.0 \
    --weight-decay 1e-1 \
    "
GPT_ARGS=" \
    --pp-partition-method 'type:transformer|embedding' \
    --micro-batch-size $MICRO_BATCH_SIZE \
    --rampup-batch-size 192 16 9_765_625 \
    --global-batch-size $GLOBAL_BATCH_SIZE \
    --train-samples $TRAIN_SAMPLES \
    --init-method-std 0.0048 \
    --embed-layernorm \
    --bf16 \
    --checkpoint-activations \
    $OPTIMIZER_ARGS \
    "
ZERO_STAGE=0
config_json="./ds_config.$SLURM_JOB_ID.json"
cat <<EOT > $config_json
{
  "train_micro_batch_size_per_gpu": $MICRO_BATCH_SIZE,
  "gradient_clipping": 1.0,
  "zero_optimization": {
    "stage": $ZERO_STAGE
  },
  "bf16": {
    "enabled": true
  }
}
EOT
DEEPSPEED_ARGS=" \
    --deepspeed \
    --deepspeed_config ${config_json} \
    --zero-stage ${ZERO_STAGE} \
    --deepspeed-activation-checkpointing \
    "
export LAUNCHER="python -u -m torch.distributed.run \
    --nproc_per_node $GPUS_PER_NODE \
    --nnodes $NNODES \
    "
export CMD=" `pwd`/pretrain_gpt.py \
    --tensor-model-parallel-size $TP_SIZE \
    --pipeline-model-parallel-size $PP_SIZE \
    $GPT_ARGS --data-impl mmap $DEEPSPEED_ARGS"
srun bash -c "$LAUNCHER --node_rank \$SLURM_PROCID $CMD" 2>&1 | tee log.txt
)");
  EXPECT_EQ(config.format, TrainFormat::Megatron);
  EXPECT_EQ(config.warnings,
            (Warnings{"FILE: nnodes: '$SLURM_NNODES' is not set in the file",
                      "FILE: deepspeed-config: is not read: give it instead"}));
  EXPECT_EQ(config.precision, "bf16");
  EXPECT_EQ(config.scaler.kind, ScalerKind::None);
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  EXPECT_EQ(config.optimizer.weightDecay, 0.1);
  EXPECT_EQ(config.clip, 1);
  EXPECT_EQ(config.batch.micro, 2);
  EXPECT_EQ(config.batch.total, 2048);
  EXPECT_FALSE(config.batch.world);
  EXPECT_EQ(config.sharding.kind, ShardingKind::None);
  EXPECT_EQ(config.sharding.checkpointing, true);
}

// BigScience's first 13B model: FP16, whose scale DeepSpeed keeps, whatever
// --loss-scale says.
TEST(Published, bigScience13B) {
  TrainConfig config = parsed(R"(#!/bin/bash
GPUS_PER_NODE=4
NNODES=16
PP_SIZE=8 # layers must be a multiple
TP_SIZE=4
DP_SIZE=$NNODES*GPUS_PER_NODE/(PP_SIZE*TP_SIZE)
MICRO_BATCH_SIZE=2
OPTIMIZER_ARGS="--optimizer adam --adam-beta2 0.95 --lr 1e-4 \
    --lr-warmup-samples 432_640 --weight-decay 1e-1"
GPT_ARGS="--micro-batch-size $MICRO_BATCH_SIZE --global-batch-size 2048 \
    --loss-scale 12 --clip-grad 1.0 --fp16 --checkpoint-activations"
ZERO_STAGE=1
python -m torch.distributed.launch --nproc_per_node $GPUS_PER_NODE \
    --nnodes $NNODES pretrain_gpt.py \
    --tensor-model-parallel-size $TP_SIZE \
    --pipeline-model-parallel-size $PP_SIZE $GPT_ARGS $OPTIMIZER_ARGS \
    --deepspeed --deepspeed_config ds.json --zero-stage ${ZERO_STAGE}
)");
  EXPECT_EQ(config.warnings,
            Warnings{"FILE: deepspeed-config: is not read: give it instead"});
  EXPECT_EQ(config.scaler.kind, ScalerKind::Dynamic);
  EXPECT_EQ(config.scaler.initial, 65536);
  EXPECT_EQ(config.batch.world, 2);
  EXPECT_EQ(config.batch.accumulate, 512);
  EXPECT_EQ(config.sharding.kind, ShardingKind::Zero);
  EXPECT_EQ(config.sharding.stage, 1);
}

// Megatron-LM, examples/gpt3/train_gpt3_175b_distributed.sh: written for one
// node, to be changed.
TEST(Published, gpt3) {
  TrainConfig config = parsed(R"(#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NUM_NODES=1
WORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))
CHECKPOINT_PATH=$1 #<Specify path>
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NUM_NODES
)
GPT_MODEL_ARGS=(
    --num-layers 96
    --attention-backend auto # Can use (flash/fused/unfused/local)
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 1536
    --rampup-batch-size 16 16 5859375
    --weight-decay 0.1
    --adam-beta1 0.9
    --adam-beta2 0.95
    --init-method-std 0.006
    --clip-grad 1.0
    --fp16
    --lr 6.0e-5
    --lr-warmup-fraction .001
)
MODEL_PARALLEL_ARGS=(
	--tensor-model-parallel-size 8
	--pipeline-model-parallel-size 16
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} ${TRAINING_ARGS[@]} ${MODEL_PARALLEL_ARGS[@]} \
    --save $CHECKPOINT_PATH
)");
  EXPECT_EQ(config.warnings,
            Warnings{"FILE: nproc-per-node: of the 128 ranks that share a "
                     "model the file starts 8: the number of workers is left "
                     "open"});
  EXPECT_EQ(config.precision, "fp16");
  EXPECT_EQ(config.scaler.initial, 0x1p32);
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  EXPECT_EQ(config.reduce.type, TrainType::F16);
  EXPECT_EQ(config.batch.total, 1536);
  EXPECT_FALSE(config.batch.world);
}

//===----------------------------------------------------------------------===//
// Lightning
//===----------------------------------------------------------------------===//

// The output of `fit --print_config`, most of which says nothing.
TEST(Published, lightningDump) {
  TrainConfig config = parsed(R"(# lightning.pytorch==2.1.0
seed_everything: 42
trainer:
  accelerator: gpu
  strategy: auto
  devices: [0, 1]
  num_nodes: 1
  precision: 16-mixed
  logger: null
  callbacks: null
  fast_dev_run: false
  max_steps: 500000
  accumulate_grad_batches: 1
  gradient_clip_val: 1.0
  gradient_clip_algorithm: null
  deterministic: null
  inference_mode: true
  use_distributed_sampler: true
  profiler: null
  detect_anomaly: false
  barebones: false
  plugins: null
  sync_batchnorm: false
  default_root_dir: null
optimizer:
  class_path: torch.optim.AdamW
  init_args:
    lr: 0.0002
    betas:
    - 0.8
    - 0.99
    eps: 1.0e-09
    weight_decay: 0.01
    amsgrad: false
    maximize: false
    foreach: null
    capturable: false
    differentiable: false
    fused: null
)");
  EXPECT_EQ(config.format, TrainFormat::Lightning);
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-fp16");
  EXPECT_EQ(config.scaler.interval, 2000);
  EXPECT_EQ(config.batch.world, 2);
  EXPECT_EQ(config.clip, 1);
  EXPECT_EQ(config.optimizer.beta2, 0.99);
  EXPECT_EQ(config.optimizer.epsilon, 1e-9);
}

// Releases before 2: an integer, Apex's rival, plugins as a list.
TEST(Published, oldLightning) {
  TrainConfig config = parsed(R"(seed_everything: true
trainer:
  gpus: 1
  precision: 16
  amp_backend: native
  amp_level: null
  auto_scale_batch_size: false
  plugins: []
  strategy: ddp_find_unused_parameters_false
  accumulate_grad_batches: 4
)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.precision, "autocast-fp16");
  EXPECT_EQ(config.batch.accumulate, 4);
}

TEST(Published, lightningWithFsdp) {
  TrainConfig config = parsed(R"(trainer:
  precision: bf16-true
  devices: 8
  num_nodes: 4
  strategy:
    class_path: lightning.pytorch.strategies.FSDPStrategy
    init_args:
      cpu_offload: null
      activation_checkpointing_policy: null
      sharding_strategy: HYBRID_SHARD
      state_dict_type: sharded
      mixed_precision:
        class_path: torch.distributed.fsdp.MixedPrecision
        init_args:
          param_dtype: torch.bfloat16
          reduce_dtype: torch.float32
          buffer_dtype: torch.float32
          keep_low_precision_grads: false
          cast_forward_inputs: false
)");
  EXPECT_EQ(config.warnings, Warnings());
  EXPECT_EQ(config.sharding.stage, 3);
  EXPECT_EQ(config.sharding.parameters, TrainType::BF16);
  EXPECT_EQ(config.sharding.reduce, TrainType::F32);
  EXPECT_EQ(config.reduce.type, TrainType::F32);
  EXPECT_FALSE(config.sharding.checkpointing);
  EXPECT_EQ(config.batch.world, 32);
}
