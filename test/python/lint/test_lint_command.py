"""`mpopt lint` as a command: how it finds Python, what it reads, what it writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lint_cases import CASES
from tool import BIN, BUILD, MPOPT, ROOT

FAULTY = """\
import torch
scaler = torch.cuda.amp.GradScaler()


def step(model, optimizer, loss):
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""


def lint(*arguments, command=(sys.executable, "-m", "mpopt.lint"), **options) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **options.pop("env", {})}
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env=environment, errors="surrogateescape", **options)


def refused(done: subprocess.CompletedProcess[str], text: str) -> None:
    """One line, status 2, nothing else."""
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("mpopt: error: ") and done.stderr.count("\n") == 1, done.stderr
    assert text in done.stderr, done.stderr


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(FAULTY)
    return path


# --- Settings of a project ---


@pytest.mark.parametrize("file, section", [("mpopt.toml", "lint"), ("pyproject.toml", "tool.mpopt.lint")])
def test_settings_select_rules(script, file, section):
    settings = script.parent / file
    settings.write_text(f'[{section}]\nselect = ["MP70", "MP721"]\nignore = "MP721"\nfail-on = "error"\n')
    done = lint("train.py", cwd=script.parent)
    assert "MP721" not in done.stdout and done.returncode == 0, done.stdout + done.stderr
    assert "MP721" in lint(script, "--select", "MP721", "--ignore", "MP701").stdout
    assert "MP721" in lint(script, "--config", "none").stdout
    settings.write_text(f'[{section}]\nselekt = "MP7"\n')
    refused(lint(script.parent), f"{file}: [lint] has no 'selekt'")
    settings.write_text(f'[{section}]\nfail-on = "often"\n')
    refused(lint(script), "is one of note, warning, error, never")


def test_python_without_a_reader_of_toml(script, tmp_path):
    """Python 3.10 has none."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "tomllib.py").write_text("raise ImportError('no tomllib')")
    old = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "old"), str(ROOT / "python")])}
    (tmp_path / "train.toml").write_text("[training]\nmixed_precision_param = 'float16'\n")
    assert "MP721" in lint(script, env=old).stdout
    refused(lint(tmp_path / "train.toml", env=old), "Python 3.11")


# --- The forms of the report ---


def test_text(script):
    done = lint(script)
    assert done.returncode == 1
    assert f"{script}:7:5: error: " in done.stdout and "[MP721 clip-without-unscale]" in done.stdout
    assert "1 error, 0 warnings, 1 note in 1 file of 1; 2 fixable with --fix" in done.stdout


def test_json(script):
    report = json.loads(lint(script, "--format", "json").stdout)
    assert report["schema"] == "mpopt-lint/1"
    first, second = report["findings"]
    assert first["rule"] == "MP763" and first["severity"] == "note"
    assert set(second) == {"rule", "name", "severity", "file", "cell", "line", "column", "message", "fix"}
    assert (second["rule"], second["line"], second["column"]) == ("MP721", 7, 5)
    assert second["fix"] == "insert scaler.unscale_(optimizer)"


def test_sarif(script):
    run, = json.loads(lint(script, "--format", "sarif").stdout)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["MP721", "MP763"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] in (2, 7)
        assert place["artifactLocation"]["uri"] == f"file://{script}"


def test_github(script):
    done = lint("train.py", "--format", "github", cwd=script.parent)
    assert "::error file=train.py,line=7,col=5,title=MP721 clip-without-unscale::" in done.stdout
    assert "::notice file=train.py,line=2," in done.stdout


def test_output_file(script, tmp_path):
    out = tmp_path / "out.json"
    assert lint(script, "--format", "json", "-o", out).stdout == ""
    assert json.loads(out.read_text())["schema"] == "mpopt-lint/1"
    refused(lint(script, "-o", tmp_path / "none/out"), "cannot write '")


# --- Which findings count ---


def test_status(script, tmp_path):
    clean = tmp_path / "clean.py"
    clean.write_text("import torch\n")
    assert lint(clean).returncode == 0
    assert lint(script, "--ignore", "MP72").returncode == 0
    assert lint(script, "--ignore", "MP72", "--fail-on", "note").returncode == 1
    assert lint(script, "--fail-on", "never").returncode == 0
    assert "MP763" not in lint(script, "--select", "clip-without-unscale,MP70").stdout
    refused(lint(script, "--select", "MP999"), "no rule 'MP999'")


def test_noqa(script):
    for comment, silent in (("# noqa: MP721", True), ("# noqa", True), ("# noqa: MP7", True), ("# noqa:E501,MP721", True),
                            ("# noqa: MP722", False), ("# noqa: E501", False), ("# nothing", False)):
        script.write_text(FAULTY.replace("1.0)", f"1.0)  {comment}"))
        found = "MP721" in lint(script, "--select", "MP721", "--format", "json").stdout
        assert found != silent, comment


# --- Fixes ---


def test_diff_and_fix(script):
    done = lint(script, "--diff")
    assert done.returncode == 1 and script.read_text() == FAULTY
    assert "+    scaler.unscale_(optimizer)\n" in done.stdout
    assert '+scaler = torch.amp.GradScaler("cuda")\n' in done.stdout
    assert lint(script, "--fix", "--diff").stdout == done.stdout and script.read_text() == FAULTY
    done = lint(script, "--fix")
    assert done.returncode == 0 and "no findings" in done.stdout
    fixed = script.read_text()
    assert fixed == FAULTY.replace("torch.cuda.amp.GradScaler()", 'torch.amp.GradScaler("cuda")').replace(
        "    torch.nn", "    scaler.unscale_(optimizer)\n    torch.nn")
    assert lint(script, "--fix").returncode == 0 and script.read_text() == fixed
    assert lint(script, "--diff").stdout == ""


def test_fix_keeps_line_ends_and_mode(script):
    script.write_bytes(FAULTY.replace("\n", "\r\n").encode())
    script.chmod(0o640)
    lint(script, "--fix")
    assert script.read_bytes().count(b"\r\n") == script.read_bytes().count(b"\n") == FAULTY.count("\n") + 1
    assert script.stat().st_mode & 0o777 == 0o640


# --- What is read ---


def test_folder(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/train.py").write_text(FAULTY)
    (tmp_path / "a/.hidden").mkdir()
    (tmp_path / "a/.hidden/train.py").write_text(FAULTY)
    (tmp_path / "a/notes.txt").write_text("torch")
    (tmp_path / "a/other.py").write_text("this is no Python, and no training script")
    done = lint(tmp_path, "--format", "json")
    assert done.returncode == 1 and done.stderr == ""
    assert {finding["file"] for finding in json.loads(done.stdout)["findings"]} == {str(tmp_path / "a/train.py")}


def test_many_files(tmp_path):
    for index in range(8):
        (tmp_path / f"train{index}.py").write_text(FAULTY)
    (tmp_path / "train3.py").write_text("import torch\nx = = 1\n")
    done = lint(tmp_path, "--format", "json", "--jobs", 2)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "train3.py: line 2 is not valid Python" in done.stderr
    files = [finding["file"] for finding in json.loads(done.stdout)["findings"]]
    assert files == sorted(files) and len(set(files)) == 7


def test_standard_input():
    done = lint("-", input=FAULTY)
    assert done.returncode == 1 and "-:7:5: error" in done.stdout
    refused(lint("-", "--fix", input=FAULTY), "--fix needs a file")


@pytest.mark.parametrize("data, reason", [
    (b"import torch\nx = = 1\n", "line 2 is not valid Python"),
    (b"import torch\nx = 'a\n", "is not valid Python"),
    (b"import torch\ndef f():\nreturn 1\n", "is not valid Python"),
    (b"import torch\nx = '\xff'\n", "line 2 is not UTF-8"),
    (b"# coding: nowhere\n", "unknown encoding"),
    (b"import torch\0\n", "zero bytes"),
    (b"x = " + b"(" * 5000 + b")" * 5000, "nests deeper"),
    (b"x = " + b"[" * 5000, "nests deeper"),
    (b"x = " + b"-" * 100000 + b"1", "nests deeper"),
    (b"x = " + b"1 + " * 100000 + b"1", "nests deeper"),
    (b"x = " + b"a." * 100000 + b"b", "nests deeper"),
    (b"x = " + b"1 if a else " * 10000 + b"2", "nests deeper"),
    (b"if a:\n  pass\n" + b"elif a:\n  pass\n" * 5000, "nests deeper"),
    (b"x = " + b"f()" + b"()" * 20000, "nests deeper"),
    (b"x = f'{" + b"1 + " * 5000 + b"1}'", "nests deeper"),
    (b"# " + b"x" * (9 << 20), "larger than 8 MB"),
])
def test_bad_scripts(data, reason, tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(data)
    done = lint(path)
    refused(done, reason)
    assert done.stdout == ""
    refused(lint(path, "--fix"), reason)
    assert path.read_bytes() == data


@pytest.mark.parametrize("data", [
    b"", b"\n", b"\xef\xbb\xbfimport torch\n", "# coding: latin-1\nx = 'ä'\n".encode("latin-1"),
    b"x = " + b"1 + " * 1000 + b"1\n", b"x = [" + b"-1.5, " * 20000 + b"]\n", b"x = " + b"(" * 150 + b"1" + b")" * 150,
    b"x = " + b"'a' " * 100000, b"import torch\r\nx = 1\r\n", b"match x:\n  case [1, *_]:\n    pass\n", b"async def f():\n  async with g(): pass\n",
    b"print(f'{x!r:>{width}} {y=}')\n", b"x = lambda *a, k=1, **b: (yield)\n", b"del (a, b[0]), c\n",
    b"def f(a, /, b, *, c): global d; d = 1\n", b"class A(B, metaclass=C): x: int; y = x = 1\n",
    b"for a, *b in c: pass\nelse: pass\nwhile x: break\n", b"try: pass\nexcept* E as e: pass\nfinally: pass\n"])
def test_odd_scripts(data, tmp_path):
    path = tmp_path / "train.py"
    path.write_bytes(data)
    done = lint(path)
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_files(tmp_path):
    refused(lint(tmp_path / "none.py"), "none.py: cannot be read: No such file or directory")
    refused(lint("/dev/null"), "/dev/null: is a device, not a file")
    refused(lint(), "no script given")
    refused(lint("--never", "x.py"), "unrecognized arguments: --never")
    refused(lint("--format", "html", "x.py"), "--format")
    refused(lint("--jobs", "-1", "x.py"), "--jobs")


def test_scripts_are_not_executed(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(f"import torch\nopen({str(tmp_path / 'made')!r}, 'w')\nraise SystemExit(3)\n")
    assert lint(path).returncode == 0
    assert not (tmp_path / "made").exists()


def test_recursion_of_a_script_ends(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import torch\ndef f(x):\n  return g(f(x))\ndef g(x):\n  return f(g(x))\nf(1)\n"
                    "class A(A):\n  def m(self): return self.m()\nA().m()\n"
                    + "".join(f"def h{i}(x): return h{i + 1}(x) + h{i + 1}(x) + h{i + 1}(x)\n" for i in range(40))
                    + "def h40(x): return x\nh0(1)\n")
    assert lint(path).returncode == 0


# --- The hand-over ---


def run_tool(*arguments, **environment) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items()
             if key not in ("MPOPT_PYTHON", "PYTHONPATH", "MPOPT_BUILD")}
    return subprocess.run([MPOPT, "lint", *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env={**clean, **environment})


def test_tool_hands_over(script):
    done = run_tool(script, "--format", "json", MPOPT_PYTHON=sys.executable)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["schema"] == "mpopt-lint/1"
    done = run_tool("--help", MPOPT_PYTHON=sys.executable)
    assert done.returncode == 0 and "usage: mpopt lint" in done.stdout
    refused(run_tool(script, "--never", MPOPT_PYTHON=sys.executable), "lint: unrecognized arguments")


def test_tool_finds_the_environment_of_the_checkout(script):
    recorded = (BUILD / "lint-python").read_text().splitlines()
    assert recorded[1] == str(ROOT / "python")
    if not recorded[0]:
        refused(run_tool(script), "set MPOPT_PYTHON")
        return
    assert run_tool(script).returncode == 1


@pytest.mark.parametrize("python, reason", [("/none/python", "cannot be run"), ("/dev/null", "cannot be run")])
def test_python_that_is_none(script, python, reason):
    refused(run_tool(script, MPOPT_PYTHON=python), reason)


def test_tool_alone_says_what_it_needs(script, tmp_path):
    folder = tmp_path / "elsewhere" / "bin"
    folder.mkdir(parents=True)
    shutil.copy(BIN / "mpopt", folder)
    clean = {key: value for key, value in os.environ.items() if key not in ("MPOPT_PYTHON", "PYTHONPATH")}
    done = subprocess.run([folder / "mpopt", "lint", script], capture_output=True, text=True, env=clean)
    refused(done, "set MPOPT_PYTHON")
    # An interpreter that has no such package.
    bare = subprocess.run([folder / "mpopt", "lint", script], capture_output=True, text=True,
                          env={**clean, "MPOPT_PYTHON": "/usr/bin/python3"})
    refused(bare, "No module named 'mpopt'")


# --- flake8 ---


def test_flake8_plugin():
    from mpopt.lint.flake8 import Plugin

    found = list(Plugin(None, FAULTY.splitlines(keepends=True)).run())
    assert [(line, column, text[:5]) for line, column, text, _ in found] == [(2, 9, "MP763"), (7, 4, "MP721")]
    assert list(Plugin(None, ["x = = 1  # torch\n"]).run()) == []


def test_all_cases_at_once():
    """Scripts that name everything twice are read, too."""
    done = lint(CASES, "--format", "json")
    assert done.returncode == 1 and done.stderr == ""
    rules = {finding["rule"][:4] for finding in json.loads(done.stdout)["findings"]}
    assert rules == {"MP70", "MP71", "MP72", "MP73", "MP74", "MP75", "MP76", "MP77", "MP78", "MP79"}
