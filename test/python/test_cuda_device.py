"""The checks for a CUDA device pass on one, and say so where there is none."""

import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("MPOPT_BUILD", "build"), "bin", "mpopt-check-device")


def test_checks():
    if not PROGRAM.exists():
        pytest.skip("built without nvcc")
    result = subprocess.run([PROGRAM, "--short", "--no-speed"], capture_output=True, text=True)
    without = result.stdout == "no CUDA device: nothing was checked\n"
    assert result.returncode == (77 if without else 0), result.stdout + result.stderr
