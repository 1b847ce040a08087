"""FP32 models of ONNX as FP16 files, by ONNX Runtime's converter.

    half.py MODEL OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime

LARGEST = float(numpy.finfo(numpy.float16).max)


def convert(model: Path, out: Path) -> None:
    """Inputs and outputs are FP16, too. Ops that the converter holds unfit for FP16 (Max,
    Min, Range, TopK and others) stay in FP32 between casts; constants are clamped to what
    FP16 holds, so that none becomes Inf or 0."""
    from onnxruntime.transformers import float16

    onnx.save(float16.convert_float_to_float16(onnx.load(model), keep_io_types=False), out)


def save_as_run(model: Path, out: Path) -> None:
    """The graph that ONNX Runtime makes of a file on the CPU, its optimisations off: an
    op without a kernel for FP16 runs in FP32 between casts, those between two such ops
    left out."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def feed_of(session, arrays, batch: int) -> dict:
    """One batch of float32 arrays in the types that the session's inputs have."""
    feed = {}
    for value in session.get_inputs():
        array = arrays[value.name][batch]
        if value.type == "tensor(float16)":
            array = numpy.clip(array, -LARGEST, LARGEST).astype(numpy.float16)
        feed[value.name] = array
    return feed


def round_box(lo: float, hi: float) -> tuple[float, float]:
    """The box that holds what `feed_of` makes of values from [lo, hi]."""
    low, high = numpy.clip([lo, hi], -LARGEST, LARGEST).astype(numpy.float16)
    return float(low), float(high)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
