"""The ranks of a training over gloo, each a process."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import tool
from trainings import PATIENCE

HERE = pathlib.Path(__file__).parent


def start(program: str, words: list[str], world: int, folder: pathlib.Path) -> list[subprocess.Popen]:
    """The processes of all ranks: `PROGRAM WORDS RANK WORLD FOLDER`."""
    paths = [str(HERE), str(tool.ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    return [subprocess.Popen([sys.executable, str(HERE / program), *words, str(rank), str(world), str(folder)],
                             env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for rank in range(world)]


def finish(processes: list[subprocess.Popen]) -> list[list[dict]]:
    """The alerts of each rank."""
    alerts = []
    for process in processes:
        output, errors = process.communicate(timeout=2 * PATIENCE)
        assert process.returncode == 0, errors
        # DeepSpeed's log goes there, too.
        alerts.append([json.loads(line) for line in output.splitlines() if line.startswith("{")])
    return alerts
