# case: no master weights in a dictionary
config = {"train_batch_size": 8, "fp16": {"enabled": True, "fp16_master_weights_and_grads": True}}  # finds warning
# case: sums of gradients in BF16
config = {
    "train_batch_size": 32, "gradient_accumulation_steps": 4,
    "bf16": {"enabled": True},
    "data_types": {"grad_accum_dtype": "bf16"},  # finds warning
}
# case: one pass, and FP32
config = {"train_batch_size": 32, "gradient_accumulation_steps": 1, "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "bf16"}}
other = {"train_batch_size": 32, "gradient_accumulation_steps": 4, "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}
# case: another dictionary
options = {"data_types": {"grad_accum_dtype": "bf16"}, "trainer": {"precision": "16-true"}, "pure_bf16": True}
