"""The output of bench/accept/run."""

from __future__ import annotations

import math
from collections.abc import Mapping

from baseline import changes, cost_changes, show
from judgement import CLOSE, NEAR, Outcome, is_within, is_wrong, percent, record


def table_lines(outcomes: Mapping[str, Outcome], rights: Mapping[str, str]) -> list[str]:
    """A line a row, the verdict in capitals where it is wrong."""
    lines = [f"{'row':36} {'verdict':8} {'expected':>9} {'ratio':>7} {'gradients':>9} {'likely':>7} {'time':>7}  "
             "first root finding"]
    for key, outcome in outcomes.items():
        entry = record(outcome)
        verdict = outcome.verdict.upper() if is_wrong(outcome.verdict, rights[key]) else outcome.verdict
        expected = percent(outcome.error) if "ratio" in entry else "-"
        ratio = f"{float(entry['ratio']):.3g}x" if "ratio" in entry else "-"
        lines.append(f"{key:36} {verdict[:60]:8} {expected:>9} {ratio:>7} {show(entry, 'gradients'):>9} "
                     f"{show(entry, 'likely'):>7} {outcome.seconds:5.2f} s  {outcome.first or '-'}")
    return lines


def share(count: int, total: int) -> str:
    return f"{count} of {total}" + (f" ({100 * count / total:.0f} %)" if total else "")


def summary_lines(outcomes: Mapping[str, Outcome], rights: Mapping[str, str], seconds: float) -> list[str]:
    """How many rows are right, by what is asked of them."""
    found = [(rights[key], outcome) for key, outcome in outcomes.items()]
    ratios = [outcome.ratio for _, outcome in found if not math.isnan(outcome.ratio)]
    gradients = [ratio for _, outcome in found for ratio in outcome.gradients.values()]
    likely = [outcome.likely for _, outcome in found]
    lines = []
    for right, name in (("fails", "harmed models that fail"), ("passes", "sound models that pass")):
        judged = [outcome for wanted, outcome in found if wanted == right]
        lines.append(f"{name}: {share(sum(outcome.verdict == right for outcome in judged), len(judged))}")
    lines += [f"expected errors within {factor:g}x: {share(sum(is_within(ratio, factor) for ratio in ratios), len(ratios))}"
              for factor in (CLOSE, NEAR)]
    lines += [f"unknown errors: {sum(outcome.error is None for _, outcome in found if not math.isnan(outcome.ratio))}",
              f"gradients within {NEAR:g}x: {share(sum(is_within(ratio, NEAR) for ratio in gradients), len(gradients))}",
              f"likely extremes within {NEAR:g}x: {share(sum(near for near, _ in likely), sum(total for _, total in likely))}",
              f"tensors out of bounds: {sum(len(outcome.broken) for _, outcome in found)}",
              f"processor time {sum(outcome.seconds for _, outcome in found):.1f} s, largest peak "
              f"{max((outcome.mib for _, outcome in found), default=0):.0f} MiB, wall-clock time {seconds:.1f} s"]
    return lines


def print_outcomes(outcomes: Mapping[str, Outcome], rights: Mapping[str, str], seconds: float, quiet: bool) -> None:
    if not quiet:
        print("\n".join(table_lines(outcomes, rights)))
    for key, outcome in outcomes.items():
        for text in outcome.broken:
            print(f"{key}: out of bounds: {text}")
    print("\n".join(summary_lines(outcomes, rights, seconds)))


def print_changes(before: Mapping[str, Outcome], after: Mapping[str, Outcome]) -> None:
    """The differences of two binaries, a line each."""
    lines = [f"{key}: {text}" for key in after
             for text in (*changes(record(before[key]), record(after[key])), *cost_changes(before[key], after[key]))]
    print("\n".join(["== changes", *lines]) if lines else "== no change")


def print_differences(outcomes: Mapping[str, Outcome], expected: Mapping[str, Mapping]) -> None:
    """The differences from expected.json."""
    lines = [f"{key}: {text}" for key, outcome in outcomes.items() if key in expected
             for text in changes(expected[key], record(outcome))]
    print("\n".join(["== changes", *lines]) if lines else "== as expected.json says")
