"""Typed forms of the JSON that the tool writes (docs/json.md).

Every object keeps the JSON it was made from as `raw`; keys that a newer tool adds are
there."""

import dataclasses
import math
from typing import Any

from mpopt._command import Error

STATUSES = ("confirmed", "refuted", "not-exercised", "not-observable")


def _number(value) -> float:
    """`inf` and `-inf` are strings in JSON, NaN is null."""
    return math.nan if value is None else float(value)


@dataclasses.dataclass(frozen=True)
class Interval:
    """[lo, hi]; ends may be infinite."""

    lo: float
    hi: float

    @classmethod
    def of(cls, raw: dict | None) -> "Interval | None":
        return None if raw is None else cls(_number(raw["lo"]), _number(raw["hi"]))


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
        numbers = {key: _number(raw[key]) for key in ("min", "max", "absmax", "min_nonzero")}
        margins = {key: None if raw.get(key) is None else float(raw[key])
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
            gradient=raw.get("gradient", False))

    def __str__(self) -> str:
        return f"{self.severity}[{self.rule}] {self.op.name}: {self.message}"


@dataclasses.dataclass(frozen=True)
class Assumption:
    """The assumption about one input: bounds, mean and standard deviation (NaN: none)."""

    input: str
    bound: Interval
    mean: float
    std: float
    source: str

    @classmethod
    def of(cls, raw: dict) -> "Assumption":
        return cls(raw["input"], Interval(_number(raw["lo"]), _number(raw["hi"])),
                   _number(raw["mean"]), _number(raw["std"]), raw["source"])


@dataclasses.dataclass(frozen=True)
class Report:
    """The report on one model (docs/json.md)."""

    path: str
    format: str
    precision: str
    assumptions: tuple[Assumption, ...]
    findings: tuple[Finding, ...]
    summary: dict[str, int]
    coverage: dict[str, Any]
    safe_input: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def _fields(cls, raw: dict) -> dict[str, Any]:
        return {
            "path": raw["model"]["path"], "format": raw["model"]["format"],
            "precision": raw["precision"],
            "assumptions": tuple(Assumption.of(entry) for entry in raw["assumptions"]),
            "findings": tuple(Finding.of(entry) for entry in raw["findings"]),
            "summary": raw["summary"], "coverage": raw["coverage"],
            "safe_input": tuple(raw.get("safe_input", ())),
            "warnings": tuple(raw.get("warnings", ())), "raw": raw}

    @classmethod
    def of(cls, raw: dict) -> "Report":
        return cls(**cls._fields(raw))

    @property
    def ok(self) -> bool:
        """True if no error and no warning is listed."""
        return not any(finding.severity != "note" for finding in self.findings)

    @property
    def roots(self) -> tuple[Finding, ...]:
        """Findings that do not follow from another."""
        return tuple(finding for finding in self.findings if finding.root is None)

    def by_rule(self, *rules: str) -> tuple[Finding, ...]:
        """Findings of rules by id or prefix (`MP2`)."""
        return tuple(finding for finding in self.findings if finding.rule.startswith(rules))


@dataclasses.dataclass(frozen=True)
class Gradient:
    """Statistics of the gradient of a tensor; `op` computes the tensor, None for an input."""

    probe: int
    tensor: str
    op: Op | None
    observed: Observed

    @classmethod
    def of(cls, raw: dict) -> "Gradient":
        op = raw.get("op")
        return cls(raw["probe"], raw["tensor"], op and Op(op["name"], op["type"], op["scope"]),
                   Observed.of(raw["observed"]))


@dataclasses.dataclass(frozen=True)
class Gradients:
    """Gradients of a run that recorded them. `beginnings`: where NaN and infinity began on
    the way back, `first_bad` the most harmful one. `loss_scale`: for `f16` and `e5m2` the
    best power of two to multiply the loss by, and the values lost with and without it."""

    tensors: tuple[Gradient, ...]
    first_bad: dict[str, Any] | None
    beginnings: tuple[dict[str, Any], ...]
    loss_scale: dict[str, dict[str, int]] | None
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: dict | None) -> "Gradients | None":
        if raw is None:
            return None
        return cls(tuple(Gradient.of(entry) for entry in raw["tensors"]), raw["first_bad"],
                   tuple(raw["beginnings"]), raw["loss_scale"], raw)


@dataclasses.dataclass(frozen=True)
class Confirmation(Report):
    """A report joined with the records of probes.

    `first_bad`: the op at which NaN or infinity began, with its step and the chain that led
    to it; of several `beginnings` the most harmful one. `outside_assumptions`: inputs that
    were not as assumed. `exceeded`: bounds that were broken although all assumptions held,
    which is a bug in mpopt. `scales`: for each float tensor the best power of two in FP16,
    E4M3 and E5M2."""

    first_bad: dict[str, Any] | None = None
    outside_assumptions: tuple[Any, ...] = ()
    exceeded: tuple[Any, ...] = ()
    scales: tuple[dict[str, Any], ...] = ()
    beginnings: tuple[dict[str, Any], ...] = ()
    #: None if the run recorded none.
    gradients: Gradients | None = None

    @classmethod
    def of(cls, raw: dict) -> "Confirmation":
        return cls(**cls._fields(raw), first_bad=raw.get("first_bad"),
                   outside_assumptions=tuple(raw.get("outside_assumptions", ())),
                   exceeded=tuple(raw.get("exceeded", ())),
                   scales=tuple(raw.get("scales", ())),
                   beginnings=tuple(raw.get("beginnings", ())),
                   gradients=Gradients.of(raw.get("gradients")))

    def by_status(self, status: str) -> tuple[Finding, ...]:
        """Findings that are `confirmed`, `refuted`, `not-exercised` or `not-observable`;
        `mpopt.Error` if `status` is none of these."""
        if status not in STATUSES:
            raise Error(f"the status '{status}' is not {', '.join(STATUSES[:-1])} or "
                        f"{STATUSES[-1]}")
        return tuple(finding for finding in self.findings if finding.status == status)
