"""Baselines: only what is new counts, and what is gone is said."""

from __future__ import annotations

import json

import pytest
from ci_models import overflowing, save
from test_ci_formats import SCHEMA
from tool import run_mpopt

import jsonschema

OPTIONS = ("--precision", "fp16", "--format", "json")


def check(model, *options):
    done = run_mpopt("--check", model, *OPTIONS, *options)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.fixture
def baseline(tmp_path):
    model, file = save(overflowing(), tmp_path / "model.onnx"), tmp_path / "baseline.json"
    status, report, _ = check(model, "--write-baseline", file)
    assert status == 1 and report["findings"]
    return model, file, report


def test_what_is_known_does_not_count(baseline):
    model, file, before = baseline
    status, report, _ = check(model, "--baseline", file)
    assert status == 0
    assert {finding["standing"] for finding in report["findings"]} == {"known"}
    assert report["baseline"]["known"] == len(before["findings"])
    assert report["summary"]["error"] == report["summary"]["warning"] == 0
    assert not report["baseline"]["fixed"]


def test_only_what_is_new_counts(baseline, tmp_path):
    _, file, before = baseline
    grown = save(overflowing(extra=True), tmp_path / "grown" / "model.onnx") if (tmp_path / "grown").mkdir() is None else None
    status, report, _ = check(grown, "--baseline", file)
    fresh = [finding for finding in report["findings"] if "standing" not in finding]
    assert status == 1 and fresh
    # A note that is a warning now counts, too.
    old = {finding["fingerprint"] for finding in before["findings"] if finding["severity"] != "note"}
    assert old and not old & {finding["fingerprint"] for finding in fresh}
    assert any(finding["op"]["name"] == "extra/op" for finding in fresh)


def test_what_is_gone_is_said(baseline, tmp_path):
    _, file, before = baseline
    mended = tmp_path / "mended.onnx"
    save(overflowing(scale=1.5), mended)
    _, report, _ = check(mended, "--baseline", file)
    gone = {finding["fingerprint"] for finding in before["findings"]} - \
        {finding["fingerprint"] for finding in report["findings"]}
    fixed = {entry["fingerprint"] for entry in report["baseline"]["fixed"]}
    assert fixed and fixed <= gone


def test_what_is_not_listed_is_not_gone(baseline):
    model, file, _ = baseline
    _, report, _ = check(model, "--baseline", file, "--select", "MP1")
    assert not report["baseline"]["fixed"]
    _, report, _ = check(model, "--baseline", file, "--min-certainty", "certain")
    assert not report["baseline"]["fixed"]


def test_names_and_batch_do_not_matter(baseline, tmp_path):
    _, file, _ = baseline
    for name, model in (("renamed", overflowing("other/{}/7")), ("batch", overflowing(batch=9))):
        status, report, _ = check(save(model, tmp_path / f"{name}.onnx"), "--baseline", file)
        assert status == 0 and not report["baseline"]["fixed"], name


def test_a_finding_that_became_worse_counts(baseline, tmp_path):
    model, file, _ = baseline
    content = json.loads(file.read_text())
    for entry in content["models"][0]["findings"]:
        entry["severity"] = "note"
    file.write_text(json.dumps(content))
    assert check(model, "--baseline", file)[0] == 1


def test_a_baseline_of_other_models_knows_nothing(baseline, tmp_path):
    model, file, _ = baseline
    other = save(overflowing(layers=1), tmp_path / "other.onnx")
    done = run_mpopt("--check", other, model, *OPTIONS, "--baseline", file)
    first, second = json.loads(done.stdout)["reports"]
    assert "has no model of this name" in done.stderr
    assert not any("standing" in finding for finding in first["findings"])
    assert all("standing" in finding for finding in second["findings"])


def test_a_baseline_is_written_over_itself(baseline):
    model, file, _ = baseline
    status, _, _ = check(model, "--baseline", file, "--write-baseline", file)
    assert status == 0 and check(model, "--baseline", file)[0] == 0


def test_no_baseline_forgets_a_model_that_cannot_be_read(baseline, tmp_path):
    model, file, _ = baseline
    before = file.read_text()
    done = run_mpopt("--check", model, tmp_path / "nosuch.onnx", *OPTIONS, "--write-baseline", file)
    assert done.returncode == 2 and file.read_text() == before


def test_sarif_marks_what_is_known(baseline, tmp_path):
    _, file, _ = baseline
    grown = save(overflowing(extra=True), tmp_path / "grown.onnx")
    done = run_mpopt("--check", grown, "--precision", "fp16", "--format", "sarif", "--baseline", file)
    document = json.loads(done.stdout)
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    states = [result["baselineState"] for result in document["runs"][0]["results"]]
    assert set(states) == {"new", "unchanged"}


def test_other_forms_say_it(baseline, tmp_path):
    model, file, _ = baseline
    for form, word in (("text", " known"), ("markdown", "Not counted"), ("junit", "<skipped"),
                       ("github", "no findings")):
        done = run_mpopt("--check", model, "--precision", "fp16", "--format", form, "--baseline", file)
        assert done.returncode == 0 and word in done.stdout, form


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"schema": "mpopt-report/1"}',
                                     '{"schema": "mpopt-baseline/1"}',
                                     '{"schema": "mpopt-baseline/1", "models": [1]}',
                                     '{"schema": "mpopt-baseline/1", "models": [{"path": "x"}]}',
                                     '{"schema": "mpopt-baseline/1", "models": [{"path": "x", "precision": "fp16", '
                                     '"findings": [{"fingerprint": "1", "rule": "MP201", "severity": "bad", '
                                     '"certainty": "likely"}]}]}'])
def test_a_bad_baseline_is_one_line(baseline, content):
    model, file, _ = baseline
    file.write_text(content)
    done = run_mpopt("--check", model, "--baseline", file)
    assert done.returncode == 2 and not done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("mpopt: error: --baseline: ")
