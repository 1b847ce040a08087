# case: another type
from trl import GRPOConfig, GRPOTrainer
from vllm import LLM
llm = LLM("x", dtype="float16")  # finds warning
other = LLM("x", quantization="fp8")  # finds warning
third = LLM("x", dtype="bfloat16")  # finds note
trainer = GRPOTrainer("x", args=GRPOConfig(bf16=True))
# case: by a region
import torch
from vllm import LLM
engine = LLM("x", dtype=torch.float16)  # finds warning
for x in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = policy(x).loss
    loss.backward()
# case: by the weights
import torch
from transformers import AutoModelForCausalLM
from vllm import LLM
engine = LLM("x", dtype="float16")  # finds warning
policy = AutoModelForCausalLM.from_pretrained("x", dtype=torch.bfloat16)
optimizer = torch.optim.AdamW(policy.parameters())
for x in loader:
    policy(x).loss.backward()
    optimizer.step()
# case: the same type, not known, no training
from trl import GRPOConfig, GRPOTrainer
from vllm import LLM
llm = LLM("x", dtype="float16")
other = LLM("x", dtype="auto")
third = LLM("x", dtype=args.dtype)
trainer = GRPOTrainer("x", args=GRPOConfig(fp16=True))
# case: an engine alone
from vllm import LLM
llm = LLM("x", dtype="float16")
