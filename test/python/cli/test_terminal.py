"""What shells and terminals see: completion, progress, colours, quiet."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest
from tool import MPOPT, ROOT, run_mpopt

MIXED = ROOT / "test/Tools/mpopt/Inputs/mixed.mlir"


def complete(*words):
    """What bash offers for the last word."""
    script = run_mpopt("--completion", "bash").stdout
    line = " ".join(f"'{word}'" for word in ("mpopt", *words))
    done = subprocess.run(
        ["bash", "-c", f"{script}\ncompopt() {{ :; }}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _mpopt; "
         "printf '%s\\n' \"${COMPREPLY[@]}\""], capture_output=True, text=True, timeout=20, cwd=ROOT)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


def test_bash_completes_every_option():
    named = set(re.findall(r"--[a-z0-9-]+", run_mpopt("--help").stdout))
    assert named - {"--help"} <= set(complete("--"))
    assert complete("--check", "--dump-r") == ["--dump-ranges"]


def test_bash_completes_actions():
    assert complete("che") == ["check"] and {"lint", "list-rules"} <= set(complete("li"))
    assert complete("check", "che") == []


def test_bash_completes_values():
    assert complete("--check", "--format", "s") == ["sarif"]
    assert set(complete("--precision", "auto")) == {"auto", "autocast-fp16", "autocast-bf16"}
    assert complete("--check", "READ") == ["README.md"]
    assert complete("--check", "-o", "READ") == ["README.md"]
    assert complete("--assume", "READ") == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_name_every_option(shell, tmp_path):
    script = run_mpopt("--completion", shell).stdout
    for option in complete("--"):
        assert option in script or f" -l {option[2:]} " in script
    # An apostrophe of a help text would end the script's quotes.
    assert script.count("'") % 2 == 0
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done.stderr


def test_help_by_topic():
    whole = run_mpopt("--help").stdout
    for topic, has, lacks in (("trained", "--optimizer", "--probe"), ("probed", "--ledger", "--optimizer"),
                              ("confirm", "--ledger", "--optimizer"), ("emit-mlir", "--dim", "--dump-ranges"),
                              ("precision", "--precision P", "--policy")):
        part = run_mpopt("--help", topic)
        assert part.returncode == 0 and has in part.stdout and lacks not in part.stdout, topic
        assert len(part.stdout) < len(whole)


@pytest.mark.parametrize(("variables", "coloured"), [
    ({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "0"}, False), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)])
def test_colour_in_a_log(variables, coloured):
    """A job's log is no terminal, and shows colours."""
    plain = {key: value for key, value in os.environ.items() if key not in ("FORCE_COLOR", "NO_COLOR")}
    done = subprocess.run([MPOPT, "check", MIXED, "--fail-on", "never"], capture_output=True, text=True, env={**plain, **variables}, check=True)
    assert ("\x1b[" in done.stdout) == coloured


def on_terminal(*arguments, stdin=None):
    """What mpopt writes to a terminal, standard output and error alike."""
    parent, child = pty.openpty()
    process = subprocess.Popen([MPOPT, *map(str, arguments)], stdin=stdin, stdout=child, stderr=child,
                               env={**os.environ, "TERM": "xterm", "NO_COLOR": ""})
    os.close(child)
    return process, parent


def read(parent, process, seconds=30):
    seen, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        if not select.select([parent], [], [], 0.1)[0]:
            if process.poll() is not None:
                break
            continue
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(parent)
    process.wait(10)
    return seen.decode()


def slow(*options):
    """A model from a pipe that its writer keeps waiting: a check of some seconds."""
    reader, writer = os.pipe()
    process, parent = on_terminal("--check", "-", "--config", "none", *options, stdin=reader)
    os.close(reader)
    time.sleep(2.6)
    os.write(writer, MIXED.read_bytes())
    os.close(writer)
    return read(parent, process)


def test_a_slow_check_shows_a_line_and_takes_it_back():
    text = slow("--color", "never")
    assert re.search(r"\rjudging - \.\.\. [12] s\x1b\[K", text)
    assert "\r\x1b[K" in text.split(" s\x1b[K")[-1]
    assert "judging" not in slow("--quiet")


def test_nothing_is_shown_where_it_is_quick_or_piped():
    assert "judging" not in read(*reversed(on_terminal("--check", MIXED)))
    assert "judging" not in run_mpopt("--check", MIXED).stderr


def test_colours():
    assert "\x1b[" in read(*reversed(on_terminal("--check", MIXED)))
    assert "\x1b[" not in read(*reversed(on_terminal("--check", MIXED, "--color", "never")))
    assert "\x1b[" not in run_mpopt("--check", MIXED).stdout
    assert "\x1b[" in run_mpopt("--check", MIXED, "--color", "always").stdout


def test_quiet_says_no_warnings(tmp_path):
    (tmp_path / "mpopt.toml").write_text('[[suppress]]\nop = "nosuch"\nreason = "r"\n')
    shutil.copy(MIXED, tmp_path / "model.mlir")
    assert "matches nothing" in run_mpopt("--check", tmp_path / "model.mlir").stderr
    done = run_mpopt("--check", tmp_path / "model.mlir", "--quiet", "--fail-on", "never")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
