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
# Models of other projects, where they are, and zoos that ../shared/zoo/make_zoo.py made.
SHARED = Path(os.environ.get("MPOPT_MODELS", ROOT.parent / "shared" / "models"))
ZOOS = [Path(folder) for folder in os.environ.get("MPOPT_ZOO", "").split(":") if folder]
LLVM = Path(os.environ.get("LLVM_ROOT", "/usr/lib/llvm-22"))

# The Python package finds its libraries there.
os.environ["MPOPT_BUILD"] = str(BUILD)


def run_mpopt(*arguments: str | os.PathLike, timeout: float = 120,
              **options) -> subprocess.CompletedProcess[str]:
    """mpopt with these arguments; `options` are those of subprocess.run."""
    return subprocess.run([MPOPT, *map(str, arguments)], capture_output=True, text=True,
                          timeout=timeout, **options)


def read_ranges(model: str | os.PathLike, *options: str | os.PathLike,
                timeout: float = 120) -> dict:
    """What `--dump-ranges` says of a model under `options`; of the model as it is unless
    they have a --precision."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "ranges.json")
        precision = () if "--precision" in options else ("--precision", "as-is")
        done = run_mpopt("--check", model, *precision, "--fail-on", "never", "-o", os.devnull,
                         "--dump-ranges", file, *options, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return json.loads(file.read_text())


def list_ops() -> set[str]:
    """The ops of the dialect, by their records: `mp.add` and so on."""
    return set(list_op_classes().values())


def list_op_classes() -> dict[str, str]:
    """The same by the names of their classes: `AddOp`."""
    ops = {}
    for family in (ROOT / "include/mpopt/Dialect/Ops").glob("*Ops.td"):
        done = subprocess.run(
            [LLVM / "bin" / "llvm-tblgen", "--dump-json", f"-I{LLVM / 'include'}",
             f"-I{ROOT / 'include'}", f"-I{ROOT}", family],
            capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        records = json.loads(done.stdout)
        ops |= {name.removeprefix("MP_"): f"mp.{records[name]['opName']}" for name in records["!instanceof"]["Op"]
                if records[name]["opDialect"]["def"] == "MP_Dialect"}
    return ops
