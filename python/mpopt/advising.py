"""One model in every precision on a device."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from mpopt import _command, _source, _training_options
from mpopt._command import ModelFile, PathLike
from mpopt.training import prepare


@dataclasses.dataclass(frozen=True, repr=False)
class Advice:
    """`print` shows it as `mpopt --advise` does; `raw` is its JSON (docs/json.md)."""

    raw: dict[str, Any]
    _source: "_source.Source" = dataclasses.field(compare=False)

    @property
    def recommended(self) -> str | None:
        """The label of the row to choose (`"BF16"`); None if none is without a finding."""
        return self.raw["recommended"]

    @property
    def precision(self) -> str | None:
        """The same as `check` takes it (`"autocast-bf16"`)."""
        return next((row["precision"] for row in self.rows if row["label"] == self.recommended), None)

    @property
    def reason(self) -> str:
        return self.raw["reason"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict a precision: `label`, `precision`, `verdict`, `fine`, `expected_error`, `seconds`,
        `bytes`, `fits` and others."""
        return self.raw["rows"]

    def __repr__(self) -> str:
        return f"Advice({self.recommended}: {self.reason})"

    def __str__(self) -> str:
        return self._source.render("text", _source.wants_colour(), _source.terminal_width()).rstrip("\n")


def advise(model, batch=None, *, device: PathLike = "h100", train: bool = False, loss=None,
           optimizer=None, scaler=None, clip: float | None = None, batch_size=None, config=None,
           inputs: Mapping | None = None, assume: tuple[float, float] | None = None,
           dims: Mapping[str, int] | None = None, input_shapes: Mapping | None = None,
           method: str | None = None, policy: PathLike | None = None,
           target: PathLike | None = None) -> Advice:
    """Which precision a model takes on a device: `mpopt --advise`.

    device  `v100`, `a100`, `h100`, `b200`, `mi300`, `cpu`, or a profile (docs/advise.md)
    train   True: a step of training instead of a run; the arguments behind it are those of
            `check_training`

    The other arguments are those of `check`. Raises `mpopt.Error` as `check` does."""
    terms = None
    if train:
        model, batch, terms = prepare(model, batch, loss)
    with ModelFile(model, batch) as file:
        options = _command.judging_options(
            file.arrays, precision=_command.DECIDED_BY_CONFIG, policy=policy, target=target, inputs=inputs, assume=assume,
            dims=dims, input_shapes=input_shapes, method=method, select=None, ignore=None,
            thresholds=None)
        # Findings count as the command line counts them: they decide the table.
        options = options[2:] if options[:1] == ["--fail-on"] else options
        if train:
            if terms is None and "loss" in file.outputs:
                terms = "sum:loss"
            options += _training_options.options(
                file.folder, loss=terms, optimizer=optimizer, scaler=scaler, clip=clip,
                batch_size=batch_size, reduce=None, loss_value=None, config=config, memory=False)
        words = ["--advise", file.path, "--device", _command.text("device", device), *options]
        source = _source.Source(words, file.keep(), accepted=(0, 1))
        return Advice(json.loads(source.render("json")), source)
