"""scripts/run-tests.py counts what the suites wrote, and takes long tests for failed ones."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from tool import ROOT

SCRIPT = ROOT / "scripts" / "run-tests.py"

# As lit, GoogleTest and pytest write them: totals that differ are not read.
JUNIT = """<testsuites tests="9"><testsuite name="s" failures="7">
<testcase classname="a" name="passes" time="0.5"/>
<testcase classname="a" name="takes long" time="11.5"/>
<testcase classname="a" name="fails" time="20"><failure message="m"/></testcase>
<testcase classname="a" name="breaks" time="1"><error/></testcase>
<testcase classname="a" name="skipped" time="0"><skipped/></testcase>
<testcase classname="a" name="disabled" status="notrun"/>
</testsuite></testsuites>"""


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("run_tests", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("most, passed, failed", [(240, 2, 2), (11, 1, 3)])
def test_counts(script, tmp_path, capsys, most, passed, failed):
    file = tmp_path / "suite.xml"
    file.write_text(JUNIT)
    count = script.read_junit(file, most)
    assert (count.passed, count.failed, count.skipped) == (passed, failed, 2)
    assert max(count.seconds) == (20, "suite: a.fails")
    said = "suite: a.takes long: took 12 s, 11 s at most\n"
    assert capsys.readouterr().out == (said if most == 11 else "")


def test_a_suite_that_runs_nothing_has_failed(script, tmp_path, capsys):
    count = script.run("suite", ["true"], tmp_path / "none.xml", 240)
    assert (count.passed, count.failed) == (0, 1)
    assert "suite: no test ran" in capsys.readouterr().out
    assert script.run("suite", ["false"], tmp_path / "none.xml", 240).failed == 1
