# case: gradients in FP16
import torch
from torch.distributed.fsdp import MixedPrecision
policy = MixedPrecision(param_dtype=torch.float16, reduce_dtype=torch.float16)  # finds warning
# case: two types
import torch
from torch.distributed import fsdp
policy = fsdp.MixedPrecision(torch.bfloat16, torch.float16)  # finds warning
other = fsdp.MixedPrecisionPolicy(param_dtype=torch.float32, reduce_dtype=torch.bfloat16)  # finds warning
# case: a scaler of one rank
import torch
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
policy = MixedPrecision(param_dtype=torch.float16, reduce_dtype=torch.float32)
model = FullyShardedDataParallel(model, mixed_precision=policy)
scaler = torch.amp.GradScaler("cuda")  # finds warning
# case: as it should be
import torch
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
policy = MixedPrecision(param_dtype=torch.float16, reduce_dtype=torch.float32)
low = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)
scaler = ShardedGradScaler()
