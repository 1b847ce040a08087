"""One rank of a training over gloo: `rank_program.py MODE RANK WORLD FOLDER`.

same    healthy
sharded parameters are in shards (FSDP2), of which small ones are empty on some ranks
broken  rank 1 has other weights from step 12 on, and kills itself after step 29
dies    rank 1 kills itself where rank 0 waits for its norms
unsure  rank 1 alone asks for a sample
Prints the alerts, one JSON object a line."""

import datetime
import json
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as distributed
from trainings import PATIENCE, Blobs, classify, mlp

from mpopt.monitor import Monitor

STEPS, WHOLE = 40, 16


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(8)
        self.scale = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.ones_(self.scale.weight)

    def forward(self, x):
        return self.scale(self.net(x).unsqueeze(-1)).squeeze(-1)


def main(mode: str, rank: int, world: int, folder: pathlib.Path) -> None:
    model = Scaled() if mode == "sharded" else mlp(8)
    if world > 1:
        distributed.init_process_group("gloo", f"file://{folder / 'store'}", rank=rank,
                                       world_size=world,
                                       timeout=datetime.timedelta(seconds=PATIENCE))
    if world > 1 and mode == "sharded":
        from torch.distributed.fsdp import fully_shard

        mesh = distributed.device_mesh.init_device_mesh("cpu", (world,))
        for part in (model.net[0], model.net[2], model.net[4], model.scale, model):
            fully_shard(part, mesh=mesh)
    elif world > 1:
        model = torch.nn.parallel.DistributedDataParallel(model)
    inner = getattr(model, "module", model)
    optimizer = torch.optim.SGD(model.parameters(), 0.01 if mode == "broken" else 0.0)
    batches = Blobs(WHOLE)
    share = WHOLE // world
    periods = {"value": 1, "parameter": 10, "gradient": 10, "ranks": 10}
    with Monitor(model, optimizer, record=folder / f"{world}-%r.mprec", periods=periods,
                 sinks=[tell]) as monitor:
        for step in range(STEPS):
            x, y = batches(step)
            own = slice(rank * share, (rank + 1) * share)
            loss = classify(model(x[own]), y[own])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if mode == "broken" and rank == 1 and step == 12:
                with torch.no_grad():
                    inner[2].weight[0, 0] += 0.01
            if mode == "dies" and rank == 1 and step == 27:
                os.kill(os.getpid(), signal.SIGKILL)
            if mode == "unsure" and rank == 1 and step == 11:
                monitor.sample()
            monitor.step(loss=loss)
            if mode == "broken" and rank == 1 and step == 29:
                os.kill(os.getpid(), signal.SIGKILL)
    if world > 1:
        distributed.destroy_process_group()
        # Threads of gloo that outlive the interpreter end the process by std::terminate.
        sys.stdout.flush()
        os._exit(0)


def tell(alert) -> None:
    print(json.dumps(alert.as_dict()), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4]))
