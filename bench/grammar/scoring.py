"""Verdicts of mpopt on a set beside the truth."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import draws
from judgement import CLOSE, NEAR, distance, first_root, is_within, number, ratio_of

PRECISIONS = ("fp16", "bf16")
VERDICTS = {0: "passes", 1: "fails"}


@dataclass
class Said:
    """One run: the verdict at the default --fail-on, and the expected error of each output, None if it is unknown."""

    model: str
    truth: dict
    verdict: str
    seconds: float
    errors: dict[str, float | None] = field(default_factory=dict)
    first: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.verdict != {"harmed": "fails", "sound": "passes"}.get(self.truth["verdict"], self.verdict)

    def ratios(self) -> dict[str, float]:
        """Ratios of finite expected errors of outputs to the true ones, where these are finite and not 0."""
        true = {name: o["error"] for name, o in self.truth["outputs"].items() if not o["infinite"] and o["error"]}
        return {name: ratio_of(said, true[name]) for name, said in self.errors.items()
                if name in true and said is not None and said < float("inf")}

    def is_far(self) -> bool:
        return any(not is_within(ratio, NEAR) for ratio in self.ratios().values())


def ask(mpopt: str, folder: Path, truth: dict, precision: str) -> Said:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.json")
        command = [mpopt, "--check", str(folder / "model.onnx"), "--precision", precision, "--format", "json", "-o", report]
        for name, value in truth["inputs"].items():
            command += draws.Input(**value).options(name)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said = Said(folder.name, truth[precision], VERDICTS.get(process.returncode, "crashes"), usage.ru_utime + usage.ru_stime)
        if said.verdict in VERDICTS.values():
            content = json.loads(report.read_text(encoding="utf-8"))
            said.errors = {e["output"]: number(e.get("expected_error")) for e in content.get("effects") or []}
            said.first = first_root(content["findings"])
        return said


def share(count: int, total: int) -> str:
    return f"{count} of {total}" + (f" ({100 * count / total:.1f} %)" if total else "")


def totals(runs: list[Said]) -> list[str]:
    """The cells of a row of the table."""
    def failed(kind: str) -> str:
        asked = [run for run in runs if run.truth["verdict"] == kind]
        return share(sum(run.verdict == "fails" for run in asked), len(asked))
    ratios = [ratio for run in runs for ratio in run.ratios().values()]
    known = [(error, run.truth["outputs"][name]["infinite"]) for run in runs for name, error in run.errors.items()
             if name in run.truth["outputs"] and error is not None]
    return [failed("harmed"), failed("sound"), str(sum(run.verdict == "crashes" for run in runs)),
            share(sum(error is None for run in runs for error in run.errors.values()), sum(len(run.errors) for run in runs)),
            *(share(sum(is_within(ratio, factor) for ratio in ratios), len(ratios)) for factor in (CLOSE, NEAR)),
            f"{sum(error == float('inf') and not seen for error, seen in known)}, "
            f"{sum(error < float('inf') and seen > 1 for error, seen in known)}", f"{sum(run.seconds for run in runs):.1f} s"]


COLUMNS = ("harmed failed", "sound failed", "crashes", "unknown", "within 2x", "within 4x", "Inf said only, seen only",
           "processor")


def say(error: float | None) -> str:
    return "unknown" if error is None else f"{error:.3g}"


def describe(run: Said, truth: dict, precision: str) -> str:
    outputs = "; ".join(f"{name} {say(run.errors.get(name))} true {'inf' if o['infinite'] else say(o['error'])} "
                        f"(median {say(o['median'])})" for name, o in run.truth["outputs"].items())
    return f"{run.model} {precision} {run.truth['verdict']} {run.verdict} [{run.first}] {outputs} | {' '.join(truth['layers'])}"


def changed(a: Said, b: Said) -> bool:
    """Another verdict, another set of known errors, or one that moved by a factor of 2."""
    before, after = a.ratios(), b.ratios()
    return a.verdict != b.verdict or before.keys() != after.keys() or any(
        not is_within(after[name] / before[name], CLOSE) for name in before if before[name] and after[name])


def print_misses(runs: list[Said], truths: dict[str, dict], precision: str) -> None:
    for title, chosen in (("harmed that pass", [r for r in runs if r.is_wrong and r.truth["verdict"] == "harmed"]),
                          ("sound that fail", [r for r in runs if r.is_wrong and r.truth["verdict"] == "sound"]),
                          ("errors off by more than 4x", sorted((r for r in runs if r.is_far()), key=lambda r: -max(
                              map(distance, r.ratios().values()))))):
        print(f"\n{title} ({precision}):", *(describe(run, truths[run.model], precision) for run in chosen), sep="\n  ")


def score(folder: Path, binaries: list[str], misses: bool, brief: bool) -> None:
    truths = {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*/truth.json"))}
    runs = {(binary, p): [ask(binary, folder / name, truth, p) for name, truth in truths.items()]
            for p in PRECISIONS for binary in binaries}
    print("| binary | precision | " + " | ".join(COLUMNS) + " |\n" + "| --- " * (len(COLUMNS) + 2) + "|")
    for (binary, precision), rows in runs.items():
        print(f"| {Path(binary).name} | {precision} | " + " | ".join(totals(rows)) + " |")
    for precision in PRECISIONS:
        if misses:
            print_misses(runs[binaries[-1], precision], truths, precision)
        if len(binaries) == 2 and not brief:
            for a, b in zip(runs[binaries[0], precision], runs[binaries[1], precision], strict=True):
                if changed(a, b):
                    print(f"- {describe(a, truths[a.model], precision)}\n+ {describe(b, truths[b.model], precision)}")
