"""Verdicts without a run."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from mpopt import _command
from mpopt._command import ModelFile, PathLike
from mpopt._source import Source
from mpopt.report import Report


_Kind = TypeVar("_Kind", bound=Report)


def judge(file: ModelFile, options: Sequence[str], outputs: Sequence[str], kind: type[_Kind]) -> _Kind:
    """Runs `--check` of a model that is kept for the report. `outputs`: options that name
    files to write, which other forms of the report are not to write again."""
    words = ["--check", file.path, *options]
    output = _command.run([*words, *outputs, "--format", "json"],
                          model="" if file.is_given else file.path)
    report = cast(_Kind, kind.of(json.loads(file.rename(output))))
    return dataclasses.replace(report, source=Source(words, file.keep()))


def report_options(*, min_certainty: str = "likely", safe_input: bool = False,
                   settings: PathLike | None = None, baseline: PathLike | None = None) -> list[str]:
    """The rows that are listed."""
    options = ["--min-certainty", _command.text("min_certainty", min_certainty)]
    if safe_input:
        options.append("--safe-input")
    for name, value in (("config", settings), ("baseline", baseline)):
        if value is not None:
            options += [f"--{name}", _command.text(_command.keyword_of(name), value)]
    return options


def written_options(**files: PathLike | None) -> list[str]:
    """Options that name files to write, by keyword."""
    return [word for name, file in files.items() if file is not None
            for word in (f"--{name.replace('_', '-')}", _command.text(name, file))]


def check(model, example_inputs=None, *, precision="auto", inputs: Mapping | None = None,
          assume: tuple[float, float] | None = None, dims: Mapping[str, int] | None = None,
          input_shapes: Mapping | None = None, method: str | None = None,
          policy: PathLike | None = None, target: PathLike | None = None,
          select: Sequence[str] | str | None = None, ignore: Sequence[str] | str | None = None,
          thresholds: Mapping[str, float] | None = None, effort: str | None = None,
          min_certainty: str = "likely", safe_input: bool = False, keep_fp32: PathLike | None = None,
          settings: PathLike | None = None,
          baseline: PathLike | None = None, write_baseline: PathLike | None = None,
          dump_ranges: PathLike | None = None, witness: PathLike | None = None,
          fail_on: str | None = None) -> Report:
    """Judges a model: `mpopt --check`.

    model          a path; an `onnx.ModelProto` or its bytes; a program of
                   `torch.export`; a TorchScript module; a `torch.nn.Module`, exported
                   with `example_inputs` (traced if `torch.export` cannot follow it) or else
                   scripted
    example_inputs a batch: a tensor, a tuple of what `forward` takes, or a mapping of its
                   keywords. Without one, a module of Hugging Face's transformers is given
                   inputs as its configuration describes them
    precision      `auto`, `as-is`, `fp16`, `bf16`, `autocast-fp16`, `autocast-bf16`, or as
                   a framework spells it: `torch.float16`, `"16-mixed"`, `torch.autocast(...)`
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
    effort         `high`: bounds may take twenty times as long, boxes of inputs are split
    safe_input     True: the report has the largest safe scale of each input
    keep_fp32      a file to write with the ops to keep in FP32, which `to_float16` reads
    settings       an `mpopt.toml`, or `none` for none; default: that of the model's folder
    baseline, write_baseline  findings that do not count, and a file for those of now
    dump_ranges    a file to write with the bounds of every tensor
    witness        a folder for inputs at which overflows happen that are only possible
    fail_on        raise `mpopt.FindingsError` if there are findings of this severity or more

    The report keeps its copy of a model that is no file, to be printed and saved. Raises
    `mpopt.Error` if the model or an option is invalid, or a file cannot be read or written."""
    with ModelFile(model, example_inputs) as file:
        options = _command.judging_options(
            file.arrays, precision=precision, policy=policy, target=target, inputs=inputs,
            assume=assume, dims=dims, input_shapes=input_shapes, method=method, select=select,
            ignore=ignore, thresholds=thresholds, effort=effort)
        options += report_options(min_certainty=min_certainty, safe_input=safe_input,
                                  settings=settings, baseline=baseline)
        report = judge(file, options, written_options(
            keep_fp32=keep_fp32, write_baseline=write_baseline, dump_ranges=dump_ranges,
            witness=witness), Report)
    if fail_on is not None:
        report.raise_if(fail_on)
    return report


def list_rules() -> list[dict]:
    """All rules with their thresholds, as dicts: the entries of `--list-rules --format
    json` (docs/json.md)."""
    return json.loads(_command.run(["--list-rules", "--format", "json"]))["rules"]


def explain(rule: str) -> dict:
    """The page of a rule as a dict (docs/json.md). `rule`: its id (`MP103`) or name; of a prefix of
    ids (`MP1`) a dict with `rules`, as `list_rules` has them. Raises `mpopt.Error` if there is no such rule."""
    return json.loads(_command.run(["--explain", _command.text("rule", rule), "--format", "json"]))
