"""Verdicts without a run."""

import json
from collections.abc import Mapping, Sequence

from mpopt import _command
from mpopt._command import ModelFile, PathLike
from mpopt.report import Report


def check(model, example_inputs=None, *, precision: str = "auto", inputs: Mapping | None = None,
          assume: tuple[float, float] | None = None, dims: Mapping[str, int] | None = None,
          input_shapes: Mapping | None = None, method: str | None = None,
          policy: PathLike | None = None, target: PathLike | None = None,
          select: Sequence[str] | str | None = None, ignore: Sequence[str] | str | None = None,
          thresholds: Mapping[str, float] | None = None, min_certainty: str = "likely",
          safe_input: bool = False, keep_fp32: PathLike | None = None,
          jobs: int | None = None) -> Report:
    """Judges a model: `mpopt --check`.

    model          a path; an `onnx.ModelProto` or its bytes; a program of
                   `torch.export`; a TorchScript module; a `torch.nn.Module`, exported
                   with `example_inputs` (a tuple of what `forward` takes; traced if
                   `torch.export` cannot follow it) or else scripted
    precision      `auto`, `as-is`, `fp16`, `bf16`, `autocast-fp16`, `autocast-bf16`
    inputs         name -> (lo, hi) with numbers or arrays, `Normal(mean, std)`, a list of
                   both, a sample (array or tensor), or the path of an .npz file
    assume         (lo, hi) of float inputs that nothing else describes
    dims           symbolic dimension -> size
    input_shapes   name -> shape, or (shape, dtype); None is an open dimension
    select, ignore rules by id, prefix or name
    thresholds     key -> number (`list_rules()` has the keys)
    min_certainty  the least certainty that is listed: `certain`, `likely` or `possible`
    method         the method of a TorchScript module; default `forward`
    policy, target path of a precision policy, and name or path of a target profile
    safe_input     True: the report has the largest safe scale of each input
    keep_fp32      a file to write with the ops to keep in FP32, which `to_float16` reads
    jobs           number of threads; default: one for each core

    Raises `mpopt.Error` if the model or an option is invalid, or a file cannot be read
    or written."""
    with ModelFile(model, example_inputs) as file:
        options = _command.judging_options(
            file.arrays, precision=precision, policy=policy, target=target, inputs=inputs,
            assume=assume, dims=dims, input_shapes=input_shapes, method=method, select=select,
            ignore=ignore, thresholds=thresholds, jobs=jobs)
        options += ["--min-certainty", _command.text("min_certainty", min_certainty),
                    "--format", "json"]
        if safe_input:
            options.append("--safe-input")
        if keep_fp32 is not None:
            options += ["--keep-fp32", _command.text("keep_fp32", keep_fp32)]
        output = _command.run(["--check", file.path, *options], model=file.path)
        return Report.of(json.loads(output))


def list_rules() -> list[dict]:
    """All rules with their thresholds, as dicts: the entries of `--list-rules --format
    json` (docs/json.md)."""
    return json.loads(_command.run(["--list-rules", "--format", "json"]))["rules"]


def explain(rule: str) -> dict:
    """The page of a rule as a dict (docs/json.md). `rule`: its id (`MP103`) or name.
    Raises `mpopt.Error` if there is no such rule."""
    return json.loads(_command.run(["--explain", _command.text("rule", rule), "--format", "json"]))
