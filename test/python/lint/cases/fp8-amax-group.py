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
