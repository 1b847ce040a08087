"""The build under test, and how tests run its tool."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("MPOPT_BUILD", ROOT / "build")).resolve()
BIN = BUILD / "bin"
MPOPT = BIN / "mpopt"

# The Python package finds its libraries there.
os.environ["MPOPT_BUILD"] = str(BUILD)


def run_mpopt(*arguments: str | os.PathLike, timeout: float = 120,
              **options) -> subprocess.CompletedProcess[str]:
    """mpopt with these arguments; `options` are those of subprocess.run."""
    return subprocess.run([MPOPT, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, **options)


def read_ranges(model: os.PathLike, *options: str | os.PathLike) -> dict:
    """What `--dump-ranges` says of a model, with --precision as-is unless `options` say
    otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "ranges.json")
        precision = () if "--precision" in options else ("--precision", "as-is")
        done = run_mpopt("--check", model, *precision, "--fail-on", "never", "-o", os.devnull,
                         "--dump-ranges", file, *options)
        assert done.returncode == 0, done.stderr
        return json.loads(file.read_text())
