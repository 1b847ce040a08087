"""SARIF, annotations, JUnit and Markdown: each says all that is listed, and is valid."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import jsonschema
import markdown_it
import pytest
from ci_models import overflowing, save
from sarif import loader
from tool import run_mpopt

SCHEMA = json.loads((Path(__file__).parent / "Inputs/sarif-2.1.0.schema.json").read_text())
OPTIONS = ("--precision", "fp16", "--min-certainty", "possible")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save(overflowing(), tmp_path_factory.mktemp("formats") / "model.onnx")


def report(model, form, *options):
    done = run_mpopt("--check", model, *OPTIONS, "--format", form, *options)
    assert done.returncode in (0, 1), done.stderr
    return done


def listed(model):
    return json.loads(report(model, "json").stdout)["findings"]


def roots(findings):
    present = {finding["fingerprint"] for finding in findings}
    return [finding for finding in findings if finding.get("root") not in present]


def render(text):
    return markdown_it.MarkdownIt("gfm-like", {"linkify": False}).render(text)


def test_the_model_has_what_the_tests_are_about(model):
    findings = listed(model)
    assert len({finding["rule"] for finding in findings}) >= 3
    assert len(roots(findings)) < len(findings)
    assert {finding["severity"] for finding in findings} >= {"note", "error"}


@pytest.mark.parametrize("form", ["sarif", "junit", "markdown", "github"])
def test_every_rule_that_is_listed_is_named(model, form):
    text = report(model, form).stdout
    for finding in listed(model):
        assert finding["rule"] in text


def test_sarif_follows_its_schema(model):
    document = json.loads(report(model, "sarif").stdout)
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    [run] = document["runs"]
    expected = roots(listed(model))
    assert [result["ruleId"] for result in run["results"]] == [finding["rule"] for finding in expected]
    rules = run["tool"]["driver"]["rules"]
    for result, finding in zip(run["results"], expected):
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"] and rule["help"]["markdown"]
        assert result["level"] == finding["severity"]
        assert result["partialFingerprints"]["mpoptStructure/v1"] == finding["fingerprint"]
        [place] = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"].endswith("/model.onnx")
        assert place["physicalLocation"]["region"] == {"startLine": 1}
        assert place["logicalLocations"][0]["name"] == finding["op"]["name"]
        assert "baselineState" not in result and "suppressions" not in result


def test_a_viewer_reads_the_sarif(model, tmp_path):
    file = tmp_path / "report.sarif"
    report(model, "sarif", "-o", file)
    counts = loader.load_sarif_file(str(file)).get_report()
    expected = roots(listed(model))
    for severity in ("error", "warning", "note"):
        assert counts.get_issue_count_for_severity(severity) == \
            sum(finding["severity"] == severity for finding in expected)


def test_sarif_names_lines_of_the_source():
    model = Path(__file__).parents[2] / "Tools/mpopt/Inputs/mixed.mlir"
    document = json.loads(run_mpopt("--check", model, "--format", "sarif").stdout)
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    [result, *_] = document["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "model.py"}, "region": {"startLine": 12}}


@pytest.mark.parametrize("file, shown", [
    ("project/net.py", "project/net.py"), ("{here}/project/net.py", "project/net.py"), ("/elsewhere/net.py", None),
    ("{here}/venv/lib/python3.11/site-packages/timm/net.py", None)])
def test_places_are_those_of_a_pull_request(file, shown, tmp_path):
    """A line of a file that is not in the project is shown at the model."""
    text = (Path(__file__).parents[2] / "Tools/mpopt/Inputs/mixed.mlir").read_text()
    model = tmp_path / "mixed.mlir"
    model.write_text(text.replace("model.py", file.format(here=tmp_path)))
    document = json.loads(run_mpopt("--check", model, "--format", "sarif", cwd=tmp_path).stdout)
    [result, *_] = document["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": shown or "mixed.mlir"}, "region": {"startLine": 12 if shown else 1}}
    assert f"at {file.format(here=tmp_path)}:12" in result["message"]["text"]
    annotation = run_mpopt("--check", model, "--format", "github", cwd=tmp_path).stdout
    assert f"file={shown or 'mixed.mlir'},line={12 if shown else 1}," in annotation


def test_annotations_are_commands_and_nothing_else(model):
    lines = report(model, "github").stdout.splitlines()
    assert all(re.match(r"::(error|warning|notice) [^:]*::[^:]", line) for line in lines)
    kinds = {line.split()[0] for line in lines}
    severities = {finding["severity"] for finding in roots(listed(model))}
    assert kinds == {"::notice" if severity == "note" else f"::{severity}" for severity in severities} | {"::notice"}


@pytest.mark.parametrize("fail_on", ["error", "warning", "note", "never"])
def test_junit_fails_where_the_check_does(model, fail_on):
    done = report(model, "junit", "--fail-on", fail_on)
    suites = xml.fromstring(done.stdout)
    cases = list(suites.iter("testcase"))
    failures = list(suites.iter("failure"))
    assert len(cases) == 1 + len(roots(listed(model))) == int(suites.get("tests"))
    assert len(failures) == int(suites.get("failures"))
    assert bool(failures) == (done.returncode == 1)
    assert len({case.get("name") for case in cases}) == len(cases)


def test_markdown_is_one_table_row_a_place(model):
    html = render(report(model, "markdown").stdout)
    assert html.count("<table>") >= 2 and "<details>" in html
    for finding in roots(listed(model)):
        assert f"<code>{finding['op']['name']}</code>" in html


def test_a_clean_model_says_so_in_each_form(tmp_path):
    model = save(overflowing(layers=0), tmp_path / "clean.onnx")
    options = ("--check", model, "--precision", "as-is")
    assert json.loads(run_mpopt(*options, "--format", "sarif").stdout)["runs"][0]["results"] == []
    [case] = xml.fromstring(run_mpopt(*options, "--format", "junit").stdout).iter("testcase")
    assert case.get("name") == "verdict as as-is" and case.find("system-out").text.startswith("fine\n")
    assert "no findings" in run_mpopt(*options, "--format", "markdown").stdout
    assert run_mpopt(*options, "--format", "github").stdout.startswith("::notice")


@pytest.mark.parametrize("form", ["sarif", "junit", "markdown", "github"])
def test_several_models_share_one_document(model, tmp_path, form):
    other = save(overflowing(layers=1), tmp_path / "other.onnx")
    done = run_mpopt("--check", model, other, *OPTIONS, "--format", form)
    assert "model.onnx" in done.stdout and "other.onnx" in done.stdout
    if form == "sarif":
        jsonschema.Draft7Validator(SCHEMA).validate(json.loads(done.stdout))
        assert len(json.loads(done.stdout)["runs"]) == 1
    if form == "junit":
        assert len(xml.fromstring(done.stdout).findall("testsuite")) == 2


@pytest.mark.parametrize("form", ["html", "json", "sarif", "github", "markdown"])
def test_the_same_model_gives_the_same_bytes(model, form):
    """Reports are compared and kept as artifacts; how long a run took is no part of them."""
    assert report(model, form).stdout == report(model, form).stdout
