"""The models of the acceptance table: descriptions, and the files that they describe.

A model is `models/NAME.yaml`:

    about: what it shows, in a line
    graph: NAME.pt2 (a skeleton in graphs/) or ONNX text
    kernels: ONNX text                what a target's kernels compute in place of `graph`, node by
                                      node: the truth of rows with `--target`
    loss: NAME.pt2                    the same with its loss as first output, for `train`
    seed: 0
    weights: {PATTERN: RECIPE}        weights.py; in ONNX text the tensors that are declared
                                      and have no value
    inputs: {NAME: {lo, hi, mean, std}}  without them mean 0, std 1 in [-10, 10]; integers
                                      have no mean and std, and are uniform; `signal` (tones,
                                      smooth: signals.py) in place of independent numbers, of
                                      which mpopt gets samples
    targets: {NAME: {...}}            inputs that the graph with the loss alone has
    rows: {ROW: VERDICT}              ROW is a --precision or `train`; VERDICT is what is
                                      right, `passes` or `fails`, or `unjudged`
    options: [...]                    further options of mpopt --check
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import onnx
import onnx.parser
import skeleton
import yaml
from onnx import helper, numpy_helper
from signals import SIGNALS
from weights import make_weight

FOLDER = Path(__file__).resolve().parent
VERDICTS = ("passes", "fails", "unjudged")
KEYS = {"about", "graph", "kernels", "loss", "seed", "weights", "inputs", "targets", "rows", "options"}
MOST_MODELS = 100
# Samples that mpopt gets of a signal: others than those of the evaluations.
SAMPLES = 8
MOST_BYTES = 2 << 20


@dataclass
class Input:
    """The declaration of an input's values."""

    lo: float = -10
    hi: float = 10
    mean: float = 0
    std: float | None = 1
    signal: str = ""


@dataclass
class Model:
    """A description, as it was read."""

    name: str
    about: str
    graph: str
    rows: dict[str, str]
    kernels: str = ""
    loss: str = ""
    seed: int = 0
    weights: dict[str, dict] = field(default_factory=dict)
    inputs: dict[str, Input] = field(default_factory=dict)
    targets: dict[str, Input] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)

    @property
    def is_program(self) -> bool:
        return self.graph.endswith(".pt2")

    def bytes(self) -> int:
        """The size of the graph, by which runs take long."""
        return (FOLDER / "graphs" / self.graph).stat().st_size if self.is_program else len(self.graph)

    def make_weight(self, name: str, shape: tuple[int, ...], dtype: numpy.dtype) -> numpy.ndarray:
        return make_weight(name, shape, dtype, self.weights, self.seed)

    def write(self, folder: Path, row: str) -> Path:
        """The file of a row, made in `folder` if it is not there."""
        graph = self.loss if row == "train" else self.graph
        if graph.endswith(".pt2"):
            file = folder / f"{self.name}{'-loss' if row == 'train' else ''}.pt2"
            if not file.exists():
                skeleton.fill(FOLDER / "graphs" / graph, file, self.make_weight)
        else:
            file = folder / f"{self.name}.onnx"
            file.write_bytes(self.proto().SerializeToString())
            if any(value.signal for value in self.inputs.values()):
                numpy.savez(file.with_suffix(".npz"), **self.samples())
        return file

    def samples(self) -> dict[str, numpy.ndarray]:
        """The samples that a user would have of the inputs that are signals."""
        random = numpy.random.RandomState(self.seed + 2)
        made = {}
        for value in onnx.parser.parse_model(self.graph).graph.input:
            if its := self.inputs.get(value.name, Input()).signal:
                shape = (SAMPLES, *(dim.dim_value for dim in value.type.tensor_type.shape.dim))
                given = self.inputs[value.name]
                drawn = [SIGNALS[its](shape[1:], given.std or 1, random) for _ in range(SAMPLES)]
                made[value.name] = numpy.clip(given.mean + numpy.stack(drawn), given.lo, given.hi).astype(numpy.float32)
        return made

    def proto(self, text: str = "") -> onnx.ModelProto:
        """The ONNX model, or that of another text, its declared tensors without a value made by recipe."""
        model = onnx.parser.parse_model(text or self.graph)
        graph = model.graph
        computed = {name for node in graph.node for name in node.output}
        weights = [value for value in graph.value_info if value.name not in computed]
        for value in weights:
            tensor = value.type.tensor_type
            shape = tuple(dim.dim_value for dim in tensor.shape.dim)
            made = self.make_weight(value.name, shape, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
            graph.initializer.append(numpy_helper.from_array(made, value.name))
        kept = [value for value in graph.value_info if value.name in computed]
        del graph.value_info[:]
        graph.value_info.extend(kept)
        onnx.checker.check_model(model)
        return model

    def inputs_of(self, row: str) -> dict[str, Input]:
        return self.inputs | (self.targets if row == "train" else {})

    def arguments(self, row: str, file: Path) -> list[str]:
        """Options of mpopt that declare the inputs of a row, whose file has samples of signals beside it."""
        given = list(self.options)
        for name, value in self.inputs_of(row).items():
            if value.signal:
                given += ["--input", f"{name}=@{file.with_suffix('.npz')}"]
                continue
            given += ["--input", f"{name}={value.lo:g}:{value.hi:g}"]
            if value.std is not None:
                given += ["--input", f"{name}~{value.mean:g},{value.std:g}"]
        return given


def parse_model(name: str, text: str) -> Model:
    """The model that a description describes; ValueError says what is wrong with it."""
    given = yaml.safe_load(text)
    if not isinstance(given, dict):
        raise ValueError("is no mapping")
    if unknown := set(given) - KEYS:
        raise ValueError(f"unknown key {', '.join(sorted(unknown))}")
    if missing := {"about", "graph", "rows"} - set(given):
        raise ValueError(f"no {', '.join(sorted(missing))}")
    for row, verdict in given["rows"].items():
        if verdict not in VERDICTS:
            raise ValueError(f"verdict of {row} is {verdict}, not one of {', '.join(VERDICTS)}")
    if "train" in given["rows"] and "loss" not in given:
        raise ValueError("a row `train` and no graph with a loss")
    for kind in ("inputs", "targets"):
        given[kind] = {key: Input(**value) for key, value in given.get(kind, {}).items()}
    return Model(name=name, **given)


def read_models(folder: Path = FOLDER) -> list[Model]:
    """All models, by name."""
    models = []
    for file in sorted((folder / "models").glob("*.yaml")):
        try:
            models.append(parse_model(file.stem, file.read_text(encoding="utf-8")))
        except (ValueError, TypeError, yaml.YAMLError) as error:
            raise ValueError(f"{file.name}: {' '.join(str(error).split())}") from error
    return models


def write_lines(table: dict[str, object], file: Path) -> None:
    """Writes a JSON object with a line for each key, by way of a temporary name."""
    lines = [f"{json.dumps(key)}: {json.dumps(table[key])}" for key in sorted(table)]
    made = file.with_suffix(".part")
    made.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    made.replace(file)
