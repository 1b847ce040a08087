#!/usr/bin/env python3
"""False alarms of overflow on the ACAS Xu networks over the box of property 1.

    bench/acasxu.py FOLDER [--effort default|high] [--samples N] [--json FILE]

FOLDER holds the networks as ONNX files (NeuralNetworkVerification/Marabou has them under
resources/onnx/acasxu). Each is checked in FP16 with the box as its input. A tensor is judged
where a layer ends: at the sum of product and bias. It is a false alarm if its bound passes
FP16's largest number and no input of the box is known to reach that: neither a sample nor a
point to which projected gradients climb. Every value that was computed has to lie in its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[1]
MPOPT = Path(os.environ.get("MPOPT_BUILD", ROOT / "build")) / "bin" / "mpopt"
# Property 1 (Katz et al., Reluplex, 2017), scaled as the networks read it: VNN-LIB prop_1.
LOW = np.array([0.6, -0.5, -0.5, 0.45, -0.5])
HIGH = np.array([0.679857769, 0.5, 0.5, 0.5, -0.45])
LARGEST = float(np.finfo(np.float16).max)


def store(values):
    """`values` as FP16 stores them."""
    with np.errstate(over="ignore"):
        return np.float16(values).astype(np.float64)


class Network:
    """Layers of a ReLU network as weights and biases, and the names of their sums."""

    def __init__(self, file: Path):
        graph = onnx.load(file).graph
        constants = {each.name: numpy_helper.to_array(each).astype(np.float64)
                     for each in graph.initializer}
        self.input, self.layers = "input", []
        weights = None
        for node in graph.node:
            if node.op_type == "MatMul":
                weights = constants[node.input[1]]
            elif node.op_type == "Add":
                self.layers.append((node.output[0], weights, constants[node.input[1]]))

    def run(self, points: np.ndarray, half: bool) -> list[np.ndarray]:
        """The sums of all layers, stored in FP16 after each op if `half`."""
        keep = store if half else np.asarray
        sums, x = [], keep(points)
        for _, weights, bias in self.layers:
            x = keep(keep(x @ keep(weights)) + keep(bias))
            sums.append(x)
            x = np.maximum(x, 0)
        return sums

    def climb(self, points: np.ndarray, layer: int, signs: np.ndarray, steps: int) -> np.ndarray:
        """`points` after steps of projected gradients of signs x the layer's sums."""
        for step in range(steps):
            sums = self.run(points, half=False)
            slope = signs @ self.layers[layer][1].T
            for below in range(layer - 1, -1, -1):
                slope = (slope * (sums[below] > 0)) @ self.layers[below][1].T
            points = np.clip(points + np.sign(slope) * (HIGH - LOW) * 0.3 * 0.8 ** step, LOW, HIGH)
        return points


def extremes(network: Network, samples: int, random: np.random.Generator) -> list[np.ndarray]:
    """The least and the largest value of each element of each sum, over samples, corners and
    attacks on every element."""
    corners = np.array(np.meshgrid(*zip(LOW, HIGH))).reshape(5, -1).T
    points = [random.uniform(LOW, HIGH, (samples, 5)), corners]
    for layer, (_, _, bias) in enumerate(network.layers):
        count = len(bias)
        signs = np.repeat(np.concatenate([np.eye(count), -np.eye(count)]), 4, axis=0)
        start = random.uniform(LOW, HIGH, (len(signs), 5))
        points.append(network.climb(start, layer, signs, steps=12))
    found = network.run(np.concatenate(points), half=True)
    return [np.stack([sums.min(axis=0), sums.max(axis=0)]) for sums in found]


def check(file: Path, name: str, effort: str | None) -> tuple[dict, float]:
    """The ranges of all tensors, and the seconds that the check took."""
    with tempfile.TemporaryDirectory() as folder:
        box, ranges = Path(folder, "box.npz"), Path(folder, "ranges.json")
        shape = (1, 1, 1, 5)
        np.savez(box, lo=LOW.reshape(shape), hi=HIGH.reshape(shape))
        command = [MPOPT, "--check", file, "--precision", "fp16", "--fail-on", "never",
                   "-o", "/dev/null", "--input", f"{name}=@{box}", "--dump-ranges", ranges]
        if effort:
            command += ["--effort", effort]
        started = time.perf_counter()
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - started
        return json.loads(ranges.read_text())["tensors"], seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--effort", choices=["default", "high"])
    parser.add_argument("--samples", type=int, default=5000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.onnx"))
    if not files:
        parser.error(f"no .onnx files in {arguments.folder}")
    random = np.random.default_rng(0)
    alarms = tensors = values = outside = 0
    spent = largest = 0.0
    for file in files:
        network = Network(file)
        bounds, seconds = check(file, network.input, arguments.effort)
        spent += seconds
        for (name, _, _), (low, high) in zip(network.layers,
                                             extremes(network, arguments.samples, random)):
            bound = bounds[name]
            tensors += 1
            reached = max(abs(low).max(), abs(high).max())
            most = max(abs(bound["lo"]), abs(bound["hi"]))
            largest = max(largest, most)
            alarms += most > LARGEST >= reached
            values += 2 * low.size
            # Bounds are of results before they are stored, and rounding keeps the order.
            outside += int((low < store(bound["lo"])).sum() + (high > store(bound["hi"])).sum())
    result = {"networks": len(files), "tensors": tensors, "false_alarms": alarms,
              "largest_bound": largest, "values": values, "outside": outside,
              "seconds": round(spent, 2)}
    print(f"{alarms} false alarms in {tensors} tensors of {len(files)} networks, largest bound "
          f"{largest:.3g}; {outside} of {values} extremes outside their bounds; {spent:.1f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1, default=int) + "\n")
    return outside > 0


if __name__ == "__main__":
    sys.exit(main())
