"""A monitor where its op library is missing, or is that of another PyTorch."""

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


def start(build, program=PROGRAM, **variables):
    """What a program prints and what it writes to standard error."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MPOPT_TORCH_OPS": ""} | variables
    environment.pop("MPOPT_BUILD", None)
    if build is not None:
        environment["MPOPT_BUILD"] = str(build)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def run(build):
    line, = start(build)[0].splitlines()
    return line


def build_with(folder, *patterns):
    """A build that has some of the libraries."""
    (folder / "lib").mkdir()
    for pattern in patterns:
        for file in pathlib.Path(os.environ["MPOPT_BUILD"], "lib").glob(pattern):
            shutil.copy(file, folder / "lib" / file.name)
    return folder


@pytest.mark.parametrize("named", [False, True])
def test_without_the_recorder(tmp_path, named):
    line = run(tmp_path if named else None)
    assert "is missing" in line and "MPOPT_BUILD" in line and "wheel" in line


TRAINS = """
import sys, torch, mpopt
from mpopt.monitor import Monitor
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
with Monitor(model, optimizer, record=sys.argv[1] if sys.argv[1:] else None, sinks=[]) as monitor:
    for step in range(20):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3)).sum() * (float("nan") if step == 12 else 1)
        loss.backward()
        optimizer.step()
        monitor.step(loss=loss)
    print(sorted({alert.rule for alert in monitor.alerts}))
Monitor(model, optimizer, record=None)
"""


@pytest.mark.parametrize("libraries, reason", [
    (("libmpopt_record.so", "libmpopt_torch.so"), "was built for PyTorch 1.2.3, and this is"),
    (("libmpopt_record.so",), "has no op library for PyTorch")], ids=["another version", "no library"])
def test_the_fallback_is_announced_once(tmp_path, libraries, reason):
    build = build_with(tmp_path, *libraries)
    if len(libraries) > 1:
        (tmp_path / "lib" / "libmpopt_torch.version").write_text("1.2.3+cpu\n")
    found, said = start(build, TRAINS)
    assert "MP501" in found
    line, = said.splitlines()
    assert line.startswith("mpopt: note: ") and reason in line and "run from Python" in line


def test_the_fallback_can_be_forced():
    built = os.environ["MPOPT_BUILD"]
    assert "MPOPT_TORCH_OPS says so" in start(built, TRAINS, MPOPT_TORCH_OPS="python")[1]
    line, = start(built, MPOPT_TORCH_OPS="other")[0].splitlines()
    assert "MPOPT_TORCH_OPS is 'other'" in line


def test_a_library_of_another_version_can_be_required(tmp_path):
    build_with(tmp_path, "libmpopt_record.so", "libmpopt_torch.so")
    (tmp_path / "lib" / "libmpopt_torch.version").write_text("1.2.3+cpu\n")
    line, = start(tmp_path, MPOPT_TORCH_OPS="library")[0].splitlines()
    assert "was built for PyTorch 1.2.3" in line


def test_a_pytorch_that_is_too_old(tmp_path):
    build_with(tmp_path, "libmpopt_record.so")
    line, = start(tmp_path, "import torch\ntorch.__version__ = '2.3.1'\n" + PROGRAM)[0].splitlines()
    assert "2.3.1 is older than 2.4" in line


def test_a_library_that_cannot_be_loaded(tmp_path):
    build_with(tmp_path, "libmpopt_record.so")
    (tmp_path / "lib" / "libmpopt_torch.so").write_text("no library")
    found, said = start(tmp_path, TRAINS)
    assert "MP501" in found and "libmpopt_torch.so" in said and "run from Python" in said
