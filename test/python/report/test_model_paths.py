"""Folders and patterns in the place of models, several reports of one run, and settings in pyproject.toml."""

import json
import shutil
import xml.etree.ElementTree
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from ci_models import overflowing, save
from safetensors.numpy import save_file
from tool import run_mpopt

SCHEMA = json.loads((Path(__file__).parent / "Inputs/sarif-2.1.0.schema.json").read_text())
#: Of the models in `tree`.
NAMES = ["bad.onnx", "deep/inner/good.onnx", "good.onnx"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Two sound models and one that overflows, beside files that are none."""
    root = tmp_path_factory.mktemp("tree")
    (root / "models/deep/inner").mkdir(parents=True)
    (root / "models/.cache").mkdir()
    save(overflowing(), root / "models/bad.onnx")
    good = save(overflowing(scale=0.1), root / "models/good.onnx")
    shutil.copy(good, root / "models/deep/inner/good.onnx")
    shutil.copy(good, root / "models/.cache/hidden.onnx")
    (root / "models/weights.pt").write_bytes(b"no program")
    (root / "models/notes.txt").write_text("no model")
    (root / "models/deep/back").symlink_to(root / "models")
    return root


def check(tree, *arguments, status=1):
    done = run_mpopt("check", *arguments, "--precision", "fp16", cwd=tree)
    assert done.returncode == status, done.stderr
    return done


def listed(tree, *arguments, status=1):
    document = json.loads(check(tree, *arguments, "--format", "json", status=status).stdout)
    assert document["schema"] == "mpopt-reports/1"
    return [report["model"]["path"] for report in document["reports"]]


@pytest.mark.parametrize("word", ["models", "models/", "./models", "models/**/*.onnx", "m*s", "**/models"])
def test_a_folder_is_the_models_in_it(tree, word):
    assert [str(Path(path).relative_to("models")) for path in listed(tree, word)] == NAMES


@pytest.mark.parametrize(("pattern", "names", "status"), [
    ("models/*.onnx", ["bad.onnx", "good.onnx"], 1), ("models/[g-z]*.onnx", ["good.onnx"], 0),
    ("models/deep/**", ["deep/inner/good.onnx"], 0), ("models/.cache/*", [".cache/hidden.onnx"], 0),
    ("models/b?d.onnx", ["bad.onnx"], 1)])
def test_a_pattern_is_the_files_that_match(tree, pattern, names, status):
    assert [str(Path(path).relative_to("models")) for path in listed(tree, pattern, status=status)] == names


def test_the_working_directory_has_the_names_of_its_models(tree):
    done = run_mpopt("check", ".", "--format", "json", cwd=tree / "models")
    assert [report["model"]["path"] for report in json.loads(done.stdout)["reports"]] == NAMES


def test_absolute_and_several(tree):
    assert len(listed(tree, tree / "models", tree / "models/*.onnx")) == 5


def test_a_file_of_a_patterns_name_is_itself(tree, tmp_path):
    shutil.copy(tree / "models/good.onnx", tmp_path / "a[1].onnx")
    done = run_mpopt("check", "a[1].onnx", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["model"]["path"] == "a[1].onnx"


def test_the_summary_has_a_line_for_each_model(tree):
    lines = check(tree, "models").stdout.splitlines()
    assert lines[-4].startswith("models/bad.onnx: Inf or NaN; ") and " error" in lines[-4]
    assert lines[-3].startswith("models/deep/inner/good.onnx: fine; ")
    assert lines[-2].startswith("models/good.onnx: fine; ")
    assert lines[-1].startswith("3 models: ")


def test_a_model_without_low_precision_is_fine_where_nothing_is_found(tree):
    done = run_mpopt("check", "models", "--precision", "as-is", cwd=tree)
    assert done.returncode == 0 and "models/bad.onnx: fine; no findings\n" in done.stdout


def test_a_model_that_cannot_be_read_does_not_stop_the_others(tree, tmp_path):
    shutil.copytree(tree / "models", tmp_path / "models", symlinks=True)
    (tmp_path / "models/broken.onnx").write_bytes(b"\x08\x07garbage")
    done = run_mpopt("check", "models", "--format", "json", cwd=tmp_path)
    assert done.returncode == 2 and "models/broken.onnx: " in done.stderr and done.stderr.count("\n") == 1
    assert len(json.loads(done.stdout)["reports"]) == 3
    # The error is far above the end of the text.
    assert run_mpopt("check", "models", cwd=tmp_path).stdout.endswith("\n1 of 4 models not judged\n")


@pytest.mark.parametrize(("word", "error"), [
    ("empty", "'empty' holds no model (.onnx, "), ("models/*.onx", "no file matches 'models/*.onx'"),
    ("models/[", "'models/[': ")])
def test_nothing_to_judge_is_an_error(tree, word, error):
    (tree / "empty").mkdir(exist_ok=True)
    done = check(tree, word, status=2)
    assert done.stderr.startswith(f"mpopt: error: {error}") and done.stderr.count("\n") == 1 and not done.stdout


def test_a_folder_without_models_is_its_checkpoints(tmp_path):
    save_file({"w": np.ones((2, 2), np.float32)}, tmp_path / "model.safetensors")
    done = run_mpopt("check", tmp_path, "--format", "json")
    assert [report["model"]["path"] for report in json.loads(done.stdout)["reports"]] == [
        str(tmp_path / "model.safetensors")]


def test_options_of_one_model_refuse_a_folder(tree):
    done = check(tree, "models/deep", "--dump-ranges", tree / "ranges.json", status=2)
    assert "--dump-ranges takes one model" in done.stderr


def test_each_output_has_the_form_of_its_ending(tree, tmp_path):
    files = [tmp_path / f"report{ending}" for ending in (".json", ".sarif", ".xml", ".md", ".html", ".txt")]
    done = check(tree, "models", *(word for file in files for word in ("-o", file)))
    assert not done.stdout
    read = {file.suffix: file.read_text() for file in files}
    assert len(json.loads(read[".json"])["reports"]) == 3
    sarif = json.loads(read[".sarif"])
    jsonschema.validate(sarif, SCHEMA)
    places = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
              for run in sarif["runs"] for result in run["results"]}
    assert "models/bad.onnx" in places
    suites = xml.etree.ElementTree.fromstring(read[".xml"])
    assert [suite.get("name") for suite in suites.iter("testsuite")] == [f"models/{name}" for name in NAMES]
    assert read[".md"].lstrip().startswith("#") and "<html" in read[".html"] and "3 models: " in read[".txt"]


def test_form_and_several_outputs_exclude_each_other(tree, tmp_path):
    done = check(tree, "models", "--format", "json", "-o", tmp_path / "a.json", "-o", tmp_path / "b.json", status=2)
    assert "without --format" in done.stderr and not list(tmp_path.iterdir())
    done = check(tree, "models", "-o", tmp_path / "a.json", "-o", tmp_path / "a.json", status=2)
    assert "two outputs go to" in done.stderr and not list(tmp_path.iterdir())


def test_a_form_that_is_given_stays(tree, tmp_path):
    check(tree, "models/bad.onnx", "--format", "markdown", "-o", tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text().lstrip().startswith("#")


def test_settings_of_a_python_project(tree, tmp_path):
    (tmp_path / "models").mkdir()
    shutil.copy(tree / "models/bad.onnx", tmp_path / "models/bad.onnx")
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "x"\n\n[tool.mpopt]\nprecision = "bf16"\n'
                       '[tool.mpopt.model."bad.onnx"]\nprecision = "fp16"\n'
                       '[[tool.mpopt.suppress]]\nrule = "MP201"\nreason = "known"\n'
                       '[tool.mpopt.lint]\nselect = ["MP7"]\n')

    def judged(*options):
        done = run_mpopt("check", "models/bad.onnx", "--format", "json", *options, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    report = judged()
    assert report["precision"] == "fp16" and report["settings"] == "pyproject.toml"
    assert any(finding.get("standing") == "suppressed" for finding in report["findings"])
    assert judged("--config", "none")["precision"] != "fp16"
    # A project's own file goes first, and a package without the table is passed over.
    (tmp_path / "mpopt.toml").write_text('precision = "as-is"\n')
    assert judged()["precision"] == "as-is"
    (tmp_path / "mpopt.toml").unlink()
    project.write_text("[project]\nbroken = \n")
    assert "settings" not in judged()
    project.write_text('[tool.mpopt]\nprecison = "fp16"\n')
    done = run_mpopt("check", "models/bad.onnx", cwd=tmp_path)
    assert done.returncode == 2 and "pyproject.toml:2: there is no setting 'precison'" in done.stderr


def test_words_of_a_training_run(tree):
    def step(*options):
        done = run_mpopt("models/good.onnx", "--train", "--format", "json", *options, cwd=tree)
        assert done.returncode in (0, 1), done.stderr
        report = json.loads(done.stdout)
        return report["precision"], report["training"]["settings"]

    by_lr = step("--lr", "3e-4", "--fp16")
    assert by_lr == ("autocast-fp16", [{"name": "optimizer", "value": "adamw, lr 0.0003", "source": "options"}])
    assert step("--optimizer", "adamw:learning_rate=3e-4", "--fp16") == by_lr
    assert step("--optimizer", "adamw,lr=3e-4", "--precision", "autocast-fp16") == by_lr
    done = run_mpopt("models/good.onnx", "--train", "--lr", "1", "--optimizer", "sgd,lr=2", cwd=tree)
    assert done.returncode == 2 and "lr is given twice" in done.stderr
