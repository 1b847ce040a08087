"""The changes from one model, report or run to another."""

import dataclasses
import functools
import json
import os
from collections.abc import Mapping
from typing import Any

from mpopt import _command, _precisions, _source
from mpopt._command import ModelFile, PathLike
from mpopt.report import Report


@dataclasses.dataclass(frozen=True, repr=False)
class Diff:
    """`print` shows it as `mpopt --diff` does; `raw` is its JSON (docs/json.md)."""

    raw: dict[str, Any]
    _source: "_source.Source" = dataclasses.field(compare=False)

    @property
    def came(self) -> list[dict[str, Any]]:
        """Findings that only the second one has."""
        return self.raw.get("came", [])

    @property
    def went(self) -> list[dict[str, Any]]:
        """Findings that only the first one has."""
        return self.raw.get("went", [])

    @property
    def verdict(self) -> dict[str, Any] | None:
        """The verdict on two trainings: `type`, `outcome` and the rest of `mpopt.monitor.Verdict`, or `unknown`,
        the reason; None of anything else."""
        return self.raw.get("verdict")

    def __repr__(self) -> str:
        return f"Diff({len(self.came)} findings came, {len(self.went)} went)"

    def __str__(self) -> str:
        return self._text

    @functools.cached_property
    def _text(self) -> str:
        return self._source.render("text", _source.wants_colour(),
                                   _source.terminal_width()).rstrip("\n")


def _as_file(side, batch) -> ModelFile:
    """A report is compared as its JSON."""
    if not isinstance(side, Report):
        return ModelFile(side, batch)
    return ModelFile(_command.Document(json.dumps(side.raw)))


def diff(a, b, example_inputs=None, *, precision="auto", inputs: Mapping | None = None,
         assume: tuple[float, float] | None = None, dims: Mapping[str, int] | None = None,
         noise: PathLike | None = None) -> Diff:
    """The changes from `a` to `b`: `mpopt --diff`.

    a, b            models as `check` takes them, reports of `check` or their JSON files, or
                    records of runs
    example_inputs  a batch for both, if they are modules
    noise           the record of the first training with another seed, which shows what is noise

    The other arguments are those of `check`, for models. Raises `mpopt.Error` as `check`
    does."""
    with _as_file(a, example_inputs) as one, _as_file(b, example_inputs) as other:
        words = ["--diff", one.path, other.path]
        if noise is not None:
            words += ["--noise", _command.text("noise", noise)]
        options = _command.judging_options(
            one.arrays, precision=_precisions.find(precision), inputs=inputs, assume=assume,
            dims=dims, policy=None, target=None, input_shapes=None, method=None, select=None,
            ignore=None, thresholds=None)
        judged = any(not isinstance(side, Report) and not _is_record(side) for side in (a, b))
        source = _source.Source([*words, *(options if judged else ["--fail-on", "never"])],
                                one.keep(), other.keep(), accepted=(0, 1))
        return Diff(json.loads(source.render("json")), source)


def _is_record(side) -> bool:
    return isinstance(side, str | os.PathLike) and (
        os.fspath(side).endswith((".mprec", ".json")) or os.path.isdir(side))
