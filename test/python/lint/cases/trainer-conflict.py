# case: both types
from transformers import TrainingArguments
arguments = TrainingArguments("out", fp16=True, bf16=True)  # finds error
# case: a configuration of TRL, by keywords of a dict
from trl import SFTConfig
common = dict(bf16=True, half_precision_backend="apex")
arguments = SFTConfig(output_dir="out", **common)  # finds error
# case: weights that are loaded in FP16
import torch
from transformers import AutoModel, Trainer, TrainingArguments
model = AutoModel.from_pretrained("bert", torch_dtype=torch.float16)
arguments = TrainingArguments("out", fp16=True)  # finds error
trainer = Trainer(model=model, args=arguments)
# case: one type, and weights in FP32
import torch
from transformers import AutoModel, Trainer, TrainingArguments
model = AutoModel.from_pretrained("bert")
arguments = TrainingArguments("out", fp16=torch.cuda.is_available(), bf16=False)
trainer = Trainer(model=model, args=arguments)
