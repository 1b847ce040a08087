"""What `mpopt lint` writes: never over a script that it reads, whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest
from test_lint_command import FAULTY, lint, refused
from tool import ROOT


@pytest.fixture
def folder(tmp_path):
    """A script under several names."""
    (tmp_path / "train.py").write_text(FAULTY)
    (tmp_path / "link.py").symlink_to("train.py")
    os.link(tmp_path / "train.py", tmp_path / "hard.py")
    (tmp_path / "sub").mkdir()
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("mode", ["", "--fix", "--diff", "--format=json"])
@pytest.mark.parametrize("words", [
    "train.py -o train.py", "train.py -o ./sub/../train.py", "train.py -o link.py", "train.py -o hard.py",
    "link.py -o train.py", "sub train.py -o train.py", ". -o train.py", "none.py -o none.py"])
def test_no_script_is_written_over(words, mode, folder):
    before = contents(folder)
    done = lint(*words.split(), *mode.split(), cwd=folder)
    refused(done, "-o: '")
    assert "would overwrite the script '" in done.stderr and done.stdout == "" and contents(folder) == before


def test_standard_output_is_a_script(folder):
    before = contents(folder)
    with open(folder / "train.py", "ab") as out:
        done = subprocess.run([sys.executable, "-m", "mpopt.lint", "train.py"], cwd=folder, stdout=out,
                              stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 2 and b"would overwrite" in done.stderr and contents(folder) == before


@pytest.mark.parametrize("target", ["report.txt", "sub/report.txt"])
def test_links_are_written_through(target, folder):
    (folder / "out").symlink_to(target)
    for _ in range(2):  # The target is made, and then written anew.
        assert lint("train.py", "-o", "out", cwd=folder).returncode == 1
        assert (folder / "out").is_symlink() and "MP721" in (folder / target).read_text()
    assert not list(folder.rglob("*.tmp"))


def test_fix_writes_through_a_link(folder):
    assert lint("link.py", "--fix", cwd=folder).returncode == 0
    assert (folder / "link.py").is_symlink() and "unscale_" in (folder / "train.py").read_text()


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.symlink_to(path.name)])
def test_what_is_no_file(make, folder):
    make(folder / "out")
    refused(lint("train.py", "-o", "out", cwd=folder), "cannot write 'out': ")
    assert not list(folder.rglob("*.tmp"))


def test_devices_and_pipes(folder):
    assert lint("train.py", "-o", "/dev/null", cwd=folder).returncode == 1
    assert "MP721" in lint("train.py", "-o", "/dev/stdout", cwd=folder).stdout
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert lint("train.py", "-o", "pipe", cwd=folder).returncode == 1
    assert b"MP721" in os.read(reader, 1 << 16)
    os.close(reader)


def test_a_full_disk_leaves_the_file(folder):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    (folder / "out").write_text("before")
    refused(lint("train.py", "-o", "out", cwd=folder, preexec_fn=limit), "cannot write 'out': File too large")
    assert (folder / "out").read_text() == "before" and not list(folder.rglob("*.tmp"))
