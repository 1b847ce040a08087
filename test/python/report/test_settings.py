"""mpopt.toml: settings that are found, overridden and refused, and suppressions."""

from __future__ import annotations

import json

import pytest
from ci_models import overflowing, save
from tool import run_mpopt


@pytest.fixture
def project(tmp_path):
    (tmp_path / "models" / "deep").mkdir(parents=True)
    model = save(overflowing(), tmp_path / "models" / "deep" / "model.onnx")

    def write(text):
        (tmp_path / "mpopt.toml").write_text(text)
        return model

    return write


def check(model, *options, **arguments):
    done = run_mpopt("--check", model, "--format", "json", *options, **arguments)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def test_settings_are_found_above_the_model(project, tmp_path):
    model = project('precision = "bf16"\nselect = ["MP1", "overflow"]\nmin-certainty = "possible"\n')
    _, report, _ = check(model)
    assert report["precision"] == "bf16"
    assert report["settings"].endswith("mpopt.toml")
    assert all(finding["rule"].startswith("MP1") or finding["name"] == "overflow" for finding in report["findings"])
    # Wherever mpopt is started, and by whatever path the model is named.
    _, relative, _ = check("model.onnx", cwd=model.parent)
    assert relative["precision"] == "bf16"


def test_the_nearest_file_holds_alone(project, tmp_path):
    model = project('precision = "bf16"\n')
    (model.parent / "mpopt.toml").write_text('precision = "fp16"\n')
    assert check(model)[1]["precision"] == "fp16"
    assert check(model, "--config", tmp_path / "mpopt.toml")[1]["precision"] == "bf16"
    _, report, _ = check(model, "--config", "none")
    assert report["precision"] == "autocast-fp16" and "settings" not in report


def test_the_command_line_overrides(project):
    model = project('precision = "bf16"\nselect = "MP1"\n[inputs]\nx = "0:1"\n[thresholds]\nnear-overflow = 3\n')
    _, report, _ = check(model, "--precision", "fp16", "--input", "x=-3:3", "--select", "MP2")
    assert report["precision"] == "fp16"
    assert [report["assumptions"][0][key] for key in ("lo", "hi", "source")] == [-3, 3, "option"]
    assert {finding["rule"][:3] for finding in report["findings"]} == {"MP2"}


def test_inputs_by_range_distribution_and_file(project, tmp_path):
    import numpy
    model = project('[inputs]\nx = ["-2:2", "~0.5,0.25"]\n')
    [assumption] = check(model)[1]["assumptions"]
    assert [assumption[key] for key in ("lo", "hi", "mean", "std")] == [-2, 2, 0.5, 0.25]
    numpy.savez(tmp_path / "sample.npz", x=numpy.full((2, 4), 7, numpy.float32))
    model = project('[inputs]\nx = "@sample.npz"\n')
    [assumption] = check(model)[1]["assumptions"]
    assert [assumption[key] for key in ("lo", "hi", "source")] == [7, 7, "data"]


def test_sections_of_models(project, tmp_path):
    model = project('precision = "bf16"\n[model."models/**/model.onnx"]\nprecision = "fp16"\n'
                    '[model."other*"]\nprecision = "as-is"\n')
    other = save(overflowing(layers=1), tmp_path / "models" / "other-1.onnx")
    third = save(overflowing(layers=1), tmp_path / "third.onnx")
    done = run_mpopt("--check", model, other, third, "--format", "json", "--fail-on", "never")
    assert [report["precision"] for report in json.loads(done.stdout)["reports"]] == ["fp16", "as-is", "bf16"]


def test_what_fails_and_the_baseline_hold_for_all(project, tmp_path):
    model = project('precision = "fp16"\nfail-on = "never"\nbaseline = "known.json"\n')
    status, _, _ = check(model, "--baseline", write(tmp_path / "empty.json"))
    assert status == 0
    assert check(model, "--write-baseline", tmp_path / "known.json", "--baseline", tmp_path / "empty.json")[0] == 0
    assert check(model)[1]["baseline"]["known"] > 0


def write(file):
    file.write_text('{"schema": "mpopt-baseline/1", "models": []}')
    return file


def test_suppressions_bear_what_they_fit(project):
    model = project('precision = "fp16"\n')
    _, before, _ = check(model)
    [first, *_] = before["findings"]
    for pattern in (f'rule = "{first["rule"]}"\nop = "{first["op"]["name"]}"',
                    f'fingerprint = "{first["fingerprint"]}"',
                    f'rule = "{first["name"]}"\nop = "*{first["op"]["name"][3:]}"'):
        model = project(f'precision = "fp16"\n[[suppress]]\n{pattern}\nreason = "a test bears it"\n')
        _, report, errors = check(model)
        borne = [finding for finding in report["findings"] if finding.get("standing") == "suppressed"]
        assert first["fingerprint"] in {finding["fingerprint"] for finding in borne}, pattern
        assert {finding["reason"] for finding in borne} == {"a test bears it"}
        assert not errors


def test_all_suppressed_is_clean(project):
    model = project('precision = "fp16"\n[[suppress]]\nrule = "MP"\nreason = "all of it"\nexpires = 2999-12-31\n')
    status, report, _ = check(model)
    assert status == 0 and report["summary"]["error"] == 0
    sarif = json.loads(run_mpopt("--check", model, "--format", "sarif").stdout)
    for result in sarif["runs"][0]["results"]:
        assert result["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "all of it"}]
    junit = run_mpopt("--check", model, "--format", "junit").stdout
    assert "<failure" not in junit and 'message="suppressed: all of it"' in junit


def test_a_suppression_that_fits_nothing_is_said(project):
    model = project('precision = "fp16"\n\n[[suppress]]\nop = "nosuch"\nreason = "r"\n')
    status, _, errors = check(model)
    assert status == 1 and "mpopt.toml:3: the suppression of any rule at 'nosuch' matches nothing" in errors


def test_a_suppression_ends(project):
    model = project('precision = "fp16"\n[[suppress]]\nrule = "MP"\nreason = "r"\nexpires = "2001-01-31"\n')
    status, _, errors = check(model)
    assert status == 1 and "expired on 2001-01-31" in errors


BAD = {
    "precision =": "mpopt.toml:1: ", "nosuch = 1": "there is no setting 'nosuch'", "format = \"json\"": "no setting 'format'",
    'precision = "fp17"': "--precision: 'fp17' is not", "precision = true": "'precision' needs a value",
    "train = 1": "'train' is true or false", "precision = {}": "there is no section 'precision'",
    "[inputs]\nnosuch = \"0:1\"": "no input 'nosuch'", "inputs = 1": "is not a table",
    "[[suppress]]\nrule = \"MP2\"": "needs a reason", "[[suppress]]\nreason = \"r\"": "needs a rule, an op or a fingerprint",
    "[[suppress]]\nrule = \"MP999\"\nreason = \"r\"": "does not exist", "suppress = 1": "is not a list of tables",
    "[[suppress]]\nrule = \"MP2\"\nreason = \"r\"\nuntil = 1": "has no 'until'",
    "[[suppress]]\nrule = \"MP2\"\nreason = \"r\"\nexpires = \"soon\"": "which is no date",
    "[[suppress]]\nop = \"[\"\nreason = \"r\"": "is no pattern", "[model.\"[\"]\nprecision = \"fp16\"": "is no pattern",
    "[model.\"x\"]\nfail-on = \"never\"": "holds for all models", "model = 1": "'model' is not a table",
    "a" * 2000000: "longer than a megabyte", "[x" * 5000: "mpopt.toml:1: ", "x = " + "[" * 5000: "mpopt.toml:1: ",
    "precision = \"\\u202e\"": "is not", "\x00": "mpopt.toml:1: ",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_file_is_one_line(project, text):
    done = run_mpopt("--check", project(text))
    assert done.returncode == 2 and not done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("mpopt: error: ") and BAD[text] in line and line.isprintable()


def test_settings_hold_for_probes_too(project, tmp_path):
    model = project('precision = "bf16"\n')
    done = run_mpopt("--instrument", model, "-o", tmp_path / "probed.onnx")
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "probed.onnx.probes.json").read_text())["precision"] == "bf16"


def test_settings_are_not_written_over(project, tmp_path):
    done = run_mpopt("--check", project('precision = "fp16"\n'), "-o", tmp_path / "mpopt.toml")
    assert done.returncode == 2 and "would overwrite the settings" in done.stderr
