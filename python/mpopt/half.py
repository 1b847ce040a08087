"""FP32 models of ONNX as FP16 files.

    python -m mpopt.half [--saved | --rounded] MODEL OUT

On the CPU ONNX Runtime computes most ops of such a file in FP32 and leaves roundings out
(docs/instrument.md). `--saved` writes the graph that it makes of the file, `--rounded` that
graph with every rounding put back.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy
import onnx
import onnxruntime

from mpopt import _console, _input_files, _output_files, converting
from mpopt._command import Error, Normal
from mpopt.confirming import confirm
from mpopt.instrumenting import instrument
from mpopt.report import Confirmation
from mpopt.sessions import probe_session

#: Forms in which `confirm_run` runs a model.
RUNS = ("fp32", "fp16", "fp16-saved", "fp16-rounded")
LARGEST = float(numpy.finfo(numpy.float16).max)


def convert(model: Path, out: Path) -> None:
    """Writes the model in FP16, inputs and outputs included, but for ops that have no form
    in it; constants past 65504 are that, so that none becomes Inf."""
    converting.convert(model, out, to="fp16", keep_io_types=False, write_anyway=True)


def save_as_run(model: Path, out: Path) -> None:
    """Writes the graph that ONNX Runtime makes of a file on the CPU, optimisations off: an
    op without a kernel for FP16 runs in FP32 between casts, those between two such ops
    left out."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.optimized_model_filepath = str(out)
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


# ONNX Runtime's name for the FP32 twin of an FP16 value.
TWIN = "InsertedPrecisionFreeCast_"


def _round_all(graph: onnx.GraphProto) -> None:
    """`put_roundings_back` in a graph and those inside it."""
    named = {name for node in graph.node for name in node.output}
    named |= {value.name for value in (*graph.input, *graph.initializer)}
    nodes = []
    for node in graph.node:
        nodes.append(node)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _round_all(attribute.g)
        if node.op_type == "Cast":
            continue
        for index, name in enumerate(node.output):
            if not name.startswith(TWIN):
                continue
            stored = name.removeprefix(TWIN)
            if stored in named:
                stored = f"{stored}.stored"
            node.output[index] = f"{stored}.computed"
            # Casts by other names than the runtime's own stay where they are.
            nodes += [onnx.helper.make_node("Cast", [node.output[index]], [stored],
                                            f"{stored}.round", to=onnx.TensorProto.FLOAT16),
                      onnx.helper.make_node("Cast", [stored], [name], f"{stored}.widen",
                                            to=onnx.TensorProto.FLOAT)]
    del graph.node[:]
    graph.node.extend(nodes)


def put_roundings_back(saved: Path, out: Path) -> None:
    """Rounds the result of each op that runs in FP32 in place of FP16 to FP16, under its
    name in the original file; readers read that."""
    model = onnx.load(saved)
    _round_all(model.graph)
    del model.graph.value_info[:]
    onnx.save(model, out)


def feed_of(session: onnxruntime.InferenceSession, arrays: Mapping[str, numpy.ndarray],
            batch: int) -> dict[str, numpy.ndarray]:
    """One batch of float32 arrays in the types that the session's inputs have."""
    feed = {}
    for value in session.get_inputs():
        array = numpy.asarray(arrays[value.name][batch])
        if value.type == "tensor(float16)":
            array = numpy.clip(array, -LARGEST, LARGEST).astype(numpy.float16)
        feed[value.name] = array
    return feed


def round_box(lo: float, hi: float) -> tuple[float, float]:
    """The box that holds what `feed_of` makes of values from [lo, hi]."""
    low, high = numpy.clip([lo, hi], -LARGEST, LARGEST).astype(numpy.float16)
    return float(low), float(high)


def write_as(run: str, model: Path, out: Path) -> None:
    """Writes `model` to `out` in the form `run` of `RUNS`, but for `fp32`: `fp16` is what
    `convert` writes, `fp16-saved` the graph that `save_as_run` writes of that, and
    `fp16-rounded` that graph with the roundings put back."""
    if run == "fp16":
        return convert(model, out)
    with tempfile.TemporaryDirectory() as folder:
        converted, saved = Path(folder, "half.onnx"), Path(folder, "saved.onnx")
        convert(model, converted)
        save_as_run(converted, saved if run == "fp16-rounded" else out)
        if run == "fp16-rounded":
            put_roundings_back(saved, out)


def _rounded_inputs(inputs: Mapping, arrays: Mapping[str, numpy.ndarray]) -> dict:
    """The boxes of float inputs, as `feed_of` rounds what lies in them."""
    def rounded(name, value):
        if isinstance(value, list):
            return [rounded(name, part) for part in value]
        is_box = arrays[name].dtype.kind == "f" and not isinstance(value, Normal)
        return round_box(*value) if is_box else value
    return {name: rounded(name, value) for name, value in inputs.items()}


def confirm_run(model: Path, arrays: Mapping[str, numpy.ndarray], *, run: str = "fp16",
                inputs: Mapping | None = None, dims: Mapping[str, int] | None = None,
                probe: str = "findings") -> Confirmation:
    """Judges the FP32 model `model`, runs it with probes on batches, and says which findings
    came true. ONNX Runtime runs it on the CPU with its optimisations off.

    arrays  input -> float32 or other values, one axis more in front: of batches
    run     `fp32`: the file as it is, judged for FP16. Other forms of `RUNS` are written
            with `write_as` and judged as they are
    inputs, dims, probe  those of `mpopt.instrument`; boxes, distributions or lists of both

    Raises `mpopt.Error` if the model cannot be judged, and ONNX Runtime's exceptions if
    the form cannot be made or run."""
    with tempfile.TemporaryDirectory() as folder:
        judged, record = Path(model), Path(folder, "run.mprec")
        if run != "fp32":
            judged = Path(folder, "half.onnx")
            write_as(run, Path(model), judged)
            inputs = _rounded_inputs(inputs or {}, arrays)
        probed = instrument(judged, Path(folder, "probed.onnx"), probe=probe, inputs=inputs,
                            dims=dims, precision="fp16" if run == "fp32" else "as-is")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        session = probe_session(probed.path, record=record, sess_options=options)
        try:
            for batch in range(len(next(iter(arrays.values())))):
                session.run(None, feed_of(session, arrays, batch))
        finally:
            session.recorder.close()
        return confirm(record, probed.ledger)


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = _console.Parser(prog="python -m mpopt.half", description="Writes an FP32 model of ONNX in FP16.")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--saved", dest="form", action="store_const", const="fp16-saved", default="fp16",
                      help="the graph that ONNX Runtime makes of the file")
    form.add_argument("--rounded", dest="form", action="store_const", const="fp16-rounded",
                      help="that graph with every rounding put back")
    parser.add_argument("model", type=Path, metavar="MODEL")
    parser.add_argument("out", type=Path, metavar="OUT")
    return parser.parse_args(arguments)


def _write(options: argparse.Namespace) -> None:
    _input_files.check(options.model)
    _output_files.check([("OUT", options.out)], [("the model", options.model)])
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made.onnx")
        try:
            write_as(options.form, options.model, made)
        except Exception as error:  # noqa: BLE001: those of protobuf, the converter and the runtime share no base class.
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise Error(f"'{options.model}' cannot be converted: {reason}") from error
        _output_files.write(options.out, made.read_bytes())


def main(arguments: list[str] | None = None) -> int:
    try:
        _write(_parse(arguments))
    except Error as error:
        _console.print_error("mpopt", error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
