#!/usr/bin/env python3
"""Compare FP16 models of the generated zoo with the FP32 ones they were made from.

    convert_zoo.py ZOO_DIR [--only NAME ...] [--json FILE]

Each model is judged for FP16 with its declared inputs, and converted by both converters:
as they do by themselves, with the ops of --keep-fp32 as their block list, and by
mpopt.to_float16 with the same list. The results run in ONNX Runtime on the batches of the
zoo (feeds.npz), every rounding put back (mpopt.half). Of a model with a list it is said whether

    refused       the converter fails, or ONNX Runtime does not load what it made
    not finite    an element of an output is finite in FP32 and is not here
    finite        all others

with the relative distance of the outputs (root of the squares' sum) of those that are
finite. The package `mpopt` must be importable with its libraries. Always exits 0: it is a
measurement.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import json
import statistics
import tempfile
import warnings
from pathlib import Path

import mpopt
import numpy
import onnx
import onnxruntime
from mpopt import half

MODULES = {"onnxruntime": "onnxruntime.transformers.float16",
           "onnxconverter-common": "onnxconverter_common.float16"}
CONVERTERS = tuple(MODULES)
FORMS = ("alone", "with the list", "to_float16")


def declared(truth: dict) -> dict:
    """The inputs as the zoo draws them."""
    inputs = {}
    for name, known in truth["inputs"].items():
        inputs[name] = [(known["lo"], known["hi"])]
        if known["dtype"].startswith("float"):
            inputs[name].append(mpopt.Normal(known["mean"], known["std"]))
        if len(inputs[name]) == 1:
            inputs[name] = inputs[name][0]
    return inputs


def open_session(model: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def run(model: Path, arrays) -> list[numpy.ndarray]:
    """The float outputs of all batches."""
    session, outputs = open_session(model), []
    for batch in range(len(arrays[arrays.files[0]])):
        outputs += [value.astype(numpy.float64)
                    for value in session.run(None, half.feed_of(session, arrays, batch))
                    if value.dtype.kind == "f"]
    return outputs


def convert(form: str, converter: str, model: Path, names: list[str]) -> onnx.ModelProto:
    if form == "to_float16":
        return mpopt.to_float16(model, names)
    module = importlib.import_module(MODULES[converter])
    blocked = {"node_block_list": names} if form == "with the list" else {}
    return module.convert_float_to_float16(onnx.load(model), **blocked)


def judge(form: str, converter: str, model: Path, names: list[str], arrays,
          wanted: list[numpy.ndarray], work: Path) -> tuple[str, float | str]:
    made, saved, rounded = work / "half.onnx", work / "saved.onnx", work / "rounded.onnx"
    try:
        onnx.save(convert(form, converter, model, names), made)
        open_session(made)
    except Exception as error:  # noqa: BLE001: each of them has its own
        return "refused", str(error).splitlines()[0]
    half.save_as_run(made, saved)
    half.put_roundings_back(saved, rounded)
    lost, distance, size = 0, 0.0, 0.0
    for want, have in zip(wanted, run(rounded, arrays), strict=True):
        known = numpy.isfinite(want)
        both = known & numpy.isfinite(have)
        lost += int((known & ~both).sum())
        distance += float(((want - have)[both] ** 2).sum())
        size += float((want[both] ** 2).sum())
    if lost:
        return "not finite", lost
    return "finite", (distance / size) ** 0.5 if size else 0.0


def measure(folder: Path) -> dict | None:
    model = folder / "model.onnx"
    truth = json.loads((folder / "truth.json").read_text())
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        mpopt.check(model, precision="fp16", inputs=declared(truth), dims=truth["dims"],
                    keep_fp32=work / "keep.json")
        names = [op["name"] for op in json.loads((work / "keep.json").read_text())["ops"]]
        if not names:
            return None
        arrays = numpy.load(folder / "feeds.npz")
        wanted = run(model, arrays)
        return {"model": folder.name, "kept": len(names), "results": {
            converter: {form: judge(form, converter, model, names, arrays, wanted, work)
                        for form in FORMS} for converter in CONVERTERS}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    # onnxconverter-common warns of each constant that it clamps.
    warnings.simplefilter("ignore")
    folders = sorted(path.parent for path in options.zoo.glob("*/truth.json")
                     if not options.only or path.parent.name in options.only)
    measured = [result for folder in folders if (result := measure(folder))]
    print(f"{len(folders)} models, {len(measured)} with ops to keep")
    for converter in CONVERTERS:
        for form in FORMS:
            results = [(entry["model"], *entry["results"][converter][form]) for entry in measured]
            counts = collections.Counter(kind for _, kind, _ in results)
            distances = [value for _, kind, value in results if kind == "finite"]
            print(f"{converter:>20} {form:>13}: "
                  + ", ".join(f"{counts[kind]} {kind}"
                              for kind in ("refused", "not finite", "finite"))
                  + (f"; distance {statistics.median(distances):.2g}, at most "
                     f"{max(distances):.2g}" if distances else ""))
            for name, kind, value in results:
                if form == "to_float16" and kind != "finite":
                    print(f"    {name}: {kind}, {value}")
    if options.json:
        options.json.write_text(json.dumps(measured, indent=1))


if __name__ == "__main__":
    main()
