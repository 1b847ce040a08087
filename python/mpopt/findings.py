"""Findings of a report, as typed forms of its JSON (docs/json.md).

Every object keeps the JSON it was made from as `raw`; keys that a newer tool adds are
there."""

import dataclasses
import fnmatch
import math
from collections.abc import Sequence
from typing import Any

from mpopt._command import Error


def number(value) -> float:
    """`inf` and `-inf` are strings in JSON, NaN is null."""
    return math.nan if value is None else float(value)


@dataclasses.dataclass(frozen=True)
class Interval:
    """[lo, hi]; ends may be infinite."""

    lo: float
    hi: float

    @classmethod
    def of(cls, raw: dict | None) -> "Interval | None":
        return None if raw is None else cls(number(raw["lo"]), number(raw["hi"]))


@dataclasses.dataclass(frozen=True)
class Location:
    """A line of the model's own program."""

    file: str
    line: int

    @classmethod
    def of(cls, raw: dict | None) -> "Location | None":
        return None if raw is None else cls(raw["file"], raw["line"])


@dataclasses.dataclass(frozen=True)
class Op:
    """A node in the model's words; `scope` is the path of graph, function and branch."""

    name: str
    type: str
    scope: str


@dataclasses.dataclass(frozen=True)
class Cause:
    """A step on the way to a finding."""

    tensor: str
    op: str
    why: str
    location: Location | None


@dataclasses.dataclass(frozen=True)
class Fix:
    """A suggested change. `safe`: it was tried, and the finding is gone without a new one."""

    kind: str
    safe: bool
    text: str


@dataclasses.dataclass(frozen=True)
class Observed:
    """Statistics of a tensor that probes recorded, over all steps. Counts are of elements;
    `min`, `max`, `absmax` and `min_nonzero` are over finite values. `overflow` and
    `underflow`: format -> number of values that would overflow or round to zero in it.
    `bits_to_overflow` and `bits_to_flush` are margins in powers of two, None if there is
    none to tell."""

    count: int
    nan: int
    posinf: int
    neginf: int
    zero: int
    min: float
    max: float
    absmax: float
    min_nonzero: float
    overflow: dict[str, int]
    underflow: dict[str, int]
    bits_to_overflow: float | None
    bits_to_flush: float | None
    first_step: int | None
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False, default_factory=dict)

    @classmethod
    def of(cls, raw: dict | None) -> "Observed | None":
        if raw is None:
            return None
        numbers: dict[str, Any] = {key: number(raw[key]) for key in ("min", "max", "absmax", "min_nonzero")}
        margins: dict[str, Any] = {key: None if raw.get(key) is None else float(raw[key])
                   for key in ("bits_to_overflow", "bits_to_flush")}
        return cls(**{key: raw[key] for key in ("count", "nan", "posinf", "neginf", "zero")},
                   **numbers, overflow=raw["overflow"], underflow=raw["underflow"], **margins,
                   first_step=raw.get("first_step"), raw=raw)


@dataclasses.dataclass(frozen=True)
class Finding:
    """A finding of a rule. `status` and `observed` are set by `confirm` only: `confirmed`,
    `refuted`, `not-exercised` or `not-observable`."""

    rule: str
    name: str
    severity: str
    certainty: str
    op: Op
    tensor: str
    dtype: str
    message: str
    fingerprint: str
    bound: Interval | None
    likely: Interval | None
    cause: tuple[Cause, ...]
    fixes: tuple[Fix, ...]
    location: Location | None
    root: str | None
    status: str | None
    observed: Observed | None
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)
    #: True if it is about the gradient of the tensor.
    gradient: bool = False
    #: The file of an input at which it happens, of what is only possible.
    witness: str | None = None

    @classmethod
    def of(cls, raw: dict) -> "Finding":
        causes = tuple(Cause(step["tensor"], step["op"], step["why"],
                             Location.of(step.get("location"))) for step in raw["cause"])
        fixes = tuple(Fix(fix["kind"], fix["safe"], fix["text"]) for fix in raw["fixes"])
        op = raw["op"]
        return cls(
            **{key: raw[key] for key in ("rule", "name", "severity", "certainty", "tensor",
                                         "dtype", "message", "fingerprint")},
            op=Op(op["name"], op["type"], op["scope"]), bound=Interval.of(raw.get("bound")),
            likely=Interval.of(raw.get("likely")), cause=causes, fixes=fixes,
            location=Location.of(raw.get("location")), root=raw.get("root"),
            status=raw.get("status"), observed=Observed.of(raw.get("observed")), raw=raw,
            gradient=raw.get("gradient", False), witness=raw.get("witness"))

    def __str__(self) -> str:
        return f"{self.severity}[{self.rule}] {self.op.name}: {self.message}"


SEVERITIES = ("error", "warning", "note")


def _severities_from(least: str) -> tuple[str, ...]:
    if least not in SEVERITIES:
        raise Error(f"{least!r} is no severity: {', '.join(SEVERITIES)}")
    return SEVERITIES[:SEVERITIES.index(least) + 1]


def _is_layer(name: str, pattern: str) -> bool:
    """`h.*` is `transformer.h.0`, and all inside."""
    return any(fnmatch.fnmatchcase(name.replace("/", "."), form)
               for form in (pattern, f"*.{pattern}", f"{pattern}.*", f"*.{pattern}.*"))


class Findings(tuple[Finding, ...]):
    """Findings in the order of the report."""

    __slots__ = ()

    def filter(self, *, severity: str | None = None, rule: str | Sequence[str] | None = None,
               layer: str | None = None) -> "Findings":
        """Those of at least this severity, of rules by id, prefix (`MP2`) or name, and of
        layers, ops or tensors by a pattern of the shell (`h.*`)."""
        kinds = SEVERITIES if severity is None else _severities_from(severity)
        rules = (rule,) if isinstance(rule, str) else tuple(rule or ())
        return Findings(
            finding for finding in self
            if finding.severity in kinds
            and (rule is None or finding.rule.startswith(rules) or finding.name in rules)
            and (layer is None or any(_is_layer(name, layer) for name in (
                finding.op.scope, finding.op.name, finding.tensor))))
