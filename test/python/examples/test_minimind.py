"""The worked example: its faults can be planted, and its command runs.

The full run takes minutes (docs/examples/minimind/run.py); here it is a training and a fault in
BF16, with few steps. Names of the example's modules are common words, so that it runs in
processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tool import BUILD, ROOT

pytest.importorskip("torch", reason="torch is not in this environment")

EXAMPLE = ROOT / "docs/examples/minimind"
ENVIRONMENT = os.environ | {"MPOPT_BUILD": str(BUILD), "PYTHONPATH": str(ROOT / "python")}

PLANT = """
import pathlib, sys
from faults import FAULTS
from steps import copy_sources
for fault in FAULTS:
    mend = () if isinstance(fault.mend, str) else fault.mend
    for state, edits in (("planted", fault.planted), ("mended", mend)):
        folder = copy_sources(pathlib.Path(sys.argv[1], fault.name, state))
        for edit in (*fault.around, *edits):
            edit.apply(folder)
        for file in folder.glob("*.py"):
            compile(file.read_text(), file, "exec")
    print(fault.name)
"""

LINT = """
import pathlib, sys
from faults import FAULTS
from judging import place_of, plant
from steps import HERE, TRAININGS, Steps, copy_sources
data = pathlib.Path(sys.argv[1], "data")
def found(training, sources):
    return [(finding["rule"], place_of("lint", finding))
            for finding in Steps(training, sources, sources.parent, data).lint()]
documented = TRAININGS["documented"]
# The loop of the documents divides by a count that may be 0: what the fault of an empty batch is about.
def is_planted(place):
    return place[0] != "MP757"
right = found(documented, copy_sources(pathlib.Path(sys.argv[1], "right", "files")))
assert [rule for rule, _ in right] == ["MP757"], right
for fault in FAULTS:
    if fault.training.script == documented.script:
        sources = copy_sources(pathlib.Path(sys.argv[1], fault.name, "files"))
        plant((*fault.around, *fault.planted), sources)
        said = list(filter(is_planted, found(fault.training, sources)))
        assert len(said) == len(fault.predicted), (fault.name, said)
        for told in fault.predicted:
            assert [rule for rule, place in said if told.is_about(place)] == [told.rule], (fault.name, said)
        print(fault.name, *(rule for rule, _ in said))
"""

READ_BACK = """
import collections, text
said = next(each for each in text.documents() if each.count("\\n") > 20)
words = collections.Counter(text._WORDS.findall(said))
tokenizer = text.Tokenizer(text.learn_pairs(words, 200))
for each in (said, "never seen: \\u00fc\\u4e2d\\u0000 \\t\\n"):
    assert tokenizer.decode(tokenizer.encode(each)) == each
assert len(tokenizer.pairs) == 200 and len(tokenizer.encode(said)) < len(said.encode()) / 2
rows = text.windows([tokenizer.encode(said), tokenizer.encode(said[:60])])
assert rows.shape[1] == text.LENGTH + 1 and (rows[-1, 0] == text.PAD) and rows[-1, -1] == text.END
"""


def run_python(*arguments, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=300, **options)


def run_code(code: str, *arguments) -> str:
    done = run_python("-c", code, *arguments, cwd=EXAMPLE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_faults_can_be_planted_and_mended(tmp_path):
    names = run_code(PLANT, tmp_path).split()
    assert len(names) == len(set(names)) == 14


def test_lint_names_the_faults_of_the_documented_loop(tmp_path):
    """All but the micro-batch without a token, which is in the data."""
    said = dict(line.split(" ", 1) if " " in line else (line, "") for line in run_code(LINT, tmp_path).splitlines())
    assert said == {"zero-grad": "MP732", "undivided": "MP727", "past-scaler": "MP724", "empty-mask": "",
                    "divisor": "MP754", "outside": "MP711"}


def test_the_monitor_names_the_micro_batch(tmp_path):
    done = run_python(EXAMPLE / "run.py", "--only", "empty-mask", "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    fault = json.loads((tmp_path / "results.json").read_text())["faults"][0]
    assert fault["seen"] == ["monitor MP501 `micro-batch 1`"] and fault["step"] == 2 and not fault["missing"]


def test_tokens_read_back():
    run_code(READ_BACK)


def test_a_training_and_a_fault(tmp_path):
    done = run_python(EXAMPLE / "run.py", "--quick", "--only", "bf16", "updates", "--out", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    training, fault = results["trainings"][0], results["faults"][0]
    assert not training["missing"] and not fault["missing"]
    # The gains of five norms, said before the first step and seen in the eighth.
    assert "MP409" in training["check"] and training["monitor"] == "5 warnings (MP409)"
    assert fault["step"] == 8 and len(fault["predicted"]) == 2 and len(fault["seen"]) == 1
    for folder in (tmp_path / "bf16", tmp_path / "faults/updates"):
        for name in ("check.html", "run.html", "commands.txt"):
            assert (folder / name).stat().st_size > 0
    assert (tmp_path / "bf16/confirm.html").stat().st_size > 0


def test_unknown_name_is_one_line(tmp_path):
    done = run_python(EXAMPLE / "run.py", "--only", "fp17", "--out", tmp_path)
    assert done.returncode == 2 and "no fp17; there are " in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())
