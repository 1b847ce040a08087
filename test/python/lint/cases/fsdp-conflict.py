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
# case: autocast to FP16 without a policy
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
model = FSDP(build())
scaler = torch.amp.GradScaler("cuda")  # finds warning
with torch.autocast("cuda", dtype=torch.float16):
    loss = model(x)
# case: clipped by the norm of a part
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
model = FSDP(Net())
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # finds warning
# case: clipped by the module, and not sharded
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy
model = FSDP(Net())
loss.backward()
model.clip_grad_norm_(1.0)
# case: replicated
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy
model = FSDP(Net(), sharding_strategy=ShardingStrategy.NO_SHARD)
loss.backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
