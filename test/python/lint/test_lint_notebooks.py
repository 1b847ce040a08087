"""Notebooks: their cells are one script, and findings name the cell."""

from __future__ import annotations

import json

import pytest
from test_lint_command import lint, refused

CELLS = [("markdown", "# Training"), ("code", "%matplotlib inline\nimport torch\n!pip install x\nfiles = !ls"),
         ("code", "%%time\nmodel = torch.nn.Linear(4, 4)\nmodel.half()"), ("code", "%%bash\necho $HOME (\n"),
         ("code", "model?"), ("code", "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nx = '''\n%d\n''' % 3")]


def write(path, cells):
    path.write_text(json.dumps({"cells": [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells],
                                "nbformat": 4}))
    return path


def test_place_is_that_in_the_cell(tmp_path):
    path = write(tmp_path / "train.ipynb", CELLS)
    done = lint(path)
    assert done.returncode == 1 and f"{path}:cell 3:3:1: error: " in done.stdout and "[MP701" in done.stdout
    finding, = json.loads(lint(path, "--format", "json").stdout)["findings"]
    assert (finding["cell"], finding["line"], finding["column"], finding["rule"]) == (3, 3, 1, "MP701")
    for form in ("sarif", "github"):
        assert "cell 3: " in lint(path, "--format", form).stdout


def test_folders_and_comments(tmp_path):
    write(tmp_path / "train.ipynb", CELLS)
    write(tmp_path / "other.ipynb", [(kind, text.replace("half()", "half()  # noqa: MP701")) for kind, text in CELLS])
    (tmp_path / ".ipynb_checkpoints").mkdir()
    write(tmp_path / ".ipynb_checkpoints" / "train.ipynb", CELLS)
    files = [finding["file"] for finding in json.loads(lint(tmp_path, "--format", "json").stdout)["findings"]]
    assert files == [str(tmp_path / "train.ipynb")]


def test_nothing_changes_a_notebook(tmp_path):
    path = write(tmp_path / "train.ipynb", [("code", "import torch\nscaler = torch.cuda.amp.GradScaler()")])
    before = path.read_text()
    done = lint(path, "--fix", "--format", "json")
    assert path.read_text() == before and json.loads(done.stdout)["findings"][0]["fix"] is None


@pytest.mark.parametrize("text, reason", [("{}", "is no notebook"), ("[1", "is no notebook"), ('{"cells": [1]}', "is no notebook"),
                                          ("[" * 100_000, "is no notebook")])
def test_what_is_no_notebook(text, reason, tmp_path):
    path = tmp_path / "bad.ipynb"
    path.write_text(text)
    refused(lint(path), reason)


def test_a_cell_that_is_no_python(tmp_path):
    refused(lint(write(tmp_path / "bad.ipynb", [("markdown", "a"), ("code", "import torch"), ("code", "x = 1\nx = = 1")])),
            "cell 3, line 2 is not valid Python")


def test_commands_that_go_on_and_magics_without_a_sign(tmp_path):
    path = write(tmp_path / "train.ipynb", [("code", "cd ..\nimport torch\n!python run.py \\\n    --size 4 \\\n    --last"),
                                            ("code", CELLS[2][1]), CELLS[-1]])
    finding, = json.loads(lint(path, "--format", "json").stdout)["findings"]
    assert (finding["cell"], finding["line"], finding["rule"]) == (2, 3, "MP701")


def test_no_cells(tmp_path):
    done = lint(write(tmp_path / "empty.ipynb", []))
    assert (done.returncode, done.stderr) == (0, "")


def test_pasted_sessions(tmp_path):
    """Prompts and results of sessions, comments before a magic of the cell, and a body of three dots beside a magic."""
    path = write(tmp_path / "train.ipynb", [
        ("code", "#@title Install\n\n#@markdown Run this\n%%bash\nif [ ! -f X ]; then\n  apt-get update && x\nfi"),
        ("code", ">>> import torch\n>>> model = torch.nn.Linear(4, 4)\n>>> for x in range(2):\n...     print(x)\n0\n1\n"
                 ">>> model.half()\nLinear(in_features=4, out_features=4, bias=True)"),
        ("code", "In [3]: y = [1,\n   ...:      2]\nOut[3]: [1, 2]"),
        ("code", "%time y\ndef later():\n    ...\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)")])
    finding, = json.loads(lint(path, "--format", "json").stdout)["findings"]
    assert (finding["cell"], finding["line"], finding["rule"]) == (2, 7, "MP701")


def test_output_that_is_no_session(tmp_path):
    path = write(tmp_path / "bad.ipynb", [("code", "import torch\nmodel"), ("code", "Epoch 1: 100% 3/3 [00:01<00:00]")])
    refused(lint(path), "cell 2, line 1 is not valid Python")
