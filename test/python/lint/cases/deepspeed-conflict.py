# case: two types
config = {  # finds error
    "train_batch_size": 8,
    "fp16": {"enabled": True},
    "bf16": {"enabled": True},
}
# case: a fixed scale and a start, batches that do not divide
config = {"fp16": {"enabled": True, "loss_scale": 128, "initial_scale_power": 16}, "zero_optimization": {}}  # finds error
sizes = {"train_batch_size": 30, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}  # finds error
# case: one type
config = {
    "train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
    "fp16": {"enabled": True, "loss_scale": 0, "initial_scale_power": 16},
    "bf16": {"enabled": False},
}
# case: not known before it runs
config = {"fp16": {"enabled": args.fp16}, "bf16": {"enabled": args.bf16}, "train_batch_size": "auto"}
# case: another kind of dict
options = {"fp16": {"enabled": True}, "colour": {"enabled": True}}
# case: entries that branches set
config = {"train_batch_size": 8, "zero_optimization": {}}
if dtype == "bf16":
    config["bf16"] = {"enabled": True}
elif dtype == "fp16":
    config["fp16"] = {"enabled": True}
# case: entries that are set
config = {"train_batch_size": 8, "zero_optimization": {}}  # finds error
config["bf16"] = {"enabled": True}
config["fp16"] = {"enabled": True}
