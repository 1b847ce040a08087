"""What mpopt expects of a stack (stack_table.py) beside what PyTorch measures.

Errors are of the output under torch.autocast on the CPU, the greatest difference over the greatest
value; gradients are root mean squares of parameters by autograd. Both are of one batch. An
expected error that is unknown and a gradient that is missing count as wrong. A parameter whose
gradient is below 1e-6 of the largest has none but for roundings (the bias of a key), and is
left out.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from stack_table import Stack, Task

PRECISIONS = {"autocast-fp16": torch.float16, "autocast-bf16": torch.bfloat16}
#: A factor, as a binary order.
NEAR = 2
#: A stack whose error is below is sound: it must not fail.
SOUND = 0.015
#: The share of the largest gradient below which there are only roundings.
ROUNDING = 1e-6
SECONDS_TO_WAIT = 900


@dataclass
class Error:
    """Of one output in one precision; `said` is None where it is unknown, "inf" where it is infinite."""

    true: float
    said: float | str | None
    fails: bool

    @property
    def off(self) -> float:
        """Binary orders between what is expected and what is true."""
        return orders(None if isinstance(self.said, str) else self.said, self.true)

    @property
    def is_near(self) -> bool:
        return abs(self.off) <= NEAR

    @property
    def is_false_alarm(self) -> bool:
        return self.fails and self.true < SOUND


@dataclass
class Measured:
    name: str
    group: str
    layers: int
    variant: str
    errors: dict[str, Error]
    #: By parameter: binary orders between what is expected and what is true.
    gradients: dict[str, float]
    #: Processor time of all runs of mpopt together.
    seconds: float
    messages: list[str] = field(default_factory=list)

    @property
    def near_gradients(self) -> int:
        return sum(abs(off) <= NEAR for off in self.gradients.values())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def from_json(row: dict[str, Any]) -> Measured:
    errors = {precision: Error(**error) for precision, error in row["errors"].items()}
    return Measured(**row | {"errors": errors})


def orders(said: float | None, true: float) -> float:
    return math.log2(said / true) if said and true > 0 and math.isfinite(said) else math.inf


#
# What is true
#


@dataclass
class Truth:
    errors: dict[str, float]
    #: Root mean squares, by the names of parameters that have a gradient.
    gradients: dict[str, float]


def measure_errors(task: Task) -> dict[str, float]:
    with torch.no_grad():
        exact = task(*task.inputs)
        errors = {}
        for precision, dtype in PRECISIONS.items():
            with torch.autocast("cpu", dtype=dtype):
                rounded = task(*task.inputs).float()
            errors[precision] = ((exact - rounded).abs().max() / exact.abs().max()).item()
    return errors


def measure_gradients(task: Task) -> dict[str, float]:
    task(*task.inputs, target=task.target).backward()
    return {name: parameter.grad.square().mean().sqrt().item()
            for name, parameter in task.named_parameters() if parameter.grad is not None}


@dataclass
class Files:
    """Programs of a task for a check and for a training step, and what is true of it."""

    check: Path
    train: Path
    truth: Path

    @classmethod
    def of(cls, folder: Path, name: str) -> Files:
        return cls(folder / f"{name}.check.pt2", folder / f"{name}.train.pt2", folder / f"{name}.json")

    def write(self, task: Task) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.export.save(torch.export.export(task, task.inputs), str(self.check))
            torch.export.save(torch.export.export(task, task.inputs, {"target": task.target}), str(self.train))
        truth = Truth(measure_errors(task), measure_gradients(task))
        self.truth.write_text(json.dumps(asdict(truth)))  # Last: it says that the others are whole.

    def read(self) -> Truth:
        return Truth(**json.loads(self.truth.read_text()))


#
# What is expected
#


def processor_seconds() -> float:
    """Of all processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_tool(binary: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary, "--check", *map(str, arguments), "--fail-on", "never"], capture_output=True,
                          text=True, timeout=SECONDS_TO_WAIT)


def expect_error(binary: Path, model: Path, precision: str, true: float) -> tuple[Error, str]:
    """The second is what mpopt complains of."""
    done = run_tool(binary, model, "--precision", precision, "--format", "json")
    if done.returncode:
        return Error(true, None, False), f"status {done.returncode}: {done.stderr.strip()}"
    report = json.loads(done.stdout)
    fails = any(finding["severity"] in ("warning", "error") and finding["certainty"] in ("certain", "likely")
                for finding in report["findings"])
    said = report["effects"][0]["expected_error"]
    return Error(true, said if said in (None, "inf") else float(said), fails), done.stderr.strip()


def expect_gradients(binary: Path, model: Path, folder: Path) -> tuple[dict[str, float], str]:
    file = folder / "gradients.json"
    done = run_tool(binary, model, "--train", "--dump-gradients", file, "--quiet", "-o", os.devnull)
    if done.returncode:
        return {}, f"status {done.returncode}: {done.stderr.strip()}"
    said = json.loads(file.read_text())["parameters"]
    return {name: float(gradient["rms"]) for name, gradient in said.items()}, done.stderr.strip()


def compare_gradients(said: dict[str, float], true: dict[str, float]) -> dict[str, float]:
    least = ROUNDING * max(true.values(), default=0)
    return {name: orders(said.get(name), rms) for name, rms in true.items() if rms > least}


def measure(stack: Stack, layers: int, variant: str, binary: Path, cache: Path | None = None) -> Measured:
    """Programs and truths that are in the cache are taken from there."""
    with tempfile.TemporaryDirectory() as folder:
        files = Files.of(cache or Path(folder), f"{stack.name}-{layers}-{variant}")
        if not files.truth.exists():
            files.write(stack.build(layers, variant))
        truth, messages, errors = files.read(), [], {}
        start = processor_seconds()
        for precision, true in truth.errors.items():
            errors[precision], message = expect_error(binary, files.check, precision, true)
            messages.append(message)
        said, message = expect_gradients(binary, files.train, Path(folder))
        return Measured(stack.name, stack.group, layers, variant, errors, compare_gradients(said, truth.gradients),
                        processor_seconds() - start, sorted({*messages, message} - {""}))


#
# How much of it is right
#


@dataclass
class Score:
    """Counts over stacks."""

    errors: int = 0
    near_errors: int = 0
    unknown: int = 0
    sound: int = 0
    alarms: int = 0
    gradients: int = 0
    near_gradients: int = 0

    @classmethod
    def of(cls, rows: Iterable[Measured]) -> Score:
        score = cls()
        for row in rows:
            errors = row.errors.values()
            score.errors += len(errors)
            score.near_errors += sum(error.is_near for error in errors)
            score.unknown += sum(error.said is None for error in errors)
            score.sound += sum(error.true < SOUND for error in errors)
            score.alarms += sum(error.is_false_alarm for error in errors)
            score.gradients += len(row.gradients)
            score.near_gradients += row.near_gradients
        return score

    @property
    def is_good(self) -> bool:
        """Errors 95 %, gradients 85 %, no alarm, 5 % unknown."""
        return (self.near_errors >= 0.95 * self.errors and self.near_gradients >= 0.85 * self.gradients
                and self.alarms == 0 and self.unknown <= 0.05 * self.errors)

    def __str__(self) -> str:
        return (f"errors within 4x {share(self.near_errors, self.errors)}, "
                f"gradients within 4x {share(self.near_gradients, self.gradients)}, "
                f"sound stacks that fail {self.alarms}/{self.sound}, unknown {self.unknown}/{self.errors}")


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / max(whole, 1):.0f} %)"
