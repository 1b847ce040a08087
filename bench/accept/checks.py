"""Runs of mpopt over the rows of the table."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judgement import Outcome, first_root, judge_errors, judge_extremes, judge_gradients
from measure import EXCEEDED, once
from table import Model

# Each row is a process of its own; as many as the machine of CI has cores.
WORKERS = 2
# A row that takes longer has no verdict.
LIMIT = 60.0
# Exit statuses of mpopt --check.
VERDICTS = {0: "passes", 1: "fails"}


def command_line(binary: Path, model: Model, row: str, file: Path, folder: Path) -> list[str]:
    """The call for a row: its report and dumps go to `folder`."""
    command = [str(binary), "--check", str(file), "--format", "json", "-o", str(folder / "report.json"), *model.arguments(row, file)]
    if row == "train":
        return [*command, "--train", "--dump-gradients", str(folder / "gradients.json")]
    return [*command, "--precision", row, "--dump-ranges", str(folder / "ranges.json")]


def read_json(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8"))


def judge(model: Model, row: str, truth: Mapping, folder: Path, status: int) -> Outcome:
    """The outcome of a run that left its report in `folder`."""
    report = read_json(folder / "report.json")
    outcome = Outcome(VERDICTS[status], first_root(report["findings"]))
    if row == "train":
        judge_gradients(outcome, read_json(folder / "gradients.json")["parameters"], truth["gradients"])
        return outcome
    judge_errors(outcome, report["effects"], truth["outputs"])
    ranges, extremes = read_json(folder / "ranges.json"), truth["extremes"]
    if model.is_program:
        # PyTorch's names have no scope; only outputs are observed, in order.
        extremes = dict(zip(ranges["outputs"], extremes.values()))
    judge_extremes(outcome, ranges["tensors"], extremes)
    return outcome


def complaint(command: list[str], status: int) -> str:
    """Why there is no verdict, in a line."""
    if status == EXCEEDED:
        return f"takes over {LIMIT:.0f} s"
    again = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    lines = again.stderr.strip().splitlines()
    return f"exit {status}: {lines[-1] if lines else 'no message'}"


def check_row(binary: Path, model: Model, row: str, truth: Mapping, models: Path) -> Outcome:
    """One run of one row, whose file is made in `models` beforehand."""
    file = model.write(models, row)
    with tempfile.TemporaryDirectory(dir=models) as folder:
        command = command_line(binary, model, row, file, Path(folder))
        sample = once(command, True, LIMIT)
        if sample.status not in VERDICTS:
            outcome = Outcome(complaint(command, sample.status))
        else:
            try:
                outcome = judge(model, row, truth, Path(folder), sample.status)
            except (OSError, ValueError, KeyError) as error:
                outcome = Outcome(f"no report: {error}")
    outcome.seconds, outcome.mib = sample.processor, sample.peak_mib
    return outcome


def check_all(binary: Path, models: list[Model], truth: Mapping[str, Mapping], folder: Path) -> dict[str, Outcome]:
    """Outcomes by `MODEL ROW`. The rows of a model share its file, so they have one worker; what
    takes long begins first."""
    def check_model(model: Model) -> dict[str, Outcome]:
        return {f"{model.name} {row}": check_row(binary, model, row, truth[f"{model.name} {row}"], folder)
                for row in model.rows}

    with ThreadPoolExecutor(WORKERS) as pool:
        by_size = sorted(models, key=Model.bytes, reverse=True)
        found = {key: outcome for rows in pool.map(check_model, by_size) for key, outcome in rows.items()}
    return {key: found[key] for key in sorted(found)}
