"""The verdict of mpopt on a row beside the truth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

# Estimates are good to a factor: within NEAR nothing is wrong, within CLOSE much is right.
NEAR, CLOSE = 4.0, 2.0
LOUD = ("error", "warning")


@dataclass
class Outcome:
    """The verdict of one run of mpopt on one row."""

    verdict: str                                     # passes, fails, or why there is none
    first: str = ""                                  # first root finding, `RULE OP`
    error: float | None = None                       # expected error of the output that is furthest off
    ratio: float = math.nan                          # of it to the truth; NaN where there is no truth
    gradients: dict[str, float] = field(default_factory=dict)  # ratios by parameter
    likely: tuple[int, int] = (0, 0)                 # tensors whose likely extremes are near, of how many
    broken: list[str] = field(default_factory=list)  # tensors outside of their bounds
    seconds: float = 0
    mib: float = 0

    @property
    def near_gradients(self) -> int:
        return sum(is_within(ratio, NEAR) for ratio in self.gradients.values())


def number(value: float | str | None) -> float | None:
    """A number of a report, in which infinities are strings."""
    return None if value is None else float(value)


def is_within(ratio: float, factor: float) -> bool:
    return 1 / factor <= ratio <= factor


def ratio_of(said: float | None, true: float) -> float:
    """said / true: 1 if both are infinite or 0, infinite or 0 if one is, infinite if nothing
    is said."""
    if said is None:
        return math.inf
    if said == true:
        return 1.0
    return said / true if true > 0 and math.isfinite(true) else 0.0 if math.isinf(true) else math.inf


def distance(ratio: float) -> float:
    """How far off a ratio is, in powers of two."""
    return abs(math.log2(ratio)) if 0 < ratio < math.inf else math.inf


def first_root(findings: list[dict]) -> str:
    """The first finding that fails the model and follows from no other."""
    for finding in findings:
        if finding["severity"] in LOUD and finding["certainty"] != "possible" and "root" not in finding:
            return f"{finding['rule']} {finding['op']['type']}"
    return ""


def judge_errors(outcome: Outcome, effects: list[dict], truth: Mapping[str, dict]) -> None:
    """Fills in the expected error that is furthest off; float outputs are in one order."""
    for effect, true in zip(effects, truth.values()):
        said = number(effect["expected_error"])
        ratio = ratio_of(said, float(true["error"]))
        if math.isnan(outcome.ratio) or distance(ratio) > distance(outcome.ratio):
            outcome.error, outcome.ratio = said, ratio


def judge_extremes(outcome: Outcome, tensors: Mapping[str, dict], truth: Mapping[str, list[float]]) -> None:
    """Fills in which tensors leave their bounds, and how many have likely extremes."""
    near = total = 0
    for name, (lo, hi) in truth.items():
        said = tensors.get(name)
        if said is None:
            outcome.broken.append(f"{name} is not in the dump")
            continue
        if lo < float(said["lo"]) or hi > float(said["hi"]):
            outcome.broken.append(f"{name} [{lo:g}, {hi:g}] in [{float(said['lo']):g}, {float(said['hi']):g}]")
        likely = said.get("likely")
        if likely:
            expected = max(abs(float(likely["lo"])), abs(float(likely["hi"])))
            near += is_within(ratio_of(expected, max(abs(lo), abs(hi))), NEAR)
            total += 1
    outcome.likely = near, total


def judge_gradients(outcome: Outcome, said: Mapping[str, dict], truth: Mapping[str, float]) -> None:
    for name, true in truth.items():
        outcome.gradients[name] = ratio_of(number(said.get(name, {}).get("rms")), true)


def record(outcome: Outcome) -> dict:
    """The part of an outcome that expected.json keeps: nothing that depends on the machine."""
    kept: dict[str, object] = {"verdict": outcome.verdict, "first": outcome.first}
    if not math.isnan(outcome.ratio):
        kept["error"] = None if outcome.error is None else digits(outcome.error)
        kept["ratio"] = digits(outcome.ratio)
    if outcome.gradients:
        kept["gradients"] = [outcome.near_gradients, len(outcome.gradients)]
    if outcome.likely[1]:
        kept["likely"] = list(outcome.likely)
    if outcome.broken:
        kept["broken"] = outcome.broken
    return kept


def digits(value: float) -> float | str:
    """Three digits, and infinity as a string: JSON has none."""
    return float(f"{value:.3g}") if math.isfinite(value) else "inf"


def is_wrong(verdict: str, right: str) -> bool:
    return verdict not in ("passes", "fails") or right != "unjudged" and verdict != right


def percent(value: float | None) -> str:
    return "unknown" if value is None else "inf" if math.isinf(value) else f"{100 * value:.2g} %"
