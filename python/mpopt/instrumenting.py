"""Models with probes."""

import dataclasses
import functools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from mpopt import _command, _json_files
from mpopt._command import ModelFile, PathLike
from mpopt.findings import Interval
from mpopt.report import Report


@dataclasses.dataclass(frozen=True)
class Probe:
    """One probe of a ledger. `role`: `input`, `finding`, `sentinel`, `chosen`, `parameter`
    or `scalar`."""

    id: int
    role: str
    tensor: str
    dtype: str
    bound: Interval | None
    likely: Interval | None
    fingerprints: tuple[str, ...]
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: dict) -> "Probe":
        return cls(raw["id"], raw["role"], raw["tensor"], raw["dtype"],
                   Interval.of(raw["bound"]), Interval.of(raw.get("likely")),
                   tuple(raw["fingerprints"]), raw)


@dataclasses.dataclass(frozen=True)
class Instrumented:
    """A probed model, its ledger, and the report whose findings the probes test."""

    path: pathlib.Path
    ledger: pathlib.Path
    probes: tuple[Probe, ...]
    #: Tensors that have a finding and no probe, and why.
    unprobed: dict[str, str]
    report: Report

    @functools.cached_property
    def program(self):
        """The `torch.export.ExportedProgram` with probes, loaded when it is first asked for:
        `program.module()(*inputs)` records. Raises `mpopt.Error` if the model is no exported
        program, or PyTorch cannot load it."""
        if self.report.format != "exported-program":
            raise _command.Error(f"'{self.path}' is no exported program")
        from mpopt import _programs

        return _programs.load(self.path)

    @classmethod
    def read(cls, path: PathLike) -> "Instrumented":
        """Reads the ledger beside `path`, a model that was written before. Raises
        `mpopt.Error` if it cannot be read."""
        path = pathlib.Path(path)
        ledger = pathlib.Path(f"{path}.probes.json")
        with _command.argument("the ledger"):
            raw = _json_files.read(ledger)
            return cls(path, ledger, tuple(Probe.of(probe) for probe in raw["probes"]),
                       {entry["tensor"]: entry["why"] for entry in raw["unprobed"]},
                       Report.of(raw["report"]))


def instrument(model, output: PathLike | None = None, *, probe: str = "findings", probe_with: str = "op",
               precision="auto", inputs: Mapping | None = None,
               assume: tuple[float, float] | None = None, dims: Mapping[str, int] | None = None,
               input_shapes: Mapping | None = None, example_inputs=None,
               method: str | None = None, policy: PathLike | None = None,
               target: PathLike | None = None, select: Sequence[str] | str | None = None,
               ignore: Sequence[str] | str | None = None,
               thresholds: Mapping[str, float] | None = None,
               train: bool = False) -> Instrumented:
    """Writes `output`, the model with probes, and `output.probes.json`, the ledger:
    `mpopt --instrument`.

    output      of a program of `torch.export` by default `probed.pt2`; a module is exported
                if the name ends in `.pt2`, else traced or scripted
    probe       `findings`, `all`, or a regular expression on names of tensors and ops
    train       records gradients, too, of tensors and of parameters (TorchScript)
    probe_with  `op` (a custom op), or `outputs` (standard ops, further outputs)

    The other arguments are those of `check`. Raises `mpopt.Error` if the model or an
    option is invalid, or a file cannot be written."""
    if output is None:
        if not _command.is_program(model):
            raise _command.Error("output: a file to write is needed")
        output = "probed.pt2"
    is_exported = _command.text("output", output).endswith(".pt2")
    with ModelFile(model, example_inputs, "exported" if is_exported else "scripted") as file:
        options = _command.judging_options(
            file.arrays, precision=precision, policy=policy, target=target, inputs=inputs,
            assume=assume, dims=dims, input_shapes=input_shapes, method=method, select=select,
            ignore=ignore, thresholds=thresholds)
        _command.run(["--instrument", file.path, "-o", _command.text("output", output),
                      "--probe", _command.text("probe", probe),
                      "--probe-with", _command.text("probe_with", probe_with),
                      *(["--train"] if train else []), *options], model="" if file.is_given else file.path)
    return Instrumented.read(output)


def strip(probed: PathLike, output: PathLike) -> pathlib.Path:
    """Writes the original of the probed model `probed` to `output`, byte for byte, and
    returns the path. Raises `mpopt.Error` if the model has no probes."""
    _command.run(["--strip", _command.text("probed", probed),
                  "-o", _command.text("output", output)])
    return pathlib.Path(output)
