"""A monitor where its op library is not there, or is that of another PyTorch: one line."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from tool import ROOT  # noqa: E402

PROGRAM = """
import torch, mpopt
from mpopt.monitor import Monitor
try:
    Monitor(torch.nn.Linear(1, 1), record=None)
except mpopt.Error as error:
    print(error)
"""


def run(build):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    environment.pop("MPOPT_BUILD", None)
    if build is not None:
        environment["MPOPT_BUILD"] = str(build)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    line, = done.stdout.splitlines()
    return line


@pytest.mark.parametrize("named", [False, True])
def test_without_the_library(tmp_path, named):
    line = run(tmp_path if named else None)
    assert "is not there" in line and "MPOPT_BUILD" in line and "wheel" in line


def test_of_another_version(tmp_path):
    (tmp_path / "lib").mkdir()
    built = pathlib.Path(os.environ["MPOPT_BUILD"], "lib")
    for file in built.glob("libmpopt_torch.*"):
        shutil.copy(file, tmp_path / "lib" / file.name)
    (tmp_path / "lib" / "libmpopt_torch.version").write_text("1.2.3+cpu\n")
    line = run(tmp_path)
    assert "was built for PyTorch 1.2.3" in line and "install torch==1.2.3" in line


def test_a_library_that_cannot_be_loaded(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libmpopt_torch.so").write_text("no library")
    assert run(tmp_path)
