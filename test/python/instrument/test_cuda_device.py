"""The checks for a CUDA device pass on one, and say so where there is none."""

import shutil
import subprocess

import pytest
from tool import BIN, ROOT

PROGRAM = BIN / "mpopt-check-device"


@pytest.mark.gpu
def test_checks():
    if not PROGRAM.exists():
        pytest.skip("built without nvcc")
    result = subprocess.run([PROGRAM, "--short", "--no-speed"], capture_output=True, text=True)
    without = result.stdout.startswith("no CUDA device: nothing was checked (")
    assert result.returncode == (77 if without else 0), result.stdout + result.stderr


KERNELS = ROOT / "kernels"


@pytest.mark.parametrize("source", sorted(KERNELS.glob("lib/*.cpp")), ids=lambda path: path.stem)
def test_gcc_takes_the_statistics(source):
    """scripts/check-device builds with nvcc and g++ alone."""
    compiler = shutil.which("g++")
    if not compiler:
        pytest.skip("no g++")
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", "-Wno-psabi", f"-I{KERNELS / 'include'}",
         f"-I{KERNELS / 'lib'}", source], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
