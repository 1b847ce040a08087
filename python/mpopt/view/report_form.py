"""The form of a report (`mpopt-report/1`, docs/json.md), as far as the pages use it.

What the pages do not use may be missing or anything; a key of the report itself that they do
not take from a file (the map, the course of a run) is left out."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

#: A check says what is wrong behind a place (` is not a text`), nothing if all is well.
Check = Callable[[Any], str]


def _kind(what: str, holds: Callable[[Any], bool]) -> Check:
    return lambda value: "" if holds(value) else f" is not a {what}"


def _is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


TEXT = _kind("text", lambda value: isinstance(value, str))
FLAG = _kind("boolean", lambda value: isinstance(value, bool))
COUNT = _kind("count", lambda value: _is_number(value) and value >= 0)
#: Infinite numbers are words, unknown ones null.
NUMBER = _kind("number", lambda value: value is None or _is_number(value) or value in ("inf", "-inf", "nan"))


@dataclasses.dataclass(frozen=True)
class Maybe:
    """A key that may be missing, or null."""

    check: Check


def listed(each: Check) -> Check:
    def check(value) -> str:
        if not isinstance(value, list):
            return " is not a list"
        return next((f"[{index}]{fault}" for index, part in enumerate(value) if (fault := each(part))), "")
    return check


def histogram(value) -> str:
    """Shares by binary exponent, which are as far apart as those of a double."""
    if not isinstance(value, dict):
        return " is not an object"
    wrong = next((key for key in value if not re.fullmatch(r"-?\d{1,4}", key)), None)
    return mapped(NUMBER)(value) if wrong is None else f".{wrong} is not an exponent"


def maybe_null(each: Check) -> Check:
    return lambda value: "" if value is None else each(value)


def mapped(each: Check) -> Check:
    def check(value) -> str:
        if not isinstance(value, dict):
            return " is not an object"
        return next((f".{key}{fault}" for key, part in value.items() if (fault := each(part))), "")
    return check


def made_of(**members: Check | Maybe) -> Check:
    """An object with these members, and any others; `__` in a name is `-` in JSON."""
    named = {name.replace("__", "-"): check for name, check in members.items()}

    def check(value) -> str:
        if not isinstance(value, dict):
            return " is not an object"
        for name, member in named.items():
            if value.get(name) is None and (isinstance(member, Maybe) or name not in value):
                if isinstance(member, Maybe):
                    continue
                return f".{name} is missing"
            if fault := (member.check if isinstance(member, Maybe) else member)(value[name]):
                return f".{name}{fault}"
        return ""
    return check


_OP = made_of(name=TEXT, type=TEXT, scope=TEXT)
_PLACE = made_of(file=TEXT, line=COUNT)
_RANGE = made_of(lo=NUMBER, hi=NUMBER)
_OBSERVED = made_of(
    tensor=TEXT, dtype=TEXT, calls=COUNT, count=COUNT, nan=COUNT, posinf=COUNT, neginf=COUNT, min=NUMBER, max=NUMBER,
    min_nonzero=NUMBER, bits_to_overflow=Maybe(NUMBER), bits_to_flush=Maybe(NUMBER), first_step=Maybe(COUNT))
_FINDING = made_of(
    rule=TEXT, name=TEXT, severity=TEXT, certainty=TEXT, op=_OP, tensor=TEXT, dtype=TEXT, message=TEXT, fingerprint=TEXT,
    bound=Maybe(_RANGE), likely=Maybe(_RANGE), fixes=listed(made_of(kind=TEXT, safe=FLAG, text=TEXT)),
    cause=Maybe(listed(made_of(tensor=TEXT, op=TEXT, why=TEXT, location=Maybe(_PLACE)))),
    effect=Maybe(made_of(output=TEXT, expected_error=NUMBER)), location=Maybe(_PLACE), root=Maybe(TEXT),
    standing=Maybe(TEXT), reason=Maybe(TEXT), status=Maybe(TEXT), status_why=Maybe(TEXT), observed=Maybe(_OBSERVED))
_EFFECT = made_of(output=TEXT, expected_error=NUMBER, expected_rms=NUMBER, tensors=listed(made_of(tensor=TEXT, share=NUMBER)))
_ASSUMPTION = made_of(input=TEXT, lo=NUMBER, hi=NUMBER, mean=NUMBER, std=NUMBER, source=TEXT, why=Maybe(TEXT))
_GRADIENT = made_of(
    parameter=TEXT, dtype=TEXT, shape=Maybe(listed(NUMBER)), flushed=mapped(NUMBER), expected_error=Maybe(NUMBER),
    likely=Maybe(made_of(rms=NUMBER, absmax=NUMBER, zero=NUMBER, hist=histogram)))
_SHARDS = made_of(
    parameters=Maybe(COUNT), gathered=Maybe(COUNT), master_copies=Maybe(COUNT), gradients=Maybe(COUNT),
    optimizer_state=Maybe(COUNT), sent=Maybe(COUNT))
_MEMORY = made_of(
    ranks=COUNT, samples=Maybe(COUNT), configured=Maybe(TEXT), sharding=mapped(_SHARDS), activations=made_of(
        saved=COUNT, weight_casts=COUNT, unknown=Maybe(COUNT),
        checkpointed=Maybe(made_of(configured=FLAG, blocks=COUNT, kept=COUNT, peak=COUNT)),
        tensors=listed(made_of(name=TEXT, dtype=TEXT, count=COUNT, bytes=COUNT))))
_TRAINING = made_of(
    loss=listed(TEXT), gradients=listed(_GRADIENT), memory=Maybe(_MEMORY),
    updates=Maybe(listed(made_of(parameter=TEXT, lost=made_of(bf16=NUMBER)))), scale=made_of(
        lo=NUMBER, hi=NUMBER, recommended=Maybe(NUMBER), limited_by=Maybe(listed(maybe_null(TEXT))), lost_at_any=Maybe(NUMBER)))
_AGAINST = made_of(
    differences=listed(made_of(
        tensor=TEXT, kind=TEXT, dtypes=listed(TEXT), rms=listed(NUMBER), difference=NUMBER, explained=NUMBER, elements=Maybe(NUMBER),
        message=Maybe(TEXT))),
    incomparable=listed(made_of(tensor=TEXT, kind=TEXT, why=TEXT)))

_MEMBERS: dict[str, Any] = {
    "schema": TEXT, "precision": TEXT, "findings": listed(_FINDING),
    "model": made_of(path=TEXT, format=TEXT, nodes=COUNT, parameters=COUNT),
    "coverage": made_of(ops=COUNT, modelled=COUNT, unmodelled=Maybe(mapped(COUNT)), unknown_ranges=Maybe(mapped(COUNT))),
    "summary": made_of(error=COUNT, warning=COUNT, note=COUNT, certain=COUNT, likely=COUNT, possible=COUNT, tensors=COUNT, proved=COUNT),
    "policy": Maybe(TEXT), "target": Maybe(made_of(name=TEXT, summary=TEXT)), "effects": Maybe(listed(_EFFECT)),
    "effect_warning": Maybe(NUMBER), "assumptions": Maybe(listed(_ASSUMPTION)), "warnings": Maybe(listed(TEXT)),
    "safe_input": Maybe(listed(made_of(input=TEXT, proved=NUMBER, likely=NUMBER))), "training": Maybe(_TRAINING),
    "confirmation": Maybe(made_of(probes=COUNT, ran=COUNT, confirmed=COUNT, refuted=COUNT, not__exercised=COUNT,
                                  not__observable=COUNT)),
    "first_bad": Maybe(made_of(tensor=TEXT, input=FLAG, step=COUNT, op=Maybe(_OP))),
    "exceeded": Maybe(listed(made_of())), "outside_assumptions": Maybe(listed(made_of())), "against": Maybe(_AGAINST),
}
_CHECK = made_of(**_MEMBERS)
#: Fields that text and tools read and pages do not: kept as they are.
_ASIDE = {"tool", "settings", "baseline", "gradients", "beginnings", "scales"}


def read(report) -> dict:
    """The report with what pages use of it; `ValueError` of one line if it is not whole."""
    fault = _CHECK(report)
    if not fault and report.get("confirmation") is not None:
        fault = next((f".{key} is missing" for key in ("exceeded", "outside_assumptions") if report.get(key) is None), "")
    if fault:
        raise ValueError(f"is not a complete report of mpopt: it{fault}" if fault.startswith(" ") else
                         f"is not a complete report of mpopt: {fault.lstrip('.')}")
    return {key: value for key, value in report.items() if key in _MEMBERS or key in _ASIDE}
