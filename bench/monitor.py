#!/usr/bin/env python3
"""The cost of a monitor in a training step, on the CPU.

    bench/monitor.py [--steps N] [--network gpt|resnet] [--clock wall|processor] [--threads N]

For each way of watching, steps of two copies of one training, one watched and one not,
are taken in turn, and the order within a pair is drawn. Printed are the time inside the monitor's
own code by its own counter, as a share of the step, and the median of the ratios of a
pair with its 95 % interval (of order statistics), and all of it as rows of docs/measured.json.
Beside them stand hooks that take one op a statistic, and autograd's own detection of anomalies, a
quarter of as many pairs each. On a machine with other work
`--clock processor` counts the time that the processor spent on the program, for which
`--threads 1` leaves nothing uncounted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
os.environ.setdefault("MPOPT_BUILD", str(ROOT / "build"))
sys.path.insert(0, str(ROOT / "python"))

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from mpopt.monitor import Monitor, collecting  # noqa: E402

EVERY = dict.fromkeys(["norm", "input", "gradient", "value", "parameter", "optimizer", "channel",
                       "update"], 1)
WAYS = {
    "idle (`enabled=False`)": {"enabled": False},
    "scale, loss, inputs each step; gradients every 10th; distributions every 100th": {
        "periods": {"norm": 10}},
    "the default: gradients each step; distributions every 100th": {},
    "everything each step": {"periods": EVERY},
    "everything each step, gradients of outputs, too": {"periods": {**EVERY, "output_gradient": 1}},
}


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary=512, width=128, layers=4, length=64):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.Sequential(*(Block(width, 4) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.table(tokens) + self.places)))


class Residual(nn.Module):
    def __init__(self, before: int, width: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        self.short = nn.Identity() if stride == 1 and before == width else nn.Sequential(
            nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x):
        return functional.relu(self.body(x) + self.short(x))


def resnet18(classes=10):
    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    before = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(before, width, stride), Residual(width, width, 1)]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def gpt_batch():
    tokens = torch.randint(0, 512, (8, 65))
    return tokens[:, :-1], tokens[:, 1:]


def gpt_loss(output, target):
    return functional.cross_entropy(output.flatten(0, 1), target.flatten())


NETWORKS = {"gpt": (Gpt, gpt_batch, gpt_loss),
            "resnet": (resnet18, lambda: (torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))),
                       functional.cross_entropy)}
#: Prefixes of rows in docs/measured.json, whose table is that of the first network.
PREFIXES = {"gpt": "", "resnet": "ResNet-18, 8 images of 32 x 32: "}


def one_op_a_statistic(model):
    """Absolute maximum, norm, mean, minimum and maximum, share of zeros of every gradient, an op
    each, as hooks are often written."""
    def hook(parameter):
        gradient = parameter.grad
        return [gradient.abs().max().item(), gradient.norm().item(), gradient.mean().item(),
                gradient.min().item(), gradient.max().item(), (gradient == 0).float().mean().item(),
                torch.isfinite(gradient).all().item()] and None
    return [parameter.register_post_accumulate_grad_hook(hook) for parameter in model.parameters()]


class Step:
    def __init__(self, network: str):
        torch.manual_seed(0)
        build, self.batch, self.loss = NETWORKS[network]
        self.model = build()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)

    def take(self, monitor=None, anomaly=False) -> float:
        x, target = self.batch()
        begin = collecting.clock()
        with torch.autograd.set_detect_anomaly(anomaly):
            loss = self.loss(self.model(x), target)
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if monitor is not None:
            monitor.step(loss=loss)
        return collecting.clock() - begin


def interval(ratios: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by ranks."""
    ordered, count = sorted(ratios), len(ratios)
    reach = 0.98 * math.sqrt(count)
    low, high = int(count / 2 - reach), math.ceil(count / 2 + reach)
    return ordered[max(low, 0)], ordered[min(high, count - 1)]


def pairs(steps: int, with_it, without_it) -> list[float]:
    """Ratios of steps with something and without, in turn; the order within a pair is drawn."""
    ratios = []
    for _ in range(steps):
        times = {}
        for way in random.sample([with_it, without_it], 2):
            times[way] = way()
        ratios.append(times[with_it] / times[without_it])
    return ratios


def row(name: str, own: str, ratios: list[float]) -> list[str]:
    """Prints a row; gives it as docs/measured.json has it."""
    low, high = interval(ratios)
    print(f"| {name} | {own} | {statistics.median(ratios) - 1:+.2%} | {low - 1:+.2%} to "
          f"{high - 1:+.2%} |", flush=True)
    return [name, own.replace("%", " %"), f"{100 * (statistics.median(ratios) - 1):+.1f} %",
            f"{100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %"]


def measure(network: str, steps: int) -> list[list[str]]:
    print(f"\n## {network}, {steps} steps\n\n| way | own time | step time | 95 % interval |\n"
          "|---|---|---|---|")
    rows = []
    # Two copies of one training, so that windows go on as in a run.
    step, bare = Step(network), Step(network)
    for _ in range(10):
        step.take()
        bare.take()
    for name, options in WAYS.items():
        with tempfile.TemporaryDirectory() as folder, \
                Monitor(step.model, step.optimizer, record=Path(folder, "run.mprec"), sinks=[],
                        **options) as monitor:
            ratios, spent = [], 0.0
            for _ in range(steps):
                times = {}
                for watched in random.sample([True, False], 2):
                    times[watched] = step.take(monitor) if watched else bare.take()
                ratios.append(times[True] / times[False])
                spent += times[True]
            rows.append(row(name, f"{monitor.seconds / spent:.2%}", ratios))
    handles = []

    def hooked():
        handles.extend(one_op_a_statistic(step.model))
        taken = step.take()
        while handles:
            handles.pop().remove()
        return taken

    for name, way in (("gradients each step, one op a statistic and `.item()`", hooked),
                      ("`torch.autograd.detect_anomaly`", lambda: step.take(anomaly=True))):
        rows.append(row(name, "", pairs(steps // 4, way, bare.take)))
    return [[PREFIXES[network] + name, *rest] for name, *rest in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--network", choices=list(NETWORKS), action="append")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.clock == "processor":
        if arguments.threads != 1:
            parser.error("--clock processor counts one thread: --threads 1")
        collecting.clock = time.thread_time
    load = os.getloadavg()[0]
    print(f"PyTorch {torch.__version__}, {arguments.threads} threads, {arguments.clock} time, load "
          f"{load:.1f} of {os.cpu_count()} processors")
    rows = []
    for network in arguments.network or NETWORKS:
        rows += measure(network, arguments.steps)
    print("\nrows of docs/measured.json, monitor-overhead:\n" +
          json.dumps(rows, indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
