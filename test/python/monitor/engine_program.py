"""One rank of a training in FP16 under an engine, over gloo: `engine_program.py ENGINE FAULT RANK WORLD FOLDER`.

ENGINE  `fsdp`: FSDP2 whose casts are to FP16, and a scaler; `ddp`: autocast and a scaler; `tp`: tensor parallelism,
        autocast and a scaler; `zero-1` to `zero-3`: DeepSpeed in FP16, with its own scaler
FAULT   `none`; `batch`: a batch of the last rank is 1e4 times too large from step 12 on; `layer`: the second
        layer is, on all ranks; `shard`: the last rank's part of the first layer is
Prints the alerts, one JSON object a line."""

import contextlib
import datetime
import json
import os
import pathlib
import sys

import torch
import torch.distributed as distributed
from torch import nn
from trainings import CLASSES, FEATURES, PATIENCE, Blobs, classify

from mpopt.monitor import Monitor

STEPS, BEGIN = 30, 12
#: Scaled gradients fit, so that what does not is the fault's.
SCALE = 256.0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(FEATURES, 32), nn.Linear(32, 32)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x):
        return self.head(torch.relu(self.second(torch.relu(self.first(x)))))


class Loop:
    """PyTorch's own: a scaler, and autocast where the engine does not cast."""

    def __init__(self, model: nn.Module, autocast: bool = True):
        self.model, self._autocast = model, autocast
        self.optimizer = torch.optim.SGD(model.parameters(), 0.01)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=SCALE)
        #: For parameters whose elements are on other ranks, and are changed on the first.
        self.gather = lambda parameters, modifier_rank: contextlib.nullcontext()

    def step(self, x, y) -> torch.Tensor:
        with torch.autocast("cpu", torch.float16, enabled=self._autocast):
            loss = classify(self.model(x).float(), y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return loss


def ddp(model: Net, world: int) -> Loop:
    return Loop(nn.parallel.DistributedDataParallel(model))


def fsdp(model: Net, world: int) -> Loop:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = distributed.device_mesh.init_device_mesh("cpu", (world,))
    policy = MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=torch.float32)
    for part in (model.first, model.second, model.head, model):
        fully_shard(part, mesh=mesh, mp_policy=policy)
    return Loop(model, autocast=False)


def tp(model: Net, world: int) -> Loop:
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = distributed.device_mesh.init_device_mesh("cpu", (world,))
    # The scaler takes either DTensors or none.
    parallelize_module(model, mesh, {"first": ColwiseParallel(), "second": RowwiseParallel(),
                                     "head": ColwiseParallel(output_layouts=Replicate())})
    return Loop(model)


class DeepSpeed:
    """With its own casts and scaler."""

    def __init__(self, model: Net, stage: int):
        # As its launcher does.
        os.environ |= {"LOCAL_RANK": "0", "DS_ACCELERATOR": "cpu"}
        import deepspeed
        from deepspeed.accelerator import get_accelerator

        # PyTorch has kernels, also where the processor has no instructions for FP16.
        get_accelerator().is_fp16_supported = lambda: True
        self.model, self.optimizer, *_ = deepspeed.initialize(
            model=model, optimizer=torch.optim.SGD(model.parameters(), 0.01), dist_init_required=False,
            config={"train_micro_batch_size_per_gpu": 32, "zero_allow_untested_optimizer": True,
                    "zero_optimization": {"stage": stage},
                    "fp16": {"enabled": True, "auto_cast": True, "initial_scale_power": 8, "hysteresis": 1, "min_loss_scale": 1}})
        self.scaler = self.optimizer
        self.gather = deepspeed.zero.GatheredParameters

    def step(self, x, y) -> torch.Tensor:
        loss = classify(self.model(x).float(), y)
        self.model.backward(loss)
        self.model.step()
        return loss


def begin(engine: str, model: Net, world: int):
    if engine.startswith("zero-"):
        return DeepSpeed(model, int(engine[-1]))
    return {"ddp": ddp, "fsdp": fsdp, "tp": tp}[engine](model, world)


def break_weights(loop, model: Net, fault: str, is_last: bool) -> None:
    if fault == "layer":
        with torch.no_grad(), loop.gather([model.second.weight], modifier_rank=0):
            # Of a copy in FP16, too.
            model.second.weight.mul_(200).mul_(200).mul_(25)
    if fault == "shard" and is_last:
        with torch.no_grad():
            model.first.weight.to_local().mul_(1e6)


def main(engine: str, fault: str, rank: int, world: int, folder: pathlib.Path) -> None:
    distributed.init_process_group("gloo", f"file://{folder / 'store'}", rank=rank, world_size=world,
                                   timeout=datetime.timedelta(seconds=PATIENCE))
    inner = Net()
    loop = begin(engine, inner, world)
    batches = Blobs()
    periods = dict.fromkeys(("value", "gradient"), 1)
    with Monitor(loop.model, loop.optimizer, loop.scaler, record=folder / "run-%r.mprec", periods=periods, sinks=[tell],
                 config="none") as monitor:
        # DeepSpeed ends a run whose scale has fallen to 1.
        for step in range(BEGIN + 7 if engine.startswith("zero-") and fault != "none" else STEPS):
            x, y = batches(step)
            if fault == "batch" and rank == world - 1 and step >= BEGIN:
                x = x * 1e5
            if step == BEGIN:
                break_weights(loop, inner, fault, rank == world - 1)
            monitor.step(loss=loop.step(x, y))
    distributed.destroy_process_group()
    # Threads of gloo that outlive the interpreter end the process by std::terminate.
    sys.stdout.flush()
    os._exit(0)


def tell(alert) -> None:
    print(json.dumps(alert.as_dict()), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), pathlib.Path(sys.argv[5]))
