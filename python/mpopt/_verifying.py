"""Runs a converted model beside its source: what `--verify` of `mpopt --convert` and `mpopt --fix` asks.

Models of ONNX are FP32 with their roundings as casts (lib/Convert/Restore.cpp), and run in ONNX Runtime; values are paired by
name. Files of PyTorch run there as they are (`_torch_verifying`). The answer is JSON on standard output."""

import argparse
import json
import os
import pathlib
import sys
import zipfile

import numpy

from mpopt import _command, _console, _feeds
from mpopt.run import Progress, read_steps

#: The largest finite number of each type.
_LARGEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38}


def _stored(array, dtype: str):
    """FP32 numbers as an input of 16 bits has them: what a caller feeds is clipped, not made infinite."""
    array = numpy.clip(numpy.asarray(array, numpy.float32), -_LARGEST[dtype], _LARGEST[dtype])
    if dtype == "f16":
        return array.astype(numpy.float16).astype(numpy.float32)
    bits = array.view(numpy.uint32)
    # To nearest even, of the upper 16 bits.
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & numpy.uint32(0xFFFF0000)
    return numpy.where(numpy.isnan(array), array, rounded.view(numpy.float32))


class Difference:
    """The differences of one value over all runs. `whole`: its floats are casts of integers or truth values."""

    def __init__(self, whole: bool = False) -> None:
        self.whole = whole
        self.far = self.size = 0.0
        self.lost = self.changed = self.others = 0
        self.misfit = ""

    def add(self, wanted, had) -> None:
        if isinstance(wanted, list) and isinstance(had, list):
            if len(wanted) != len(had):
                self.misfit = f"has {len(had)} tensors, not {len(wanted)}"
            for pair in zip(wanted, had, strict=False):
                self.add(*pair)
        elif wanted is not None and had is not None:
            self._add(numpy.asarray(wanted), numpy.asarray(had))

    def _add(self, wanted, had) -> None:
        if wanted.shape != had.shape:
            self.misfit = f"has shape {list(had.shape)}, not {list(wanted.shape)}"
        elif self.whole or wanted.dtype.kind != "f":
            self.others += wanted.size
            self.changed += int((wanted != had).sum())
        else:
            wanted, had = wanted.astype(numpy.float64), had.astype(numpy.float64)
            self.lost += int((numpy.isfinite(wanted) & ~numpy.isfinite(had)).sum())
            both = numpy.isfinite(wanted) & numpy.isfinite(had)
            if both.any():
                self.far = max(self.far, float(numpy.abs(wanted[both] - had[both]).max()))
                self.size = max(self.size, float(numpy.abs(wanted[both]).max()))

    def describe(self) -> dict:
        """`error`: the largest difference, of the largest magnitude; another shape counts as 1."""
        error = self.far / self.size if self.size else float(self.far > 0)
        return {"error": "inf" if self.lost else 1.0 if self.misfit else error, "lost": self.lost,
                "changed": self.changed / self.others if self.others else 0.0, "misfit": self.misfit}


def _open(path, what: str, asked):
    if zipfile.is_zipfile(path):
        from mpopt import _torch_verifying

        return _torch_verifying.open_model(path, asked)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Fusions leave the pairs of casts out.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001, they have no base class
        raise _command.Error(f"ONNX Runtime does not load the {what}: {_first_line(error)}") from None


def _run(session, names: list[str], feed: dict, low: dict, what: str) -> dict:
    given = {name: _stored(array, low[name]) if name in low else array for name, array in feed.items()}
    try:
        return dict(zip(names, session.run(names, given), strict=True))
    except _command.Error as error:
        raise _command.Error(f"the {what}: {error}") from None
    except Exception as error:  # noqa: BLE001
        raise _command.Error(f"ONNX Runtime does not run the {what}: {_first_line(error)}") from None


def _first_line(error) -> str:
    return (str(error).splitlines() or [""])[0]


def _read_low(texts) -> dict[str, str]:
    return {name: dtype for dtype, _, name in (text.partition(":") for text in texts)}


def _parse(arguments) -> argparse.Namespace:
    parser = _console.Parser(prog="mpopt --verify")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--random")
    parser.add_argument("--assumed", type=pathlib.Path)
    for name in ("--source-low", "--result-low", "--tensor", "--output", "--whole"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--tensors", action="store_true")
    parser.add_argument("--progress", type=int)
    return parser.parse_args(arguments)


def _verify(options) -> dict:
    source, result = _open(options.source, "source", options), _open(options.result, "result", options)
    feeds = (_feeds.load_steps(options.data, source) if options.data else
             _feeds.draw_steps(read_steps(options.random), source, _feeds.read_assumptions(options.assumed), {}))
    low = [_read_low(options.source_low), _read_low(options.result_low)]
    found: dict[str, Difference] = {value.name: Difference(value.name in options.whole) for value in source.get_outputs()}
    names = list(found)
    progress, done = None, 0
    # Never closed here: it is a copy of the caller's.
    terminal = os.fdopen(options.progress, "w", closefd=False) if options.progress is not None else sys.stderr
    for total, feed in feeds:
        progress = progress or Progress(total, terminal)
        wanted, had = _run(source, names, feed, low[0], "source"), _run(result, names, feed, low[1], "result")
        for name, difference in found.items():
            difference.add(wanted[name], had[name])
        done += 1
        progress.update(done)
    if progress:
        progress.end()
    inner = {*options.tensor, *getattr(source, "inner", ())}
    return {"runs": done, "values": [{"name": name, "output": name not in inner, **difference.describe()}
                                     for name, difference in found.items()]}


def main(arguments=None) -> int:
    try:
        answer = _verify(_parse(arguments))
    except (ImportError, _command.Error, OSError, ValueError, OverflowError, MemoryError) as error:
        _console.print_error("mpopt", _first_line(error))
        return 2
    print(json.dumps(answer))
    return 0
