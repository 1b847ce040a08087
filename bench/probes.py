#!/usr/bin/env python3
"""The cost of probes under ONNX Runtime, beside other ways to the same numbers.

    bench/probes.py [--build BUILD]

A stack of layers (matrix product, bias, activation, normalisation) is run without
probes, with a probe on every value, with the probes switched off, with every
value an output, and with numpy computing the same statistics from those outputs.
Printed is the median over the rounds of the time relative to the bare model in
the same round; optimisations are on.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

LAYERS, ROUNDS = 8, 15


def network(rows: int, width: int) -> tuple[list, list, list[str]]:
    rng = np.random.default_rng(0)
    nodes, weights, values, x = [], [], [], "x"
    for i in range(LAYERS):
        w = rng.normal(0, width**-0.5, (width, width)).astype(np.float32)
        weights += [numpy_helper.from_array(w, f"w{i}"),
                    numpy_helper.from_array(np.zeros(width, np.float32), f"b{i}"),
                    numpy_helper.from_array(np.ones(width, np.float32), f"g{i}")]
        nodes += [helper.make_node("MatMul", [x, f"w{i}"], [f"h{i}"]),
                  helper.make_node("Add", [f"h{i}", f"b{i}"], [f"a{i}"]),
                  helper.make_node("Tanh", [f"a{i}"], [f"t{i}"]),
                  helper.make_node("LayerNormalization", [f"t{i}", f"g{i}", f"b{i}"], [f"y{i}"])]
        values += [f"h{i}", f"a{i}", f"t{i}", f"y{i}"]
        x = f"y{i}"
    return nodes, weights, values


def session(rows, width, build, probes=False, outputs=False):
    nodes, weights, values = network(rows, width)
    if probes:
        nodes += [helper.make_node("Probe", [v], [], domain="mpopt", id=i, ledger="00" * 32)
                  for i, v in enumerate(values)]
    shape = [rows, width]
    info = [helper.make_tensor_value_info(v, TensorProto.FLOAT, shape)
            for v in (values if outputs else values[-1:])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], info, weights)
    model = helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 19), helper.make_opsetid("mpopt", 1)])
    options = onnxruntime.SessionOptions()
    if probes:
        options.register_custom_ops_library(str(build / "lib" / "libmpopt_ort.so"))
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


def numpy_statistics(array: np.ndarray) -> None:
    """The record's numbers, as one would write them."""
    np.isnan(array).sum(), np.isposinf(array).sum(), np.isneginf(array).sum()
    magnitude = np.abs(array)
    nonzero = magnitude[magnitude > 0]
    array.min(), array.max(), magnitude.max(), nonzero.min()
    np.bincount(array.view(np.uint32).ravel() >> 23 & 0xFF, minlength=256)
    array.sum(dtype=np.float64), np.square(array, dtype=np.float64).sum()
    (magnitude > 65504).sum(), (magnitude >= 65520).sum(), (magnitude <= 2.0**-25).sum()


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(rows: int, width: int, build: Path) -> None:
    x = {"x": np.random.default_rng(1).normal(0, 1, (rows, width)).astype(np.float32)}
    bare, probed = session(rows, width, build), session(rows, width, build, probes=True)
    every = session(rows, width, build, outputs=True)
    record = ctypes.CDLL(str(build / "lib" / "libmpopt_record.so"))
    recorder = ctypes.c_void_p()
    record.mpopt_recorder_all(ctypes.byref(recorder), ctypes.c_size_t(1))

    def enable(on):
        record.mpopt_recorder_enable(recorder, ctypes.c_int(on))

    ways = {"probes": lambda: probed.run(None, x), "probes, off": lambda: probed.run(None, x),
            "all outputs": lambda: every.run(None, x),
            "outputs + numpy": lambda: [numpy_statistics(a) for a in every.run(None, x)]}
    ratios = {name: [] for name in ways}
    for _ in range(ROUNDS):
        base = min(seconds(lambda: bare.run(None, x)) for _ in range(3))
        for name, work in ways.items():
            enable(name != "probes, off")
            ratios[name].append(min(seconds(work) for _ in range(3)) / base)
    print(f"{rows} x {width}, {4 * LAYERS} values, {base * 1e3:.2f} ms bare: " + ", ".join(
        f"{name} {statistics.median(r):.2f}x" for name, r in ratios.items()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=Path("build"))
    os.environ["MPOPT_RECORD"] = "/dev/null"
    build = parser.parse_args().build.resolve()
    for rows, width in [(1, 64), (16, 256), (256, 1024), (2048, 1024)]:
        measure(rows, width, build)


if __name__ == "__main__":
    main()
