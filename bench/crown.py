#!/usr/bin/env python3
"""Bounds of convolutional networks beside auto_LiRPA's CROWN, and of the files that onnxsim writes.

    bench/crown.py [--json FILE]

auto_LiRPA and onnxsim have to be importable: in an environment of its own, `pip install numpy==1.26.4 torch==2.1.2
onnx==1.16.2` and `pip install --no-deps auto_LiRPA onnxsim rich tqdm appdirs markdown_it_py mdurl pygments ml_dtypes`. Networks have weights from seed 0; the box is [0, 1] or a point of it and
0.004 each way. For each tensor in front of a relu and each output, the distance of mpopt's least and largest bound
over that of CROWN's (of its intervals in `IBP`), as a geometric mean over tensors; seconds are of one check, and of
CROWN alone.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnx
import torch
from torch import nn

warnings.filterwarnings("ignore")
ROOT = Path(__file__).resolve().parents[1]
MPOPT = Path(os.environ.get("MPOPT_BUILD", ROOT / "build")) / "bin" / "mpopt"


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.first(x))))


def convolutions(depth, width=8):
    layers = []
    for index in range(depth):
        layers += [nn.Conv2d(width if index else 3, width, 3, padding=1), nn.ReLU()]
    return layers


def networks():
    head = [nn.Flatten(), nn.Linear(8 * 64, 10)]
    small = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.ReLU(), nn.Conv2d(8, 8, 4, 2, 1), nn.ReLU(),
                          nn.Flatten(), nn.Linear(8 * 49, 10))
    return {"plain-3": (nn.Sequential(*convolutions(3), *head), (3, 8, 8)),
            "plain-8": (nn.Sequential(*convolutions(8), *head), (3, 8, 8)),
            "residual-8": (nn.Sequential(*convolutions(1), *(Block(8) for _ in range(3)), *head), (3, 8, 8)),
            "mnist": (small, (1, 28, 28))}


def crown(module, low, high):
    """The distances of bounds in front of relus and of the output, and the seconds."""
    from auto_LiRPA import BoundedModule, BoundedTensor
    from auto_LiRPA.perturbations import PerturbationLpNorm
    # 0.3, the last one on PyPI, is older than an argument of PyTorch's.
    members = BoundedModule._named_members
    if "remove_duplicate" not in inspect.signature(members).parameters:
        BoundedModule._named_members = lambda self, *given, remove_duplicate=True, **named: members(
            self, *given, **named)
    # It subscripts nodes, which PyTorch's own export made possible up to 1.12.
    torch._C.Node.__getitem__ = lambda node, key: getattr(node, node.kindOf(key))(key)
    bounded = BoundedModule(module, low)
    box = BoundedTensor((low + high) / 2, PerturbationLpNorm(norm=math.inf, x_L=low, x_U=high))
    found, seconds = {}, {}
    for method in ("IBP", "CROWN"):
        start = time.perf_counter()
        last = bounded.compute_bounds(x=(box,), method=method)
        seconds[method] = time.perf_counter() - start
        nodes = [node for node in bounded.modules() if type(node).__name__ == "BoundRelu"]
        inputs = [getattr(node, "inputs", None) or node.input_name for node in nodes]
        found[method] = [(node.lower, node.upper) for node in (each[0] for each in inputs)] + [last]
    return {method: [float(upper.max() - lower.min()) for lower, upper in bounds]
            for method, bounds in found.items()}, seconds


def check(path, low, high, effort, folder):
    box = f"{low.min()}:{high.max()}"
    if low.min() != low.max():
        box = f"@{folder / 'box.npz'}"
        np.savez(folder / "box.npz", lo=low.numpy(), hi=high.numpy())
    start = time.perf_counter()
    subprocess.run([MPOPT, "--check", path, "--precision", "as-is", "--effort", effort, "--fail-on", "never",
                    "-o", os.devnull, "--dump-ranges", folder / "r.json", "--input", f"x={box}"],
                   check=True)
    seconds = time.perf_counter() - start
    tensors = json.loads((folder / "r.json").read_text())["tensors"]
    graph = onnx.load(path).graph
    names = [node.input[0] for node in graph.node if node.op_type == "Relu"] + [graph.output[0].name]
    return [tensors[name]["hi"] - tensors[name]["lo"] for name in names], seconds


def ratio(widths, base):
    return math.exp(np.mean([math.log(own / other) for own, other in zip(widths, base, strict=True)]))


def measure(name, module, shape, radius, folder):
    from onnxsim import simplify
    torch.manual_seed(1)
    centre = torch.rand(1, *shape)
    low, high = (torch.zeros_like(centre), torch.ones_like(centre)) if radius is None else (
        centre - radius, centre + radius)
    widths, seconds = crown(module, low, high)
    path = folder / "m.onnx"
    exporter = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(module, (low,), str(path), input_names=["x"], output_names=["y"], **exporter)
    simple = folder / "s.onnx"
    onnx.save(simplify(onnx.load(path))[0], simple)
    row = {"network": name, "radius": radius, "IBP": ratio(widths["IBP"], widths["CROWN"]),
           "crown_seconds": seconds["CROWN"]}
    for effort in ("default", "high"):
        own, row[f"{effort}_seconds"] = check(path, low, high, effort, folder)
        row[effort] = ratio(own, widths["CROWN"])
        row[f"{effort}_onnxsim"] = ratio(check(simple, low, high, effort, folder)[0], widths["CROWN"])
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    rows = []
    for name, (module, shape) in networks().items():
        for radius in (None, 0.004):
            with tempfile.TemporaryDirectory() as folder, torch.no_grad():
                rows.append(measure(name, module.eval(), shape, radius, Path(folder)))
            print(" ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                           for key, value in rows[-1].items()), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
