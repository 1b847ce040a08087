"""scripts/check-structure on small trees: each check fails on what it is there for, and on
nothing beside it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tool import ROOT

SCRIPT = ROOT / "scripts" / "check-structure"
#: The lines that the check allows the command-line tool.
TOOL = int(re.search(r"MOST_TOOL_LINES = (\d+)", SCRIPT.read_text(encoding="utf-8"))[1])

Tree = dict[str, str]

# What the others include: a header in each of some layers, and an op.
BASE: Tree = {
    "include/mpopt/Numerics/Interval.h": "class Interval {\n};\n",
    "include/mpopt/Dialect/Ops.td": 'def MP_AddOp : MP_Op<"add"> {}\n',
    "include/mpopt/Ranges/RangeAnalysis.h": "class RangeAnalysis final : public Base {\n};\n",
    "passes/rules/range/Overflow.h": "void overflow();\n",
    "lib/Ranges/Ops/Linear/Linear.h": "void linear();\n",
}


@dataclass(frozen=True)
class Case:
    """A file that breaks a check, the line at which it does, and one that does not."""

    check: str
    file: str
    broken: str
    line: int
    clean: str


def lines(count: int) -> str:
    return "int x;\n" * count


CASES = {
    "include upward": Case(
        "layers", "lib/Dialect/Names.cpp", '\n#include "mpopt/Ranges/RangeAnalysis.h"\n', 2,
        '#include "mpopt/Numerics/Interval.h"\n#include "mpopt/Dialect/Nowhere.h"\n'),
    "include sideways": Case(
        "layers", "lib/Policy/Policy.cpp", '#include "mpopt/Ranges/RangeAnalysis.h"\n', 1,
        '#include "mpopt/Numerics/Interval.h"\n'),
    "forward declaration upward": Case(
        "layers", "include/mpopt/Dialect/Names.h", "namespace mpopt {\nclass RangeAnalysis;\n}\n",
        2, "class Interval;\nclass OfAnotherProject;\n"),
    "rule that includes a rule": Case(
        "siblings", "passes/rules/dtype/Loss.cpp", '#include "passes/rules/range/Overflow.h"\n', 1,
        '#include "mpopt/Ranges/RangeAnalysis.h"\n'),
    "family that includes a family": Case(
        "siblings", "lib/Ranges/Ops/Loss/Loss.cpp",
        '#include "lib/Ranges/Ops/Linear/Linear.h"\n', 1,
        '#include "mpopt/Numerics/Interval.h"\n'),
    "op in quotes": Case(
        "mnemonics", "lib/Hazards/Zeros.cpp", 'bool is = name == "add";\n' * 28, 1,
        'bool is = name == "add";\n' * 27 + '// Not "add".\njson.attribute("add", 1);\n'),
    "rule id in quotes": Case(
        "rule-ids", "lib/Repair/Search/Nodes.cpp", '\n\nauto id = "MP204";\n', 3,
        '// As "MP204" has it.\nauto text = "MP204 and more";\n'),
    "pass without a record": Case(
        "pass-wrappers", "lib/Driver/Pipeline.cpp", "struct P : PassWrapper<P, Pass> {};\n", 1,
        "struct P : impl::PBase<P> {}; // No PassWrapper<P>.\n"),
    "own infinity": Case(
        "infinity", "lib/Numerics/Power.cpp",
        "constexpr double kInf = std::numeric_limits<double>::infinity();\n", 1,
        "double end = kInfinity;\nbool is = std::isinf(end);\n"),
    "word list": Case(
        "words", "docs/page.md", "# Page\n\nWhat became of it.\n", 3, "# Page\n\nIts results.\n"),
    "type of two definitions": Case(
        "types", "lib/Ranges/View.cpp",
        "struct Bound {\n  int hi;\n};\nstruct Interval {\n  int lo;\n};\n", 4,
        "class Interval;\nnamespace {\nstruct Interval {\n  int lo;\n};\n} // namespace\n"
        "namespace mpopt {\nstruct Interval {\n  int hi;\n};\n} // namespace mpopt\n"),
    "long tool": Case(
        "tool", "tools/mpopt/Main.cpp", lines(TOOL + 1), 1, lines(TOOL)),
}


def run(root: Path, *arguments: str) -> tuple[int, list[str]]:
    done = subprocess.run([sys.executable, SCRIPT, "--root", root, *arguments],
                          capture_output=True, text=True, timeout=60)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def write(root: Path, tree: Tree) -> Path:
    for path, text in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_breaks_a_check(case, tmp_path):
    status, said = run(write(tmp_path, BASE | {case.file: case.broken}), "--only", case.check)
    assert status == 1
    place = case.file if case.check != "tool" else "tools/mpopt"
    assert said[0].startswith(f"{place}:{case.line}: {case.check}: "), said


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_as_it_should_be(case, tmp_path):
    assert run(write(tmp_path, BASE | {case.file: case.clean})) == (0, [])


def test_a_folder_holds_forty_sources(tmp_path):
    write(tmp_path, {f"lib/Hazards/File{i}.cpp": "" for i in range(40)})
    write(tmp_path, {f"include/mpopt/Hazards/File{i}.h": "" for i in range(60)})
    assert run(tmp_path) == (0, [])
    write(tmp_path, {"lib/Hazards/Another.cpp": ""})
    assert run(tmp_path) == (1, ["lib/Hazards:1: folders: 41 sources, 40 at most"])


def test_every_check_has_cases():
    # test_structure_measures.py has those of measures.
    names = subprocess.run([sys.executable, SCRIPT, "--only", "nosuch"], capture_output=True,
                           text=True, timeout=60)
    assert names.returncode == 2
    listed = names.stderr.rsplit(": ", 1)[1].strip().split(", ")
    assert set(listed) == {case.check for case in CASES.values()} | {"folders", "measures"}
