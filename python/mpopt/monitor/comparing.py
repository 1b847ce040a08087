"""Two runs of one model side by side (MP512): formats, engines, versions. The tool compares
(Against.h says how); of log-probabilities that two engines gave, log_probabilities.py does."""

import dataclasses
import json
import os
from collections.abc import Sequence

from mpopt import _command
from mpopt._command import PathLike
from mpopt.monitor import reading
from mpopt.monitor.alerts import Alert


@dataclasses.dataclass(frozen=True)
class Difference:
    """The observations of one tensor in two runs.

    difference  the largest one of the differences of root mean square, of mean and of the
                elements, in root mean square, of the root mean square of `a` (of a parameter's
                gradient: of that of its layer's gradients); Inf where one run held NaN or Inf and
                the other did not
    explained   what the formats on the way explain at most
    elements    the difference of the elements, a lower bound; None if the runs have no random sums
                of them (projections.py) in a common step
    """

    tensor: str
    kind: str
    dtypes: tuple[str, str]
    root_mean_squares: tuple[float, float]
    difference: float
    explained: float
    elements: float | None = None

    @property
    def is_explained(self) -> bool:
        return self.difference <= self.explained


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Tensors that both runs recorded, in the order in which the first run computed them.

    incomparable  those of which the runs saw different numbers of elements, and why
    alert         MP512 about the first that differs by more than is explained; None if none"""

    differences: tuple[Difference, ...]
    incomparable: dict[str, str]
    alert: Alert | None

    @property
    def first(self) -> Difference | None:
        return next((entry for entry in self.differences if not entry.is_explained), None)


def compare(a: PathLike | Sequence[PathLike], b: PathLike | Sequence[PathLike], *,
            ledger_a: PathLike | None = None, ledger_b: PathLike | None = None,
            kind: str = "value") -> Comparison:
    """Compares the records of two runs, each one path or those of its ranks, over the same
    batches: `mpopt --confirm A --against B`. Ledgers are found beside records. `kind` is `value`,
    `gradient`, `parameter` or `optimizer`; parameters and optimizer state come in the order of their
    definition, gradients the other way round.
    Raises `mpopt.Error` if a record cannot be read."""
    ones, others = _paths("a", a), _paths("b", b)
    ledgers = [os.fspath(given) if given is not None else
               str(reading.find_ledger(paths[0], reading.RunFile(paths[0]).ledger))
               for paths, given in ((ones, ledger_a), (others, ledger_b))]
    output = _command.run(
        ["--confirm", *ones, "--ledger", ledgers[0],
         *(word for path in others for word in ("--against", path)),
         "--against-ledger", ledgers[1], "--format", "json", "--fail-on", "never"], accepted=(0, 1))
    raw = json.loads(output)["against"]
    differences, alert = [], None
    for entry in raw["differences"]:
        if entry["kind"] != kind:
            continue
        differences.append(Difference(
            entry["tensor"], kind, tuple(entry["dtypes"]), (float(entry["rms"][0]), float(entry["rms"][1])),
            float(entry["difference"]), float(entry["explained"]),
            float(entry["elements"]) if "elements" in entry else None))
        if "message" in entry:
            alert = Alert("MP512", "warning", entry["tensor"], entry["step"] or 0, entry["message"])
    incomparable = {entry["tensor"]: entry["why"] for entry in raw["incomparable"]
                    if entry["kind"] == kind}
    return Comparison(tuple(differences), incomparable, alert)


def _paths(name: str, given: PathLike | Sequence[PathLike]) -> list[str]:
    with _command.argument(name):
        paths = [os.fspath(path) for path in
                 ([given] if isinstance(given, str | os.PathLike) else given)]
        if not paths:
            raise ValueError("there is no record to read")
    return paths
