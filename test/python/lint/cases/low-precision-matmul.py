# case: three ways
import torch
torch.backends.cuda.matmul.allow_tf32 = True  # finds note
torch.set_float32_matmul_precision("high")  # finds note
torch.set_float32_matmul_precision("medium")  # finds warning
# case: in full
import torch
torch.backends.cuda.matmul.allow_tf32 = False
torch.set_float32_matmul_precision("highest")
