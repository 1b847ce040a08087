"""The cost and the effect of probes in ONNX Runtime, in one process.

Times are medians of alternating runs, as ratios to the model without probes. Beside
mpopt's probes: every tensor as an output, and numpy computing the same statistics from
those outputs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import helper

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

LEVELS = {"off": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
          "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL}


def options(level: str, save: Path | None = None):
    result = onnxruntime.SessionOptions()
    result.graph_optimization_level = LEVELS[level]
    result.log_severity_level = 4
    # The sessions take turns: threads of one that wait by spinning slow the next.
    result.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if save:
        result.optimized_model_filepath = str(save)
    return result


def open_plain(file: Path, level: str, save: Path | None = None):
    return onnxruntime.InferenceSession(str(file), options(level, save),
                                        providers=["CPUExecutionProvider"])


def with_outputs(file: Path, work: Path) -> Path:
    """Every tensor as an output."""
    model = onnx.load(file)
    known = {value.name for value in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                model.graph.output.append(helper.ValueInfoProto(name=name))
    out = work / f"{file.stem}-outputs.onnx"
    onnx.save(model, out)
    return out


def numpy_statistics(values) -> None:
    """The record's statistics but for the exact sums: a pass for each."""
    for value in values:
        if value.dtype.kind != "f" or not value.size:
            continue
        finite = numpy.isfinite(value)
        numpy.isnan(value).sum(), (value == numpy.inf).sum(), (value == -numpy.inf).sum()
        (value == 0).sum()
        kept = numpy.where(finite, value, 0)
        size = numpy.abs(kept)
        kept.min(), kept.max(), size.max(), numpy.where(size > 0, size, numpy.inf).min()
        numpy.bincount((size.view(numpy.uint32) >> 23).ravel(), minlength=256)
        kept.sum(dtype=numpy.float64), numpy.square(kept, dtype=numpy.float64).sum()


def alternate(variants: dict, rounds: int) -> dict[str, float]:
    """Median seconds of each, one after another in every round."""
    times = {name: [] for name in variants}
    for run in variants.values():
        run()
    for _ in range(rounds):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def count_nodes(file: Path) -> int:
    """Without those that an empty probe leaves behind."""
    return sum(node.domain != "mpopt" for node in onnx.load(file).graph.node)


def measure(mpopt_binary: Path, file: Path, work: Path, rounds: int) -> list[list[str]]:
    """One row for each level of optimisation."""
    os.environ.setdefault("MPOPT_BUILD", str(mpopt_binary.parent.parent))
    import mpopt

    probed = {}
    for kind in ("findings", "all"):
        out = work / f"{file.stem}-{kind}.onnx"
        subprocess.run([mpopt_binary, "--instrument", file, "-o", out, "--probe", kind,
                        "--precision", "fp16"], check=True, capture_output=True)
        probed[kind] = mpopt.instrumenting.Instrumented.read(out)
    everything = with_outputs(file, work)
    random = numpy.random.default_rng(0)
    plain = open_plain(file, "off")
    feed = {value.name: random.standard_normal(value.shape).astype(numpy.float32)
            for value in plain.get_inputs()}
    names = [value.name for value in plain.get_outputs()]
    rows = []
    for level in LEVELS:
        saved = {kind: work / f"{kind}-{level}.onnx" for kind in ("plain", *probed)}
        plain = open_plain(file, level, saved["plain"])
        outputs = open_plain(everything, level)
        variants = {"plain": lambda: plain.run(names, feed)}
        results, recorders = {"plain": plain.run(names, feed)}, []
        for kind, model in probed.items():
            session = mpopt.probe_session(model.path, record=work / f"{kind}-{level}.mprec",
                                          sess_options=options(level, saved[kind]))
            recorders.append(session.recorder)
            results[kind] = session.run(names, feed)

            def active(session=session):
                session.recorder.enable()
                session.run(names, feed)

            def idle(session=session):
                session.recorder.enable(False)
                session.run(names, feed)

            variants[f"{kind} on"], variants[f"{kind} off"] = active, idle
        variants["outputs"] = lambda: outputs.run(None, feed)
        variants["numpy"] = lambda: numpy_statistics(outputs.run(None, feed))
        times = alternate(variants, rounds)
        row = [level, f"{times['plain'] * 1000:.1f} ms"]
        row += [f"{times[name] / times['plain']:.3f}" for name in variants if name != "plain"]
        for kind in probed:
            lost = count_nodes(saved[kind]) - count_nodes(saved["plain"])
            difference = max(float(numpy.max(numpy.abs(a - b)) / numpy.max(numpy.abs(a)))
                             for a, b in zip(results["plain"], results[kind], strict=True))
            row.append(f"{len(probed[kind].probes)}, {lost}, {difference:.1e}")
        for recorder in recorders:
            recorder.close()
        rows.append(row)
    return rows


HEADER = ["optimisations", "plain", "findings", "findings, idle", "all", "all, idle",
          "every tensor an output", "numpy on those",
          "findings: probes, fusions lost, difference", "all: probes, fusions lost, difference"]
