"""Typed forms of the JSON that the tool writes (docs/json.md), but for findings (findings.py).

Every object keeps the JSON it was made from as `raw`; keys that a newer tool adds are
there."""

import dataclasses
import difflib
import functools
import json
import math
import pathlib
from collections.abc import Mapping
from typing import Any

from mpopt import _output_files, _shown, _source
from mpopt._command import Error, PathLike, text
from mpopt.findings import Finding, Findings, Interval, Observed, Op, number

STATUSES = ("confirmed", "refuted", "not-exercised", "not-observable")


class FindingsError(Error):
    """A report has findings that it must not have; `report` is the report."""

    def __init__(self, message: str, report: "Report"):
        super().__init__(message)
        self.report = report


#: An estimate that is so far from the limit is believed (lib/Report/TextEffects.cpp).
_SURE = 2.5
#: The threshold `effect-warning` of a report that does not tell: one of mpopt 0.2.
_LIMIT = 0.02


@dataclasses.dataclass(frozen=True)
class Output:
    """The expected effect of the precision on an output: the largest error of an element and
    the root mean square error, each relative to the output's own. NaN: not known, for the
    reason in `unknown`."""

    name: str
    expected_error: float
    expected_rms: float
    #: `fine`, `probably fine`, `probably too much`, `too much`, `Inf or NaN` or `not known`.
    verdict: str
    unknown: str
    #: The findings that cause most of it.
    causes: tuple[Finding, ...]
    #: The error by `weights`, `activations` and `saturation`, each alone; empty if nothing is
    #: quantised.
    by: Mapping[str, float]
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: dict, findings: Findings, limit: float) -> "Output":
        error = number(raw["expected_error"])
        causes = {cause["fingerprint"] for cause in raw.get("causes", ())}
        return cls(raw["output"], error, number(raw["expected_rms"]), _judge(error, limit),
                   raw.get("unknown", ""),
                   tuple(finding for finding in findings if finding.fingerprint in causes),
                   {cause: number(part) for cause, part in raw.get("by", {}).items()}, raw)


def _judge(error: float, limit: float) -> str:
    if math.isnan(error):
        return "not known"
    if math.isinf(error):
        return "Inf or NaN"
    if error > limit:
        return "too much" if error > limit * _SURE else "probably too much"
    return "fine" if error * _SURE <= limit else "probably fine"


class _ByName(dict):
    """Of a name that is missing, the error has those that are nearest."""

    def __missing__(self, name):
        near = difflib.get_close_matches(str(name), self, n=4, cutoff=0)
        raise KeyError(f"{name!r} is none of {', '.join(map(repr, near))}{', ...' if len(self) > 4 else ''}" if near else
                       f"{name!r}: there are none")


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
        return cls(raw["input"], Interval(number(raw["lo"]), number(raw["hi"])),
                   number(raw["mean"]), number(raw["std"]), raw["source"])


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """The report on one model (docs/json.md). `print` shows it as the command line does."""

    path: str
    format: str
    precision: str
    assumptions: tuple[Assumption, ...]
    findings: Findings
    summary: dict[str, int]
    coverage: dict[str, Any]
    safe_input: tuple[dict[str, Any], ...]
    warnings: tuple[str, ...]
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)
    #: The command to ask for other forms; None of a report that was read.
    source: "_source.Source | None" = dataclasses.field(default=None, compare=False)

    @classmethod
    def _fields(cls, raw: dict) -> dict[str, Any]:
        return {
            "path": raw["model"]["path"], "format": raw["model"]["format"],
            "precision": raw["precision"],
            "assumptions": tuple(Assumption.of(entry) for entry in raw["assumptions"]),
            "findings": Findings(Finding.of(entry) for entry in raw["findings"]),
            "summary": raw["summary"], "coverage": raw["coverage"],
            "safe_input": tuple(raw.get("safe_input", ())),
            "warnings": tuple(raw.get("warnings", ())), "raw": raw}

    @classmethod
    def of(cls, raw: dict) -> "Report":
        return cls(**cls._fields(raw))

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process cannot ask for other forms: the file may be gone.
        return {**self.__dict__, "source": None}

    @property
    def ok(self) -> bool:
        """True if no error and no warning is listed."""
        return not any(finding.severity != "note" for finding in self.findings)

    @functools.cached_property
    def outputs(self) -> Mapping[str, Output]:
        """The float outputs by name; empty if nothing is stored in 16 bits or less."""
        limit = self.raw.get("effect_warning", _LIMIT)
        return _ByName((entry["output"], Output.of(entry, self.findings, float(limit)))
                       for entry in self.raw.get("effects", ()))

    @property
    def known(self) -> bool:
        """False if there is an output about which nothing can be said."""
        return all(output.verdict != "not known" for output in self.outputs.values())

    @property
    def verdict(self) -> str:
        """That of the worst output. An error that is not known may be any, but none that is
        known to be harmful. Without outputs to judge, `fine` if the report is `ok`, else
        `findings`."""
        if not self.outputs:
            return "fine" if self.ok else "findings"
        verdicts = [output.verdict for output in self.outputs.values()]
        return min(verdicts, key=("Inf or NaN", "too much", "probably too much", "not known",
                                  "probably fine", "fine").index)

    @property
    def roots(self) -> Findings:
        """Findings that do not follow from another."""
        return Findings(finding for finding in self.findings if finding.root is None)

    def by_rule(self, *rules: str) -> Findings:
        """Findings of rules by id or prefix (`MP2`)."""
        return Findings(finding for finding in self.findings if finding.rule.startswith(rules))

    def raise_if(self, severity: str = "warning") -> None:
        """Raises `mpopt.FindingsError` if there are findings of at least this severity, which
        the baseline does not have and nothing suppresses; `never` raises for none."""
        if severity == "never":
            return
        found = [finding for finding in self.findings.filter(severity=severity)
                 if "standing" not in finding.raw]
        if found:
            others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise FindingsError(f"{_shown.name_model(self)}: {found[0]}{others}", self)

    def __repr__(self) -> str:
        return _shown.line(self)

    def __str__(self) -> str:
        if self.source is None:
            return _shown.text(self)
        return self.source.render("text", _source.wants_colour(),
                                  _source.terminal_width()).rstrip("\n")

    def _repr_html_(self) -> str:
        return _shown.page(self)

    def save(self, path: PathLike) -> pathlib.Path:
        """Writes the report as the file's ending asks: `.html`, `.json`, `.sarif`, `.md`,
        `.xml` (JUnit) or `.txt`. Raises `mpopt.Error` for another one, if the file cannot be
        written, and, but for JSON, of a report that no command can be asked for again."""
        suffix = pathlib.Path(text("path", path)).suffix
        if suffix not in _source.FORMATS:
            raise Error(f"path: '{path}' ends in none of {', '.join(_source.FORMATS)}")
        form = _source.FORMATS[suffix]
        if form == "json":
            content = json.dumps(self.raw, indent=2, ensure_ascii=False) + "\n"
        elif self.source is None:
            raise Error(f"path: a report that was read is saved as .json, not as {suffix}")
        else:
            content = self.source.render(form)
        _output_files.write(path, content)
        return pathlib.Path(path)


@dataclasses.dataclass(frozen=True)
class LossScale:
    """The loss scales that work, `2**lo` to `2**hi` (None: no such end), the one to start at,
    and what overflows above and is lost below. `needed`: None if no gradient is known."""

    needed: bool | None
    lo: int | None
    hi: int | None
    recommended: float | None
    above: str | None
    below: str | None

    @classmethod
    def of(cls, raw: dict) -> "LossScale":
        above, below = (*(raw.get("limited_by") or ()), None, None)[:2]
        return cls(raw["needed"], raw["lo"], raw["hi"], raw.get("recommended"), above, below)

    def __str__(self) -> str:
        if self.needed is None:
            return "loss scale: not known"
        if not self.needed:
            return "loss scale: none is needed"
        ends = ["any" if end is None else f"2^{end}" for end in (self.lo, self.hi)]
        start = "" if self.recommended is None else f"; start at {self.recommended:g}"
        return f"loss scale: {ends[0]} to {ends[1]} works{start}"


@dataclasses.dataclass(frozen=True)
class ExpectedGradient:
    """The expected unscaled gradient of a parameter (NaN: not known). `lost`: the
    share of the non-zero elements that are stored as 0 without a loss scale; `expected_error`:
    by all roundings of the step, relative to `rms`."""

    parameter: str
    dtype: str
    shape: tuple[int, ...]
    rms: float
    absmax: float
    zero: float
    lost: float
    expected_error: float
    raw: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: dict) -> "ExpectedGradient":
        likely = raw.get("likely") or {}
        numbers = {key: number(likely.get(key)) for key in ("rms", "absmax", "zero")}
        return cls(raw["parameter"], raw["dtype"], tuple(raw.get("shape") or ()), **numbers,
                   lost=number((raw.get("flushed") or {}).get("1")),
                   expected_error=number(raw.get("expected_error")), raw=raw)


@dataclasses.dataclass(frozen=True, repr=False)
class TrainingReport(Report):
    """The report on a training step: forward, loss, backward, optimizer."""

    @property
    def training(self) -> dict[str, Any]:
        """The JSON of the step (docs/json.md)."""
        return self.raw["training"]

    @functools.cached_property
    def loss_scale(self) -> LossScale:
        return LossScale.of(self.training["scale"])

    @functools.cached_property
    def gradients(self) -> Mapping[str, ExpectedGradient]:
        """By parameter."""
        return _ByName((entry["parameter"], ExpectedGradient.of(entry)) for entry in self.training["gradients"])

    @property
    def memory(self) -> dict[str, Any] | None:
        """The JSON of `memory=True`, else None."""
        return self.training.get("memory")


@dataclasses.dataclass(frozen=True)
class Gradient:
    """Statistics of the gradient of a tensor; `op` computes the tensor, None for an input."""

    probe: int
    tensor: str
    op: Op | None
    observed: Observed

    @classmethod
    def of(cls, raw: dict) -> "Gradient":
        op, observed = raw.get("op"), Observed.of(raw["observed"])
        assert observed is not None  # tensors that no probe saw are not listed
        return cls(raw["probe"], raw["tensor"], op and Op(op["name"], op["type"], op["scope"]), observed)


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


@dataclasses.dataclass(frozen=True, repr=False)
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
        return Findings(finding for finding in self.findings if finding.status == status)
