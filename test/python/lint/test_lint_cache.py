"""A second run over a folder: the same findings, faster, and anew where anything has changed."""

from __future__ import annotations

import json

import pytest
from mpopt.lint import cache, cli
from test_lint_command import lint
from test_lint_projects import ENGINE, FILES, TRAIN, write


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def judged(monkeypatch):
    """The files that are judged, not looked up."""
    names = []

    def lint_file(path, *rest, own=cli.lint_file):
        names.append(path.rpartition("project/")[2])
        return own(path, *rest)

    monkeypatch.setattr(cli, "lint_file", lint_file)
    return names


@pytest.fixture
def run(tmp_path, capsys, judged):
    def run(*options):
        judged.clear()
        cache.digest_file.cache_clear()
        cli.project.load.cache_clear()
        cli.main([*options, str(tmp_path / "project"), "--jobs", "1", "--format", "json"])
        return json.loads(capsys.readouterr().out), sorted(judged)
    return run


def test_nothing_has_changed(tmp_path, run):
    write(tmp_path / "project", FILES)
    first, judged = run()
    assert first["findings"] and "train.py" in judged
    assert run() == (first, [])
    assert run("--no-cache") == (first, judged)


@pytest.mark.parametrize("name, text, judged", [
    ("lib/engine.py", ENGINE.replace("clip_grad_norm_", "clip_grad_value_"), ["lib/engine.py", "train.py"]),
    ("train.py", TRAIN + "# torch\n", ["train.py"]),
    # What is read for another file may be one that is not judged by itself.
    ("lib/__init__.py", "x = 1\n", ["train.py"])])
def test_what_has_changed_is_judged(name, text, judged, tmp_path, run):
    write(tmp_path / "project", FILES)
    run()
    write(tmp_path / "project", {name: text})
    found, anew = run()
    assert anew == judged
    assert found == run("--no-cache")[0]


def test_another_file_other_rules(tmp_path, run):
    write(tmp_path / "project", FILES)
    _, judged = run()
    assert run("--select", "MP72")[1] == judged
    # An import may mean another file now.
    write(tmp_path / "project", {"new.py": "x = 1\n"})
    assert run("--select", "MP72")[1] == judged


def test_a_configuration_that_is_refused_is_parsed_once(tmp_path, run):
    write(tmp_path / "project", {**FILES, "broken.yaml": "dtype: bf16\na:\n\tb: 1\n"})
    first, judged = run()
    assert first["errors"] == [] and "broken.yaml" in judged
    assert run() == (first, [])
    found, judged = run(str(tmp_path / "project/broken.yaml"))
    assert "tab" in found["errors"][0]["message"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"key": 1}', "[" * 100000])
def test_a_damaged_cache_is_none(text, tmp_path, run, home):
    write(tmp_path / "project", FILES)
    first, judged = run()
    path, = (home / "mpopt/lint").glob("*.json")
    stored = json.loads(path.read_text())
    path.write_text(text)
    assert run() == (first, judged)
    stored["files"] = {name: {"read": {}, "findings": [[1]]} for name in stored["files"]}
    path.write_text(json.dumps(stored))
    assert run() == (first, judged)


def test_standard_input_is_another_text(tmp_path):
    write(tmp_path / "project", {"a.py": "import torch\n"})
    fault = "import torch\ntorch.set_default_dtype(torch.float16)\nloss.backward()\n"
    for text, rules in ((fault, ["MP704"]), ("import torch\n", []), (fault, ["MP704"])):
        done = lint(tmp_path / "project", "-", "--format", "json", input=text)
        assert [finding["rule"] for finding in json.loads(done.stdout)["findings"]] == rules


def test_a_cache_that_cannot_be_written(tmp_path, run, home):
    write(tmp_path / "project", FILES)
    home.write_text("")
    assert run() == run()
