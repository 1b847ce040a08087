#!/usr/bin/env python3
"""The ops that stay in FP32: --keep-fp32 beside ModelOpt AutoCast and two float16 converters.

    keep_rivals.py MODELS_DIR [--only NAME ...] [--rivals FILE] [--json FILE] [--limit SECONDS]

MODELS_DIR is the generated zoo (folders with model.onnx, truth.json and feeds.npz), or a folder
of files NAME.FORM.onnx with NAME.json (`inputs`: the shape and, under `say`, lo, hi, mean and
std that a user would declare; `dims`) and NAME.npz (`INPUT@BATCH`). For each model are written:

    the error of the outputs with everything in FP16, and what that makes of it (keep_zoo.py)
    the nodes with a float result that mpopt and AutoCast keep, and the error with each list
    the nodes that the converters keep by their list of types, and the error of what they write

Errors are of the largest value of an output over all batches, Inf where an element is lost.
With a list they are those of FP16 storage (storage.py), the same for both tools; the
converters' models run in ONNX Runtime with every rounding put back (mpopt.half). mpopt gets
the declared inputs, AutoCast the first batch. AutoCast runs in the environment of
`scripts/setup --bench`, whose folder MPOPT_BENCH names. All but mpopt's answers are kept in
--rivals, and taken from there if they are in it. `mpopt` must be importable with its libraries. Always exits 0: it is a
measurement.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import convert_zoo
import keep_zoo
import mpopt
import numpy
import onnx
import storage
from mpopt import half

LISTS = ("mpopt", "AutoCast")
NAMES = {"onnxruntime": "onnxruntime.transformers", "onnxconverter-common": "onnxconverter-common"}


class Sample(NamedTuple):
    name: str
    model: Path
    #: Arguments of mpopt.check.
    judged: dict
    #: Reads input -> values, one axis more in front: of batches.
    arrays: Callable[[], dict[str, numpy.ndarray]]


def zoo_samples(folder: Path) -> Iterator[Sample]:
    for path in sorted(folder.glob("*/truth.json")):
        truth, home = json.loads(path.read_text()), path.parent
        yield Sample(home.name, home / "model.onnx",
                     {"inputs": convert_zoo.declared(truth), "dims": truth["dims"]},
                     lambda home=home: dict(numpy.load(home / "feeds.npz")))


def stacked(path: Path) -> dict[str, numpy.ndarray]:
    arrays = numpy.load(path)
    names = {key.rpartition("@")[0] for key in arrays.files}
    return {name: numpy.stack([arrays[key] for key in sorted(arrays.files)
                               if key.rpartition("@")[0] == name]) for name in names}


def file_samples(folder: Path) -> Iterator[Sample]:
    for path in sorted(folder.glob("*.*.onnx")):
        name = path.name.rsplit(".", 2)[0]
        known, arrays = folder / f"{name}.json", folder / f"{name}.npz"
        if not (known.exists() and arrays.exists()):
            continue
        meta = json.loads(known.read_text())
        inputs = {}
        for key, value in meta["inputs"].items():
            said = value["say"]
            inputs[key] = [(said["lo"], said["hi"])]
            if said["mean"] is not None:
                inputs[key].append(mpopt.Normal(said["mean"], said["std"]))
            if len(inputs[key]) == 1:
                inputs[key] = inputs[key][0]
        # A file has open dimensions by those names, or none, or some without a name.
        model = onnx.load(path, load_external_data=False)
        opened = {dim.dim_param for value in model.graph.input
                  for dim in value.type.tensor_type.shape.dim if not dim.HasField("dim_value")}
        judged = {"inputs": inputs,
                  "dims": {dim: size for dim, size in meta["dims"].items() if dim in opened}}
        if opened - set(judged["dims"]):
            judged["input_shapes"] = {key: value["shape"] for key, value in meta["inputs"].items()
                                      if value["shape"]}
            judged["dims"] = {}
        yield Sample(path.name.removesuffix(".onnx"), path, judged,
                     lambda arrays=arrays: stacked(arrays))


def processor_time() -> float:
    """Seconds of this process and of those that it waited for."""
    return sum(used.ru_utime + used.ru_stime for used in
               map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def error_with(model: onnx.ModelProto, kept: list[str], arrays, wanted, work: Path) -> float:
    onnx.save(storage.with_storage(model, set(kept)), work / "stored.onnx")
    return keep_zoo.error_of(wanted, keep_zoo.outputs_of(work / "stored.onnx", arrays))


def converted(converter: str, model: Path, arrays, wanted, work: Path) -> float | str:
    made, saved, rounded = work / "half.onnx", work / "saved.onnx", work / "rounded.onnx"
    try:
        module = importlib.import_module(convert_zoo.MODULES[converter])
        onnx.save(module.convert_float_to_float16(onnx.load(model), keep_io_types=True), made)
        half.save_as_run(made, saved)
        half.put_roundings_back(saved, rounded)
        return keep_zoo.error_of(wanted, keep_zoo.outputs_of(rounded, arrays))
    except Exception as error:  # noqa: BLE001: each of them has its own
        return str(error).splitlines()[0][:200]


class AutoCast:
    """AutoCast in the environment that has it, started when it is first asked."""

    def __init__(self, limit: int) -> None:
        self.limit, self.process = limit, None

    def ask(self, model: Path, arrays, work: Path) -> dict:
        """`kept` or `error`, and `seconds` of processor time."""
        calibration = work / "calibration.npz"
        numpy.savez(calibration, **{name: values[0] for name, values in arrays.items()})
        if self.process is None:
            self.process = subprocess.Popen(
                [Path(os.environ["MPOPT_BENCH"], "bin/python"),
                 Path(__file__).with_name("autocast_list.py"), str(self.limit)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        request = {"model": str(model), "calibration": str(calibration)}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())


def measure_rivals(path: Path, model: onnx.ModelProto, arrays, work: Path,
                   autocast: AutoCast) -> dict:
    """All but mpopt's list."""
    floats, wanted = storage.float_nodes(model), keep_zoo.outputs_of(path, arrays)
    row = {"nodes": len(floats), "fp16": error_with(model, [], arrays, wanted, work)}
    answer = autocast.ask(path, arrays, work)
    if "kept" in answer:
        answer["kept"] = sorted(floats & set(answer["kept"]))
        answer["error"] = (error_with(model, answer["kept"], arrays, wanted, work)
                           if answer["kept"] else row["fp16"])
    else:
        answer["failed"] = answer.pop("error")
    row["AutoCast"] = answer
    for converter, label in NAMES.items():
        blocked = importlib.import_module(convert_zoo.MODULES[converter]).DEFAULT_OP_BLOCK_LIST
        error = converted(converter, path, arrays, wanted, work)
        kept = [node.name for node in model.graph.node
                if node.op_type in blocked and node.name in floats]
        row[label] = ({"failed": error} if isinstance(error, str)
                      else {"kept": kept, "error": error})
    return row


def measure(sample: Sample, rivals: dict, autocast: AutoCast) -> dict:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        path, model = work / "model.onnx", onnx.load(sample.model)
        storage.name_nodes(model)
        onnx.save(model, path)
        if sample.name not in rivals:
            rivals[sample.name] = measure_rivals(path, model, sample.arrays(), work, autocast)
        row = {"model": sample.name} | rivals[sample.name]
        start = processor_time()
        mpopt.check(path, precision="fp16", keep_fp32=work / "keep.json", **sample.judged)
        seconds = processor_time() - start
        kept = [op["name"] for op in json.loads((work / "keep.json").read_text())["ops"]]
        error = row["fp16"]
        if kept:
            kept = sorted(storage.float_nodes(model) & set(kept))
            arrays = sample.arrays()
            error = error_with(model, kept, arrays, keep_zoo.outputs_of(path, arrays), work)
        row["mpopt"] = {"kept": kept, "error": error, "seconds": seconds}
    return row


def kind_of(error: float) -> str:
    return ("harmed" if error >= keep_zoo.HARMED else
            "sound" if error <= keep_zoo.SOUND else "between")


def cell(answer: dict) -> str:
    return ("fails" if "failed" in answer
            else f"{len(answer['kept']):3} {answer['error']:8.2g}")


def sum_up(rows: list[dict]) -> None:
    for kind in ("harmed", "between", "sound"):
        mine = [row for row in rows if kind_of(row["fp16"]) == kind]
        print(f"{kind}: {len(mine)} models")
        for tool in (*LISTS, *NAMES.values()):
            answers = [row[tool] for row in mine if "kept" in row[tool]]
            kinds = [kind_of(answer["error"]) for answer in answers]
            print(f"  {tool:24} fails on {len(mine) - len(answers):3}; keeps "
                  f"{sum(len(answer['kept']) for answer in answers):5} in "
                  f"{sum(bool(answer['kept']) for answer in answers):3} models; after that "
                  + ", ".join(f"{kinds.count(after)} {after}"
                              for after in ("sound", "between", "harmed")))
        both = [row for row in mine if all("kept" in row[tool] for tool in LISTS)]
        worse = [row["model"] for row in both
                 if row["mpopt"]["error"] > row["AutoCast"]["error"]
                 and row["mpopt"]["error"] > keep_zoo.SOUND]
        print(f"  of {len(both)} that both judge: "
              + " and ".join(f"{tool} keeps {sum(len(row[tool]['kept']) for row in both)}"
                             for tool in LISTS)
              + f"; mpopt's list leaves more, and over {keep_zoo.SOUND:.0%}, in {len(worse)} "
              + " ".join(worse))
    for tool in LISTS:
        print(f"{tool}: {sum(row[tool]['seconds'] for row in rows):.0f} s of processor time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--rivals", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--limit", type=int, default=600, help="seconds for AutoCast")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rivals, autocast = {}, AutoCast(options.limit)
    if options.rivals and options.rivals.exists():
        rivals = json.loads(options.rivals.read_text())
    is_zoo = any(options.models.glob("*/truth.json"))
    rows = []
    for sample in (zoo_samples if is_zoo else file_samples)(options.models):
        if options.only and sample.name not in options.only:
            continue
        try:
            row = measure(sample, rivals, autocast)
        except Exception as error:  # noqa: BLE001: the others are still measured
            print(f"{sample.name}: {type(error).__name__}: {error}".splitlines()[0], flush=True)
            continue
        rows.append(row)
        print(f"{row['model']:34} {row['nodes']:4} {row['fp16']:8.2g} | "
              + " | ".join(cell(row[tool]) for tool in (*LISTS, *NAMES.values()))
              + f" | {row['mpopt']['seconds']:.1f} s {row['AutoCast']['seconds']:.1f} s", flush=True)
        if options.rivals:
            options.rivals.write_text(json.dumps(rivals, indent=1))
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    sum_up(rows)


if __name__ == "__main__":
    main()
