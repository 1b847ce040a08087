"""mpopt.diff, mpopt.summary, mpopt.lint and mpopt.view."""

import pathlib
import re
import types

import onnx
import pytest
from onnx import parser
from tool import ROOT, run_mpopt

import mpopt

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 4] x) => (float[2, 4] y) <float big = {{{factor}}}> {{
  a = Mul (x, big)
  y = Relu (a)
}}"""


def model(factor):
    return parser.parse_model(MODEL.format(factor=factor))


def test_diff_of_models(tmp_path):
    file = tmp_path / "b.onnx"
    onnx.save(model(60000), file)
    changed = mpopt.diff(model(1), file, precision="fp16")
    assert [each["rule"] for each in changed.came] and not changed.went
    assert repr(changed).startswith("Diff(") and changed.raw["schema"] == "mpopt-diff/1"
    assert str(changed).startswith("- model: judged as fp16\n+ ")


def test_diff_of_reports():
    one, other = (mpopt.check(model(factor), precision="fp16") for factor in (1, 60000))
    assert mpopt.diff(one, other).came and mpopt.diff(other, one).went
    assert "findings that came" in str(mpopt.diff(one, other))


def test_diff_names_the_file_that_is_missing():
    with pytest.raises(mpopt.Error, match=r"none\.onnx"):
        mpopt.diff("none.onnx", model(1))


def test_diff_names_no_temporary_file():
    with pytest.raises(mpopt.Error) as caught:
        mpopt.diff(b"no model", model(1))
    assert "mpopt-" not in str(caught.value) and str(caught.value).startswith("model: ")


def test_summary():
    made = mpopt.summary(model(2.0**10), precision="fp16", inputs={"x": mpopt.Normal(0, 1)})
    room = {layer.name: layer.headroom for layer in made.layers}
    # 2^16 over what is expected of 2^10 standard deviations: between 2^3 and 2^5.
    assert 3 < room["a"] < 5 and 13 < room["x"] < 15
    assert made.report.ok and {layer.dtype for layer in made.layers} <= {"f16", "f32"}
    lines = str(made).splitlines()
    assert lines[0] == repr(made.report) and lines[1].split()[0] == "layer"
    assert any(line.startswith("a ") and line.endswith(" bits") for line in lines)


def test_summary_of_a_module():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    made = mpopt.summary(module, torch.randn(2, 4), precision=torch.float16)
    assert {"0", "1"} <= {layer.name for layer in made.layers}
    assert "0.weight" not in {layer.name for layer in made.layers}


SCRIPT = """import torch
model = torch.nn.Linear(3, 3).half()
optimizer = torch.optim.Adam(model.parameters())
"""


def test_lint_is_a_function_and_a_package(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    rules = [finding.rule for finding in mpopt.lint(file)]
    assert "MP701" in rules and isinstance(mpopt.lint, types.ModuleType)
    assert [each.rule for each in mpopt.lint.lint_text(SCRIPT)] == rules
    assert [each.rule for each in mpopt.lint.lint_path(tmp_path, ignore="MP701")] == [
        rule for rule in rules if rule != "MP701"]


@pytest.mark.parametrize("how, text", [
    ({"path": "none.py"}, "none.py: cannot be read"),
    ({"path": __file__, "select": ["MPX"]}, "^select: no rule 'MPX'")], ids=["file", "rule"])
def test_lint_refuses_in_one_line(how, text):
    with pytest.raises(mpopt.Error, match=text):
        mpopt.lint(**how)


def test_view_writes_a_page(tmp_path):
    report = mpopt.check(model(1), precision="fp16").save(tmp_path / "r.json")
    mpopt.view(report, tmp_path / "r.html")
    assert "<!doctype html>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    with pytest.raises(mpopt.Error, match="port: -1 is no port"):
        mpopt.view(report, port=-1)


def test_the_package_is_typed():
    assert (pathlib.Path(mpopt.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("page", ["README.md", "docs/overview.md"])
def test_the_printed_report_is_what_the_command_prints(page):
    """Parts between lines of `...`, but for the seconds."""
    text = (ROOT / page).read_text()
    command, shown = re.search(r"^\$ mpopt (\S+ docs/examples/\S+ --precision fp16)\n(.*?)^(?:\$|```)", text, re.MULTILINE | re.DOTALL).groups()
    done = run_mpopt(*command.split(), cwd=ROOT)
    timeless = re.compile(r"\d+\.\d+ s$", re.MULTILINE)
    printed = timeless.sub("s", done.stdout)
    for part in timeless.sub("s", shown).split("...\n"):
        assert part in printed, part


def test_the_lines_of_python_print_what_is_shown(capsys):
    pytest.importorskip("torch")
    text = (ROOT / "README.md").read_text()
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL).groups()
    exec(code, {})
    assert capsys.readouterr().out == shown
