"""The assumed inputs of a model: bounds and distributions."""

import dataclasses
import math
import os
import pathlib
from collections.abc import Mapping, Sequence

from mpopt import _array_files, _command, _input_files, _json_files, _modules, checking
from mpopt._command import Error, Normal
from mpopt.instrumenting import Instrumented
from mpopt.report import Report

#: Bytes of an mpopt.toml.
LARGEST_SETTINGS = 8 << 20
#: The default of `--assume`.
DEFAULT = (-10.0, 10.0)


@dataclasses.dataclass(frozen=True)
class Assumed:
    """Bounds of one input, `mean` and `std` (NaN: nothing is expected), and where they come
    from: `default`, `option`, `config`, `data`, or `model` with the reason."""

    lo: float
    hi: float
    mean: float = math.nan
    std: float = math.nan
    source: str = "default"
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Expected:
    """`names`: of all that the model takes, in order; None if nobody knows. `default`: of
    floats that are not in `inputs`. `precision`: which was judged; empty if none was."""

    inputs: dict[str, Assumed]
    names: tuple[str, ...] | None = None
    default: Assumed = Assumed(*DEFAULT, 0.0, 1.0)
    precision: str = ""
    #: The file that was read for it.
    files: tuple[str, ...] = ()

    def of(self, name: str, is_float: bool) -> Assumed | None:
        """The assumption about an entry of a batch; None of targets, and of integers that no
        model describes."""
        known = self.inputs.get(name)
        if known is not None or not is_float:
            return known
        return self.default if self.names is None or name in self.names else None


def _of_report(raw: dict) -> Expected:
    inputs = {}
    for entry in raw["assumptions"]:
        mean, std = (math.nan if entry[key] is None else float(entry[key])
                     for key in ("mean", "std"))
        inputs[entry["input"]] = Assumed(float(entry["lo"]), float(entry["hi"]), mean, std,
                                         entry["source"], entry.get("why", ""))
    return Expected(inputs, tuple(inputs), precision=raw["precision"])


def _read_json(file: pathlib.Path) -> Expected:
    with _command.argument("model"):
        raw = _json_files.read(file)
        raw = raw.get("report", raw)
        if raw.get("schema") != "mpopt-report/1":
            raise ValueError(f"'{file}' is no report of mpopt, and no ledger of probes")
        return _of_report(raw)


def _read_npz(file: pathlib.Path, name: str) -> Assumed:
    import numpy

    arrays = _array_files.read(file)
    with _command.argument(f"model: '{file}'"):
        if {"lo", "hi"} <= set(arrays):
            return Assumed(float(arrays["lo"].min()), float(arrays["hi"].max()), source="config")
        sample = arrays[name].astype(numpy.float64)
    return Assumed(float(sample.min()), float(sample.max()), float(sample.mean()),
                   float(sample.std()), "config")


def _of_text(text: str, name: str, before: Assumed, folder: pathlib.Path) -> Assumed:
    """`LO:HI`, `~MEAN,STD`, `LO:HI~MEAN,STD` or `@FILE.npz`."""
    if text.startswith("@"):
        return _read_npz(folder / text[1:], name)
    bound, tilde, moments = text.partition("~")
    if bound or not tilde:
        lo, hi = map(float, bound.split(":"))
        before = dataclasses.replace(before, lo=lo, hi=hi, source="config")
    if tilde:
        mean, std = map(float, moments.split(","))
        before = dataclasses.replace(before, mean=mean, std=std, source="config")
    return before


def _read_toml(file: pathlib.Path, default: Assumed) -> Expected:
    try:
        import tomllib
    except ImportError as error:
        raise Error("model: reading an mpopt.toml takes Python 3.11") from error
    with _command.argument(f"model: '{file}'"):
        raw = tomllib.loads(_input_files.read(file, LARGEST_SETTINGS).decode("utf-8"))
        inputs = {}
        for name, value in raw.get("inputs", {}).items():
            made = default
            for part in value if isinstance(value, list) else [value]:
                made = _of_text(part, name, made, file.parent)
            inputs[name] = made
        return Expected(inputs, default=default, precision=str(raw.get("precision", "")))


def _argument_names(module) -> tuple[str, ...] | None:
    if _modules.takes_any_number(module):
        return None
    return tuple(name for name, each in _modules.parameters_of(module).items()
                 if each.kind is not each.VAR_KEYWORD) or None


def _declare(expected: Expected, inputs: Mapping, default: Assumed) -> Expected:
    """With what the caller says of inputs: `(lo, hi)`, a `Normal`, or a list of both."""
    known = dict(expected.inputs)
    for name, value in inputs.items():
        made = known.get(name, default)
        with _command.argument(f"inputs[{name!r}]"):
            many = (isinstance(value, Sequence) and any(
                isinstance(part, Normal) or isinstance(part, Sequence) for part in value))
            for part in value if many else [value]:
                if isinstance(part, Normal):
                    made = dataclasses.replace(made, mean=float(part.mean), std=float(part.std),
                                               source="option")
                    continue
                lo, hi = map(float, part)
                if not lo <= hi:
                    raise ValueError(f"{lo:g} to {hi:g} is no range")
                made = dataclasses.replace(made, lo=lo, hi=hi, source="option")
        known[name] = made
    return dataclasses.replace(expected, inputs=known)


def find_expected(model, example_inputs, inputs: Mapping | None,
                  assume: tuple[float, float] | None, precision: str | None) -> Expected:
    """The assumed inputs of `model` (docs/python.md)."""
    if inputs is not None and not isinstance(inputs, Mapping):
        raise Error(f"inputs: a mapping of names, not {type(inputs).__name__}")
    with _command.argument("assume"):
        lo, hi = map(float, DEFAULT if assume is None else assume)
        if not lo <= hi:
            raise ValueError(f"{lo:g} to {hi:g} is no range")
    # As the tool has it: a standard normal variable, or one that is uniform on what is told.
    mean, std = 0.0, 1.0
    if assume is not None and math.isfinite(lo) and math.isfinite(hi):
        mean, std = lo / 2 + hi / 2, (hi / 2 - lo / 2) / 3**0.5
    default = Assumed(lo, hi, mean, std, "default" if assume is None else "option")
    if isinstance(model, Instrumented):
        model = model.report
    suffix = pathlib.Path(model).suffix if isinstance(model, str | os.PathLike) else ""
    if model is None:
        expected = Expected({}, default=default)
    elif isinstance(model, Report):
        expected = _of_report(model.raw)
    elif suffix == ".json":
        expected = _read_json(pathlib.Path(model))
    elif suffix == ".toml":
        expected = _read_toml(pathlib.Path(model), default)
    elif _is_plain_module(model) and example_inputs is None:
        expected = Expected({}, _argument_names(model), default)
    else:
        # Rules about dtypes need no ranges: what is assumed is known at once.
        report = checking.check(model, example_inputs, inputs=inputs, assume=assume,
                                precision=precision or "auto", select="MP1")
        return _of_report(report.raw)
    if isinstance(model, str | os.PathLike):
        expected = dataclasses.replace(expected, files=(os.fspath(model),))
    return _declare(expected, inputs or {}, default)


def _is_plain_module(model) -> bool:
    """A `torch.nn.Module` that is neither scripted nor exported."""
    if not (hasattr(model, "state_dict") and hasattr(model, "forward")):
        return False
    import torch

    return isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule)
