"""The entries of expected.json: what has changed since, and what of it is worse."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from judgement import NEAR, Outcome, is_within, is_wrong, percent, record

# A change of an estimate that is worth a line.
CHANGED = 0.01
# The noise of the same run on a shared machine: less is no change of time or memory.
SLOWER, LEAST_SECONDS, LEAST_MIB = 1.5, 0.1, 20.0
SHOWN = {"verdict": "verdict", "first": "first root finding", "error": "expected error",
         "gradients": f"gradients within {NEAR:g}x", "likely": f"likely extremes within {NEAR:g}x",
         "broken": "out of bounds"}


def is_near(entry: Mapping) -> bool:
    return is_within(float(entry["ratio"]), NEAR) if "ratio" in entry else True


def worse(old: Mapping, new: Mapping, right: str) -> Iterator[str]:
    """In which respects an entry is worse than an older one."""
    if is_wrong(new["verdict"], right) and not is_wrong(old["verdict"], right):
        yield f"verdict {old['verdict']} -> {new['verdict']}, right is {right}"
    if is_near(old) and not is_near(new):
        yield f"expected error left the band of {NEAR:g}x: ratio {old.get('ratio', '-')} -> {new['ratio']}"
    before, after = old.get("gradients", [0, 0])[0], new.get("gradients", [0, 0])[0]
    if after < before:
        yield f"gradients within {NEAR:g}x {before} -> {after} of {new.get('gradients', [0, 0])[1]}"
    if new.get("broken", []) != old.get("broken", []):
        yield from (f"out of bounds: {text}" for text in new.get("broken", []) if text not in old.get("broken", []))


def show(entry: Mapping, key: str) -> str:
    value = entry.get(key)
    if key == "error":
        return percent(None if value is None else float(value)) if key in entry else "-"
    return "/".join(map(str, value)) if isinstance(value, list) else str(value or "-")


def differs(key: str, old: object, new: object) -> bool:
    if key == "error" and old is not None and new is not None and old != new:
        a, b = float(old), float(new)
        return math.isinf(a) or math.isinf(b) or abs(a - b) > CHANGED * max(a, b)
    return old != new


def changes(old: Mapping, new: Mapping) -> Iterator[str]:
    """The differences of two entries of one row, a text each."""
    for key, name in SHOWN.items():
        if differs(key, old.get(key), new.get(key)):
            yield f"{name} {show(old, key)} -> {show(new, key)}"


def cost_changes(old: Outcome, new: Outcome) -> Iterator[str]:
    """Time and memory that differ by more than noise."""
    for name, before, after, least, unit in (("processor time", old.seconds, new.seconds, LEAST_SECONDS, "s"),
                                             ("memory", old.mib, new.mib, LEAST_MIB, "MiB")):
        if abs(after - before) > least and max(after, before) > SLOWER * min(after, before):
            yield f"{name} {before:.3g} -> {after:.3g} {unit}"


def compare(outcomes: Mapping[str, Outcome], rights: Mapping[str, str], expected: Mapping[str, Mapping]) -> list[str]:
    """The changes that are worse than the entries, or not explained by them."""
    bad = []
    for key, outcome in outcomes.items():
        entry = expected.get(key)
        if entry is None:
            bad.append(f"{key}: has no entry")
            continue
        bad += [f"{key}: {text}" for text in worse(entry, record(outcome), rights[key])]
        if is_wrong(entry["verdict"], rights[key]) and not entry.get("reason"):
            bad.append(f"{key}: the entry's verdict is wrong and has no reason")
    return bad


def update(outcomes: Mapping[str, Outcome], rights: Mapping[str, str], expected: Mapping[str, Mapping],
           reason: str) -> tuple[dict[str, dict], list[str]]:
    """The new entries of these rows, and those that need a reason and have none. An entry
    keeps its reason while its verdict is wrong or its expected error far off."""
    entries, bad = {}, []
    for key, outcome in outcomes.items():
        old, now = expected.get(key, {}), record(outcome)
        found = list(worse(old, now, rights[key])) if old else []
        if is_wrong(outcome.verdict, rights[key]) and not old.get("reason"):
            found.append(f"verdict is {outcome.verdict}, right is {rights[key]}")
        said = reason if found else old.get("reason", "")
        if found and not said:
            bad.append(f"{key}: {'; '.join(found)}")
        keeps = found or is_wrong(outcome.verdict, rights[key]) or not is_near(now)
        entries[key] = now | ({"reason": said} if said and keeps else {})
    return entries, bad
