"""The worked example of docs/fp8.md: what is expected of a recipe is what its emulation shows."""

import os
import subprocess
import sys

import pytest
from tool import BUILD, ROOT

pytest.importorskip("torch", reason="torch is not in this environment")

EXAMPLE = ROOT / "docs" / "examples" / "fp8" / "recipes.py"


def test_expected_errors_are_those_of_a_step():
    done = subprocess.run([sys.executable, EXAMPLE, "delayed_cold", "rowwise"], capture_output=True, text=True, timeout=300,
                          env=os.environ | {"MPOPT_BUILD": str(BUILD), "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stderr
    cold, rows = (line.split() for line in done.stdout.splitlines()[1:])
    for name, expected, true, most, truly, *verdict in (cold, rows):
        assert float(true) / 1.5 < float(expected) < float(true) * 1.5 and float(truly) / 2.5 < float(most) < float(truly) * 2.5, name
        assert (verdict == ["sound"]) == (name == "rowwise")
