"""One rank of a training in FP16 under an engine, over gloo: `engine_program.py ENGINE FAULT RANK WORLD FOLDER`.

ENGINE  `fsdp`: FSDP2 whose casts are to FP16, and a scaler; `ddp`: autocast and a scaler
FAULT   `none`; `batch`: a batch of the last rank is 1e4 times too large from step 12 on; `layer`: the second
        layer is, on all ranks
Prints the alerts, one JSON object a line."""

import datetime
import json
import pathlib
import sys

import torch
import torch.distributed as distributed
from torch import nn
from trainings import CLASSES, FEATURES, PATIENCE, Blobs, classify

from mpopt.monitor import Monitor

STEPS, BEGIN = 30, 12


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(FEATURES, 32), nn.Linear(32, 32)
        self.head = nn.Linear(32, CLASSES)

    def forward(self, x):
        return self.head(torch.relu(self.second(torch.relu(self.first(x)))))


def shard(model: Net, world: int) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = distributed.device_mesh.init_device_mesh("cpu", (world,))
    policy = MixedPrecisionPolicy(param_dtype=torch.float16, reduce_dtype=torch.float32)
    for part in (model.first, model.second, model.head, model):
        fully_shard(part, mesh=mesh, mp_policy=policy)


def main(engine: str, fault: str, rank: int, world: int, folder: pathlib.Path) -> None:
    distributed.init_process_group("gloo", f"file://{folder / 'store'}", rank=rank, world_size=world,
                                   timeout=datetime.timedelta(seconds=PATIENCE))
    model = inner = Net()
    if engine == "fsdp":
        shard(model, world)
    else:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    # Scaled gradients fit, so that what does not is the fault's.
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    batches = Blobs()
    periods = dict.fromkeys(("value", "gradient"), 1)
    with Monitor(model, optimizer, scaler, record=folder / "run-%r.mprec", periods=periods, sinks=[tell],
                 config="none") as monitor:
        for step in range(STEPS):
            x, y = batches(step)
            if fault == "batch" and rank == world - 1 and step >= BEGIN:
                x = x * 1e5
            if fault == "layer" and step == BEGIN:
                with torch.no_grad():
                    inner.second.weight.mul_(1e6)
            with torch.autocast("cpu", torch.float16, enabled=engine != "fsdp"):
                output = model(x)
                loss = classify(output.float(), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            monitor.step(loss=loss)
    distributed.destroy_process_group()


def tell(alert) -> None:
    print(json.dumps(alert.as_dict()), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(*sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), pathlib.Path(sys.argv[5]))
