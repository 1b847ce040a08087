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
def test_counts(script, tmp_path, most, passed, failed):
    file = tmp_path / "suite.xml"
    file.write_text(JUNIT)
    count = script.read_junit(file, most)
    assert (count.passed, count.failed, count.skipped) == (passed, failed, 2)
    assert max(count.seconds) == (20, "suite: a.fails")
    long = [("suite: a.takes long", "took 12 s, 11 s at most")] if most == 11 else []
    assert count.failures == long + [("suite: a.fails", "m"), ("suite: a.breaks", "")]


def test_a_suite_that_runs_nothing_has_failed(script, tmp_path):
    count = script.run("suite", ["true"], tmp_path / "none.xml", 240)
    assert (count.passed, count.failures) == (0, [("suite", "no test ran")])
    count = script.run("suite", ["false"], tmp_path / "none.xml", 240)
    assert count.failures == [("suite", "exit status 1 without a failed test")]


def test_what_failed_is_said_at_the_end(script, tmp_path, monkeypatch, capsys):
    lines = "\n".join(f"line {i}" for i in range(40))
    written = f'<testcase classname="a" name="fails"><failure>{lines}</failure></testcase>'

    def suites(build, names, junit, quick):
        file = junit / "suite.xml"
        write = f"import pathlib; pathlib.Path({str(file)!r}).write_text({written!r})"
        yield "suite", [sys.executable, "-c", write], file

    monkeypatch.setenv("MPOPT_BUILD", "")  # main() sets it
    monkeypatch.setattr(script, "commands", suites)
    monkeypatch.setattr(sys, "argv", ["run-tests.py", str(tmp_path)])
    assert script.main() == 1
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "0 passed, 1 failed"
    listed = said[said.index("== what failed") + 1:-1]
    assert listed == ["suite: a.fails"] + [f"    line {i}" for i in range(28, 40)]
