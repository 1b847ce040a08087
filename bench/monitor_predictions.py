#!/usr/bin/env python3
"""The predictions of --train against networks that are trained.

    bench/monitor_predictions.py [--steps N]

Each network is judged as autocast in FP16, then trained twice with a monitor that has the
ledger: in FP32, where nothing is lost and what FP16 would lose is counted, and under autocast
in FP16 with a GradScaler that begins at 2^40 and so comes down to the top of the window.
Printed as rows of docs/measured.json, too.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("MPOPT_BUILD", str(ROOT / "build"))
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test/python/monitor")]

import torch  # noqa: E402
import trainings  # noqa: E402
from torch import nn  # noqa: E402

import mpopt  # noqa: E402
from mpopt import _command  # noqa: E402
from mpopt.monitor import Monitor, check_predictions  # noqa: E402

BATCH = trainings.BATCH
#: A share of a gradient that is worth telling.
TENTH = 0.1


class Regression(nn.Module):
    """A network and its loss against targets of its own shape."""

    def __init__(self, net: nn.Module, weight: float = 1.0):
        super().__init__()
        self.net, self.weight = net, weight

    def forward(self, x, y):
        return (self.net(x).float() - y).square().mean() * self.weight


class Classification(Regression):
    def forward(self, x, y):
        return nn.functional.cross_entropy(self.net(x).float(), y) * self.weight


def deep(width: int = 24, depth: int = 10) -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.Linear(trainings.FEATURES, width), nn.Tanh()]
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(width, trainings.CLASSES))


CLASSES = [f"--input-shape=y={BATCH}:i64", f"--input=y=0:{trainings.CLASSES - 1}"]


def points():
    return trainings.Blobs(BATCH), [f"--input-shape=x={BATCH}x{trainings.FEATURES}",
                                    "--input=x~0,1.1", *CLASSES]


def images():
    return trainings.Blobs(BATCH, (1, 8, 8)), [f"--input-shape=x={BATCH}x1x8x8", "--input=x~0,1.1",
                                               *CLASSES]


def pairs():
    blobs = trainings.Blobs(BATCH)

    def batches(step):
        x, _ = blobs(step)
        return x, x

    shape = f"{BATCH}x{trainings.FEATURES}"
    return batches, [f"--input-shape=x={shape}", f"--input-shape=y={shape}", "--input=x~0,1.1",
                     "--input=y~0,1.1"]


NETWORKS = {
    "MLP": lambda: (Classification(trainings.mlp()), points()),
    "MLP, loss weighted by 1e-6": lambda: (Classification(trainings.mlp(), 1e-6), points()),
    "convolutions and batch norm": lambda: (Classification(trainings.Convolutional()), images()),
    "autoencoder, loss weighted by 1e4": lambda: (Regression(trainings.Autoencoder(), 1e4), pairs()),
    "ten layers of tanh": lambda: (Classification(deep()), points()),
}


def train(model, batches, ledger, record, half: bool, steps: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.0 if half else 1e-3 / model.weight)
    scaler = trainings.scaler(init_scale=2.0**40) if half else None
    with Monitor(model, optimizer, scaler, record=record, ledger=ledger, sinks=[],
                 periods={"gradient": 1}) as monitor:
        for step in range(steps):
            x, y = batches(step)
            with torch.autocast("cpu", torch.float16, enabled=half):
                loss = model(x, y)
            (scaler.scale(loss) if scaler else loss).backward()
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()
            monitor.step(loss=loss)


def judge(name: str, steps: int, folder: Path) -> list[str]:
    model, (batches, options) = NETWORKS[name]()
    torch.jit.script(model).save(str(folder / "net.pt"))
    _command.run(["--instrument", str(folder / "net.pt"), "-o", str(folder / "probed.pt"), "--train",
                  "--precision=autocast-fp16", *options])
    ledger = folder / "probed.pt.probes.json"
    # The scaler's way down is over the weights that were judged.
    train(model, batches, ledger, folder / "half.mprec", True, 80)
    train(model, batches, ledger, folder / "full.mprec", False, steps)
    half, full = (check_predictions(folder / f"{run}.mprec", ledger) for run in ("half", "full"))
    shares = [entry for entry in full.flushed if entry.dtype == "f16"]
    near = sum(abs(entry.predicted - entry.seen[0]) <= TENTH for entry in shares)
    both = sum((entry.predicted >= TENTH) == (entry.seen[0] >= TENTH) for entry in shares)
    statuses = collections.Counter(
        str(finding.status) for finding in mpopt.confirm(folder / "full.mprec", ledger).findings
        if finding.rule.startswith("MP4"))
    low, high = full.window
    return [name, f"{'none' if low is None else f'2^{low}'} to "
            f"{'none' if high is None else f'2^{high}'}", f"2^{math.log2(half.settled):.0f}",
            f"{near} of {len(shares)}", f"{both} of {len(shares)}",
            ", ".join(f"{count} {status}" for status, count in sorted(statuses.items())) or "none"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(judge(name, arguments.steps, Path(folder))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
