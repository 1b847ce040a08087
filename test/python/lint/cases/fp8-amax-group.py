# case: ranks at a stride
import torch
import torch.distributed as dist
import transformer_engine.pytorch as te
world, tensor, rank = dist.get_world_size(), 8, dist.get_rank()
tensor_groups = [dist.new_group(list(range(i, i + tensor))) for i in range(0, world, tensor)]
data_groups = [dist.new_group(list(range(i, world, tensor))) for i in range(tensor)]
everything = dist.new_group(list(range(world)))
data_group = data_groups[rank % tensor]
layer = te.Linear(64, 64, sequence_parallel=True, tp_group=tensor_groups[rank // tensor])
with te.fp8_autocast(enabled=True, fp8_group=data_group):  # finds error
    y = layer(x)
# case: all ranks
import torch
import torch.distributed as dist
import transformer_engine.pytorch as te
world, tensor, rank = dist.get_world_size(), 8, dist.get_rank()
tensor_groups = [dist.new_group(list(range(i, i + tensor))) for i in range(0, world, tensor)]
data_groups = [dist.new_group(list(range(i, world, tensor))) for i in range(tensor)]
everything = dist.new_group(list(range(world)))
data_group = data_groups[rank % tensor]
layer = te.Linear(64, 64, sequence_parallel=True, tp_group=tensor_groups[rank // tensor])
with te.fp8_autocast(enabled=True, fp8_group=everything):
    y = layer(x)
# case: no sequence parallelism
import torch
import torch.distributed as dist
import transformer_engine.pytorch as te
world, tensor, rank = dist.get_world_size(), 8, dist.get_rank()
tensor_groups = [dist.new_group(list(range(i, i + tensor))) for i in range(0, world, tensor)]
data_groups = [dist.new_group(list(range(i, world, tensor))) for i in range(tensor)]
everything = dist.new_group(list(range(world)))
data_group = data_groups[rank % tensor]
layer = te.Linear(64, 64, sequence_parallel=False, tp_group=tensor_groups[rank // tensor])
with te.fp8_autocast(enabled=True, fp8_group=data_group):
    y = layer(x)
# case: codes that are gathered by hand
import torch
import torch.distributed as dist
from megatron.core import parallel_state

def get_scale(hidden):
    amax = hidden.abs().amax()
    dist.all_reduce(amax, op=dist.ReduceOp.MAX, group=parallel_state.get_data_parallel_group())
    return amax.clamp(min=1e-12) / 448

def gather(hidden):
    scale = get_scale(hidden)
    codes = (hidden / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
    whole = torch.empty((codes.shape[0] * 8, *codes.shape[1:]), dtype=codes.dtype, device=codes.device)
    dist.all_gather_into_tensor(whole.view(torch.uint8), codes.view(torch.uint8), group=parallel_state.get_tensor_model_parallel_group())  # finds error
    return whole.float() * scale
# case: groups of a mesh
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

mesh = init_device_mesh("cuda", (4, 8), mesh_dim_names=("dp", "tp"))
amax = x.abs().max()
dist.all_reduce(amax, op=dist.ReduceOp.MAX, group=mesh.get_group("dp"))
codes = (x * (448 / amax.clamp(min=1e-12))).to(torch.float8_e4m3fn)
parts = [torch.empty_like(codes) for _ in range(8)]
dist.all_gather(parts, codes, group=mesh.get_group("tp"))  # finds error
# case: the largest of both groups
import torch
import torch.distributed as dist

def gather(hidden, dp_group, tp_group):
    amax = hidden.abs().amax()
    dist.all_reduce(amax, op=dist.ReduceOp.MAX, group=dp_group)
    dist.all_reduce(amax, op=dist.ReduceOp.MAX, group=tp_group)
    codes = (hidden * (448 / amax.clamp(min=1e-12))).to(torch.float8_e4m3fn)
    whole = torch.empty((codes.shape[0] * 8, *codes.shape[1:]), dtype=codes.dtype, device=codes.device)
    dist.all_gather_into_tensor(whole.view(torch.uint8), codes.view(torch.uint8), group=tp_group)
    return whole.float() * amax / 448
