"""f-strings of Python 3.12, also where the interpreter's grammar is older."""

from __future__ import annotations

import ast
import sys

import pytest
from mpopt.lint import fstrings, linter, source

NEW = ["""f'{a['b']}'""", '''f"{x["a"]:>{y["w"]}} é"''', """f'{"\\n".join(a)}'""", '''f"{(\n  a)}"''', "f'{a # why\n}'",
       "f'''{b'''c'''}'''", '''f"{f"{f"{1}"}"}"''', """rf'{a['b']}\\d'""", """F'{ {1: 2}[1]!r:{'>'}}'"""]
OLD = ["""f'{a["b"]}'""", "f'{{{a}}}'", "f'{a:%H:%M}'", "f'''{\n a}'''", "'{'", """b'{"'""", "f'{a!r:>{w}}'", "# f'{a['b']}'", "r'\\\\'",
       "u'#'", "f'{{}} {a}'"]


@pytest.mark.parametrize("text", NEW)
def test_the_newer_grammar(text):
    given = f"x = 1\ny = g({text}, 2)\nz = 3\n"
    older = fstrings.blank(given)
    assert older != given and [len(line.encode()) for line in older.split("\n")] == [len(line.encode()) for line in given.split("\n")]
    assert ast.unparse(ast.parse(older).body[2]) == "z = 3"
    if sys.version_info >= (3, 12):
        ast.parse(given)


@pytest.mark.parametrize("text", OLD)
def test_the_older_grammar_stays(text):
    assert fstrings.blank(f"x = ({text}\n)") == f"x = ({text}\n)"


@pytest.mark.parametrize("text", ["f'{a", "f'{a['", "'", "f'{(a}'", "f'" + "{f'" * 100_000])
def test_what_does_not_end(text):
    assert fstrings.blank(text) == text
    with pytest.raises(source.SourceError):
        source.parse(text)


def test_findings_have_their_places():
    text = "import torch\nnames = {'é': 1}\nprint(f\"{names['é']} {names[\"é\"]}\"); torch.cuda.amp.GradScaler()\n"
    (finding,) = linter.lint_text(text, selected={"deprecated-amp"})
    assert (finding.line, finding.column) == (3, text.split("\n")[2].index("torch.cuda") + 1)
