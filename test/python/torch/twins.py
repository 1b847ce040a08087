"""What two models of one network are said to do, compared.

Findings are compared by rule and mp op, ranges by output. What differs is a set of
`Difference`s; Inputs/torchscript_twins.tsv lists those that an exporter makes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torchscript_import

#: mp ops that are one: the two front ends have their own.
SAME_KIND = {"softmax_cross_entropy": "cross_entropy", "gemm": "linear",
             "matmul": "linear"}

#: What rounds no more than products and sums do: bounds of their results do not
#: depend on how they are written.
LINEAR = {
    "add", "cast", "concat", "constant", "constant_of_shape", "conv", "conv_transpose",
    "div", "dropout", "einsum", "expand", "fill", "gather", "gemm", "identity", "linear",
    "matmul", "max_pool", "mul", "neg", "pad", "range", "reduce_sum", "relu", "reshape",
    "reverse", "shape", "slice", "split", "squeeze", "sub", "tile", "transpose",
    "unsqueeze",
}
FACTOR = {True: 1.01, False: 2.0}
#: Expected errors of outputs are estimates that are right to this factor.
EFFECT_FACTOR = 4.0
VERDICTS = ["fine", "warning", "error"]


@dataclass(frozen=True, order=True)
class Difference:
    #: Which of the two models has it: `torchscript` or `twin`; of a range, is wider.
    side: str
    #: `MP101 softmax`, `output 0`, `output 0 nan`; `effect 0`, where its expected
    #: error is larger, `effect 0 unknown`; `verdict`, where the worst finding is worse.
    what: str


@dataclass
class Said:
    findings: Counter
    outputs: list[dict]
    #: The expected error of each output, as far as it is known.
    effects: list[float | None] = field(default_factory=list)
    #: The severity of the worst finding; notes are fine.
    verdict: str = "fine"


@dataclass
class Comparison:
    differences: set[Difference] = field(default_factory=set)
    findings: int = 0
    #: Of ranges that both know: the largest factor.
    factor: float = 1.0


def said_of(checked: torchscript_import.Checked) -> Said:
    findings = Counter()
    for finding in checked.report["findings"]:
        kind = finding["op"]["kind"]
        findings[finding["rule"], SAME_KIND.get(kind, kind)] += 1
    tensors = checked.ranges["tensors"]
    errors = [effect["expected_error"] for effect in checked.report.get("effects", [])]
    severities = [finding["severity"] for finding in checked.report["findings"]
                  if finding["severity"] in VERDICTS]
    return Said(findings, [tensors[name] for name in checked.ranges["outputs"]],
                [None if error is None else float(error) for error in errors],
                max(["fine", *severities], key=VERDICTS.index))


def op_kinds(text: str) -> Counter:
    """How often each mp op occurs in IR."""
    return Counter(re.findall(r'^\s+(?:%\S+(?:, %\S+)* = )?"?mp\.(\w+)"?', text, re.M))


def factor_of(a: dict, b: dict) -> float:
    """By how much one of two ranges is larger than the other, or reaches farther;
    negative if it is the second."""
    def sizes(bounds: dict) -> tuple[float, float]:
        low, high = float(bounds["lo"]), float(bounds["hi"])
        return high - low, max(abs(low), abs(high))

    most = 1.0
    if (a["lo"], a["hi"]) == (b["lo"], b["hi"]):
        return most
    for x, y in zip(sizes(a), sizes(b)):
        if x == y:
            continue
        ratio = math.inf if not min(x, y) or math.isinf(max(x, y)) else max(x, y) / min(x, y)
        if ratio > abs(most):
            most = ratio if x > y else -ratio
    return most


def compare(torchscript: Said, twin: Said, linear: bool) -> Comparison:
    result = Comparison()
    ours, theirs = set(torchscript.findings), set(twin.findings)
    result.findings = len(ours & theirs)
    for side, only in (("torchscript", ours - theirs), ("twin", theirs - ours)):
        result.differences |= {Difference(side, " ".join(key)) for key in only}
    assert len(torchscript.outputs) == len(twin.outputs)
    for index, (a, b) in enumerate(zip(torchscript.outputs, twin.outputs)):
        factor = factor_of(a, b)
        if math.isfinite(factor):
            result.factor = max(result.factor, abs(factor))
        if abs(factor) > FACTOR[linear]:
            side = "torchscript" if factor > 0 else "twin"
            result.differences.add(Difference(side, f"output {index}"))
        for flag in ("nan", "posinf", "neginf"):
            if a[flag] != b[flag]:
                side = "torchscript" if a[flag] else "twin"
                result.differences.add(Difference(side, f"output {index} {flag}"))
    for index, (a, b) in enumerate(zip(torchscript.effects, twin.effects)):
        if (a is None) != (b is None):
            result.differences.add(
                Difference("torchscript" if a is None else "twin", f"effect {index} unknown"))
        elif a is not None and b is not None and max(a, b) > EFFECT_FACTOR * min(a, b):
            result.differences.add(Difference("torchscript" if a > b else "twin", f"effect {index}"))
    worse = VERDICTS.index(torchscript.verdict) - VERDICTS.index(twin.verdict)
    if worse:
        result.differences.add(Difference("torchscript" if worse > 0 else "twin", "verdict"))
    return result


@dataclass(frozen=True)
class Row:
    network: str
    twin: str
    #: `fp16`, `autocast-fp16`, or `*` for both.
    precision: str
    difference: Difference
    reason: str


def read_table(path: Path) -> list[Row]:
    rows = []
    for line in path.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        network, twin, precision, side, what, reason = line.split("\t")
        for one in what.split(", "):
            rows.append(Row(network, twin, precision, Difference(side, one), reason))
    return rows
