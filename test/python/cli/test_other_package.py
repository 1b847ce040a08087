"""PyPI's `mpopt`, another project, in the same environment; what installs mpopt by its name."""

import os
import shutil
import subprocess
import sys

import pytest
from tool import ROOT

from mpopt import _version


@pytest.fixture
def site(tmp_path):
    """A folder of packages that has this one."""
    shutil.copytree(ROOT / "python" / "mpopt", tmp_path / "mpopt", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run(site, *arguments):
    variables = {key: value for key, value in os.environ.items() if key not in ("MPOPT", "MPOPT_BUILD", "PYTHONPATH")}
    return subprocess.run([sys.executable, *arguments], cwd=site, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("is_there", [False, True])
def test_the_other_package_is_named(site, is_there):
    (site / "mpopt_precision-0.3.0.dist-info").mkdir()
    if is_there:
        (site / "mpopt-1.0.3.dist-info").mkdir()
    found = _version.other_package(site)
    assert (found is not None) == is_there
    imported = run(site, "-c", "import mpopt")
    assert imported.returncode == 0
    assert ("another package named 'mpopt'" in imported.stderr) == is_there
    ran = run(site, "-W", "ignore", "-m", "mpopt", "--version")
    if is_there:
        assert ran.returncode == 2 and "pip uninstall mpopt" in ran.stderr
        assert len(ran.stderr.splitlines()) == 1


def test_a_package_without_its_binary_has_the_status_of_an_error(site):
    """1 would say that there are findings."""
    ran = run(site, "-m", "mpopt", "check", "model.onnx")
    assert ran.returncode == 2 and "no mpopt binary" in ran.stderr and len(ran.stderr.splitlines()) == 1


def test_nothing_installs_it_by_name():
    listed = subprocess.run(["git", "grep", "-nE", r"pip install [^`]*\bmpopt\b([^-_./]|$)", "--", ".", ":!test"], cwd=ROOT,
                            capture_output=True, text=True, check=False).stdout
    assert listed == ""
    action = (ROOT / "action.yml").read_text()
    assert 'default: mpopt\n' not in action and "*.whl)" in action
