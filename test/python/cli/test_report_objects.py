"""Reports that explain themselves: print, repr, pages, files, outputs, filters."""

import json
import pickle
import xml.etree.ElementTree

import onnx
import pytest
from onnx import parser

import mpopt
from mpopt import _page

OVERFLOWS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float big = {30000}> {
  small = Mul (x, big)
  a = Mul (small, big)
  y = Relu (a)
}"""
FINE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) {
  y = Relu (x)
}"""


@pytest.fixture
def bad(tmp_path):
    file = tmp_path / "bad.onnx"
    onnx.save(parser.parse_model(OVERFLOWS), file)
    return mpopt.check(file, precision="fp16")


@pytest.fixture
def fine():
    return mpopt.check(parser.parse_model(FINE), precision="fp16")


def test_repr_is_one_line(bad, fine):
    assert repr(bad).startswith("Report('bad', fp16: Inf or NaN, y, 2 errors)")
    assert "\n" not in repr(bad)
    assert repr(fine).startswith("Report('model', fp16: fine, y 0.0")
    assert repr(fine).endswith(" %, no findings)")


def test_print_is_the_text_of_the_command(bad, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert "judged as fp16" in str(bad) and "error[MP201]" in str(bad)
    assert "\033" not in str(bad) and not str(bad).endswith("\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\033[" in str(bad)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033" not in str(bad)


def test_a_model_in_memory_has_a_name(fine):
    assert fine.path == "model" and str(fine).startswith("model: onnx, ")
    assert fine.source._files[0].folder.exists()


def test_its_file_goes_with_the_report():
    report = mpopt.check(parser.parse_model(FINE), precision="fp16")
    folder = report.source._files[0].folder
    assert folder.exists()
    del report
    assert not folder.exists()


def test_a_copy_without_the_command_still_prints(bad):
    copy = pickle.loads(pickle.dumps(bad))
    assert copy == bad and copy.source is None
    assert str(copy).splitlines()[0] == repr(bad)
    assert "MP201" in str(copy)
    with pytest.raises(mpopt.Error, match="saved as .json"):
        copy.save("r.html")


def test_verdict_and_outputs(bad, fine):
    assert (bad.verdict, bad.known, bad.ok) == ("Inf or NaN", True, False)
    assert (fine.verdict, fine.known, fine.ok) == ("fine", True, True)
    assert bad.outputs["y"].expected_error == float("inf")
    assert 0 < fine.outputs["y"].expected_error < 1e-3
    assert [cause.rule for cause in bad.outputs["y"].causes] == ["MP201"] * 2


def test_verdict_follows_the_threshold():
    report = mpopt.check(parser.parse_model(FINE), precision="fp16",
                         thresholds={"effect-warning": 1e-6})
    assert report.verdict == "too much" and not report.ok
    assert report.outputs["y"].verdict == "too much"


def test_verdict_follows_the_settings(tmp_path):
    """As the text does, which the command writes."""
    onnx.save(parser.parse_model(FINE), tmp_path / "m.onnx")
    (tmp_path / "mpopt.toml").write_text("[thresholds]\neffect-warning = 1e-6\n")
    report = mpopt.check(tmp_path / "m.onnx", precision="fp16")
    assert report.raw["effect_warning"] == 1e-6 and report.outputs["y"].verdict == report.verdict == "too much"
    assert "too much" in str(report)


def test_findings_are_filtered(bad):
    assert isinstance(bad.findings, tuple)
    assert bad.findings.filter(severity="error", rule="MP2") == bad.by_rule("MP2")
    assert bad.findings.filter(rule="overflow") == bad.by_rule("MP201")
    [finding] = bad.findings.filter(rule=["MP1", "MP201"], layer="a")
    assert finding.tensor == "a"
    assert not bad.findings.filter(layer="b.*")
    assert bad.roots.filter(severity="note") == bad.roots
    with pytest.raises(mpopt.Error, match="'loud' is no severity: error, warning, note"):
        bad.findings.filter(severity="loud")


def test_raise_if(bad, fine):
    fine.raise_if("note")
    with pytest.raises(mpopt.FindingsError, match=r"bad: error\[MP201\]") as caught:
        bad.raise_if("warning")
    assert caught.value.report is bad and isinstance(caught.value, mpopt.Error)
    with pytest.raises(mpopt.FindingsError):
        mpopt.check(bad.path, precision="fp16", fail_on="error")
    # As on the command line.
    assert mpopt.check(bad.path, precision="fp16", fail_on="never").findings
    with pytest.raises(mpopt.Error, match="'loud' is no severity"):
        bad.raise_if("loud")


def test_the_page_of_a_notebook_has_no_script(bad):
    page = bad._repr_html_()
    assert "<script" not in page and "Inf or NaN" in page and "MP201" in page
    xml.etree.ElementTree.fromstring(page)


def test_names_are_escaped_in_the_page():
    model = parser.parse_model(OVERFLOWS)
    model.graph.node[1].name = "<b>&"
    page = mpopt.check(model, precision="fp16")._repr_html_()
    assert "<b>&" not in page and "&lt;b&gt;&amp;" in page


@pytest.mark.parametrize("name, holds", [
    ("r.txt", "error[MP201]"), ("r.md", "MP201"), ("r.xml", "<testsuite"),
    ("r.sarif", '"2.1.0"'), ("r.json", "mpopt-report/1"), ("r.html", "<!doctype html>")])
def test_save(bad, tmp_path, name, holds):
    file = bad.save(tmp_path / name)
    assert holds in file.read_text(encoding="utf-8")


def test_saved_forms_name_no_temporary_file(fine, tmp_path):
    folder = str(fine.source._files[0].folder)
    for name in ("r.txt", "r.md", "r.xml", "r.sarif", "r.json"):
        assert folder not in fine.save(tmp_path / name).read_text(encoding="utf-8")
    page = fine.save(tmp_path / "r.html").read_text(encoding="utf-8")
    assert folder not in json.dumps(_page.read(page))


def test_save_refuses_other_endings(bad, tmp_path):
    with pytest.raises(mpopt.Error, match=r"ends in none of \.txt, \.json"):
        bad.save(tmp_path / "r.pdf")


def test_errors_name_the_file_of_the_caller():
    with pytest.raises(mpopt.Error, match=r"nofile\.onnx: .*No such file"):
        mpopt.check("nofile.onnx")


def test_options_that_write_files_write_once(bad, tmp_path):
    known, ranges = tmp_path / "known.json", tmp_path / "ranges.json"
    report = mpopt.check(bad.path, precision="fp16", write_baseline=known, dump_ranges=ranges)
    assert ranges.stat().st_size
    ranges.unlink()
    assert str(report)
    assert not ranges.exists()
    after = mpopt.check(bad.path, precision="fp16", baseline=known)
    after.raise_if("note")
