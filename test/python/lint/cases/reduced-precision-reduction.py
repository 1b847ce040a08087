# case: by its full name
import torch
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True  # finds note fix
# case: under an alias
from torch.backends.cuda import matmul as mm
mm.allow_bf16_reduced_precision_reduction = True  # finds note fix
# case: off
import torch
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
# case: something else
settings.allow_fp16_reduced_precision_reduction = True
