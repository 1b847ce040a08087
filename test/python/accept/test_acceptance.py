"""The acceptance table's own logic: weights by recipe, judgements, entries, and the command."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tool import MPOPT, ROOT

ACCEPT = ROOT / "bench" / "accept"
# Behind all others: bench has modules whose names tests use, too.
sys.path += [str(ACCEPT), str(ACCEPT.parent)]

import baseline  # noqa: E402
import judgement  # noqa: E402
import skeleton  # noqa: E402
import table  # noqa: E402
import weights  # noqa: E402
from judgement import Outcome  # noqa: E402

F32 = np.dtype("float32")


# -- weights -------------------------------------------------------------------


def make(recipe: dict, shape=(400, 50), dtype=F32, name="w", seed=0):
    return weights.make_weight(name, shape, dtype, {"*": recipe}, seed)


def test_recipes_have_the_moments_that_they_state():
    normal, tailed = make({"std": 0.5, "mean": 2}), make({"std": 0.5, "tail": 5})
    assert normal.mean() == pytest.approx(2, abs=0.02) and normal.std() == pytest.approx(0.5, rel=0.02)
    assert tailed.std() == pytest.approx(0.5, rel=0.05)
    assert abs(tailed).max() > 1.5 * abs(normal - 2).max()
    assert np.median(make({"median": 3, "spread": 0.7})) == pytest.approx(3, rel=0.03)
    assert (make({"value": 7}) == 7).all()
    uniform = make({"low": -1, "high": 3})
    assert uniform.min() >= -1 and uniform.max() <= 3 and uniform.mean() == pytest.approx(1, abs=0.05)


def test_factors_apply_to_what_they_name():
    plain, changed = make({"std": 1}), make({"std": 1, "times": 2, "channels": [3], "by": 10})
    np.testing.assert_allclose(changed[:, 3], 20 * plain[:, 3], rtol=1e-6)
    np.testing.assert_allclose(changed[:, 4], 2 * plain[:, 4], rtol=1e-6)
    rows = make({"std": 1, "rows": [1], "by": 10})
    np.testing.assert_allclose(rows[1], 10 * plain[1], rtol=1e-6)


def test_each_weight_has_a_stream_of_its_own():
    assert (make({"std": 1}) == make({"std": 1})).all()
    assert (make({"std": 1}) != make({"std": 1}, name="v")).any()
    assert (make({"std": 1}) != make({"std": 1}, seed=1)).any()


def test_the_first_pattern_wins_and_integers_are_rounded():
    recipes = {"a.*": {"value": 1}, "*": {"value": 2.6}}
    assert weights.make_weight("a.b", (1,), F32, recipes, 0) == 1
    assert weights.make_weight("b.a", (1,), np.dtype("int8"), recipes, 0) == 3


@pytest.mark.parametrize("recipe", [{}, {"times": 2}, {"std": 1, "low": 0}, {"sdt": 1}])
def test_what_is_no_distribution_is_refused(recipe):
    with pytest.raises(ValueError, match="describe no distribution"):
        make(recipe)
    with pytest.raises(ValueError, match="no recipe"):
        weights.make_weight("w", (1,), F32, {"v": {"value": 1}}, 0)


# -- skeletons -----------------------------------------------------------------


def entry(path: str, sizes: list[int], is_param: bool) -> dict:
    return {"path_name": path, "is_param": is_param,
            "tensor_meta": {"dtype": 7, "sizes": [{"as_int": size} for size in sizes]}}


def archive(file, buffer: bytes = b"\1" * 8):
    """What torch.export.save writes, as far as skeletons read it: a tied weight, a buffer."""
    config = {"table": entry("weight_0", [3, 2], True), "head": entry("weight_0", [3, 2], True),
              "rate": entry("weight_1", [len(buffer) // 4], False)}
    node = {"metadata": {"stack_trace": "t" * 100, "nn_module_stack": "L,,A;L__l,layers.0,B"}}
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("x/models/model.json", json.dumps({"graph_module": {"graph": {"nodes": [node]}}}))
        made.writestr("x/data/weights/weight_0", b"\2" * 24)
        made.writestr("x/data/weights/weight_1", buffer)
        made.writestr("x/data/weights/model_weights_config.json", json.dumps({"config": config}))
    return file


def test_a_skeleton_has_everything_but_weights_and_traces(tmp_path):
    skeleton.strip(archive(tmp_path / "whole.pt2"), tmp_path / "s.pt2")
    with zipfile.ZipFile(tmp_path / "s.pt2") as made:
        assert "model/data/weights/weight_0" not in made.namelist()
        assert made.read("model/data/weights/weight_1") == b"\1" * 8
        node, = json.loads(made.read("model/models/model.json"))["graph_module"]["graph"]["nodes"]
        assert node["metadata"] == {"nn_module_stack": "L__l,layers.0,B"}


def test_weights_are_put_in_once_and_aligned(tmp_path):
    asked = []
    skeleton.strip(archive(tmp_path / "whole.pt2"), tmp_path / "s.pt2")

    def give(name, shape, dtype):
        asked.append((name, shape))
        return np.full(shape, 5, dtype)

    skeleton.fill(tmp_path / "s.pt2", tmp_path / "filled.pt2", give)
    assert asked == [("table", (3, 2))]
    whole = (tmp_path / "filled.pt2").read_bytes()
    with zipfile.ZipFile(tmp_path / "filled.pt2") as filled:
        assert filled.testzip() is None
        for info in filled.infolist():
            start = info.header_offset + 30 + len(info.filename) + int.from_bytes(
                whole[info.header_offset + 28:info.header_offset + 30], "little")
            assert info.compress_type == zipfile.ZIP_STORED and start % skeleton.ALIGNMENT == 0
        assert filled.read("model/data/weights/weight_0") == np.full(6, 5, F32).tobytes()


def test_a_large_buffer_is_no_skeleton(tmp_path):
    with pytest.raises(ValueError, match="rate is larger"):
        skeleton.strip(archive(tmp_path / "whole.pt2", bytes(8192)), tmp_path / "s.pt2")


# -- descriptions --------------------------------------------------------------

TEXT = """
about: a product
graph: |
  <ir_version: 10, opset_import: ["" : 20]>
  g (float[2, 3] x) => (float[2, 4] y) <float[3, 4] w, float c = {2}> {
    a = MatMul (x, w)
    y = Mul (a, c)
  }
weights: {w: {std: 1}}
inputs: {x: {lo: -2, hi: 2}}
rows: {fp16: passes}
"""


def test_declared_tensors_become_weights():
    model = table.parse_model("product", TEXT)
    assert {tensor.name: list(tensor.dims) for tensor in model.proto().graph.initializer} == {"w": [3, 4], "c": []}
    assert model.arguments("fp16", Path("t.onnx")) == ["--input", "x=-2:2", "--input", "x~0,1"]


@pytest.mark.parametrize("old, new, message", [
    ("about", "abuot", "unknown key abuot"),
    ("rows: {fp16: passes}", "", "no rows"),
    ("fp16: passes", "fp16: passed", "verdict of fp16 is passed"),
    ("fp16: passes", "train: unjudged", "no graph with a loss"),
])
def test_a_wrong_description_is_refused(old, new, message):
    with pytest.raises(ValueError, match=message):
        table.parse_model("product", TEXT.replace(old, new))


def test_the_table_is_small_and_whole():
    models = table.read_models()
    rows = {f"{model.name} {row}" for model in models for row in model.rows}
    assert 25 <= len(models) <= table.MOST_MODELS
    assert sum(file.stat().st_size for file in ACCEPT.rglob("*") if "__pycache__" not in file.parts and
               file.is_file()) <= table.MOST_BYTES
    for name in ("truth.json", "expected.json"):
        assert set(json.loads((ACCEPT / name).read_text())) == rows, name


# -- truth ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def truth():
    loader = importlib.machinery.SourceFileLoader("accept_truth", str(ACCEPT / "truth"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def moved(error, worst=0.0) -> dict:
    return {"outputs": {"y": {"error": error} | ({} if error == "inf" else {"worst": worst})}}


@pytest.mark.parametrize("verdict, figures", [
    ("passes", moved(0.001, 0.016)), ("passes", moved("inf")), ("fails", moved(0.02, 0.5)), ("fails", {"lost": 0.05}),
    ("passes", {"lost": 0.05}), ("passes", {"lost": "inf"}),
])
def test_figures_that_contradict_a_verdict(truth, verdict, figures):
    assert truth.contradiction(verdict, figures).startswith(f"verdict is `{verdict}`")


@pytest.mark.parametrize("verdict, figures", [
    ("passes", moved(0.001, 0.015)), ("fails", moved("inf")), ("fails", moved(0.03, 0.03)), ("unjudged", moved(0.02, 0.02)),
    ("passes", {"lost": 0.0}), ("fails", {"lost": "inf"}), ("fails", {"lost": 0.2}), ("unjudged", {"lost": 0.05}),
])
def test_figures_that_allow_a_verdict(truth, verdict, figures):
    assert not truth.contradiction(verdict, figures)


def test_stored_figures_that_do_not_hold(truth):
    stored = moved(0.01, 0.02) | {"extremes": {"a": [-0.001, 5.0]}}
    assert not list(truth.differences(stored, moved(0.0105, 0.0195) | {"extremes": {"a": [0.3, 5.2]}}))
    found = truth.differences(stored, moved("inf") | {"extremes": {"a": [-1.0, 5.0]}})
    assert [text.split(":")[0].strip() for text in found] == ["extremes a", "outputs y error", "outputs y worst"]


# -- judgements ----------------------------------------------------------------


def finding(severity="error", certainty="likely", rule="MP201", **more) -> dict:
    return {"severity": severity, "certainty": certainty, "rule": rule, "op": {"type": "Mul"}, **more}


def test_the_first_root_fails_the_model():
    assert judgement.first_root([finding(root="f"), finding("note"), finding(certainty="possible"),
                                 finding("warning", rule="MP305"), finding()]) == "MP305 Mul"
    assert judgement.first_root([finding("note")]) == ""


@pytest.mark.parametrize("said, true, ratio", [
    (0.02, 0.01, 2), (None, 0.01, math.inf), (math.inf, 0.01, math.inf), (math.inf, math.inf, 1),
    (0.01, math.inf, 0), (0.0, 0.0, 1), (0.01, 0.0, math.inf), (None, math.inf, math.inf),
])
def test_ratios(said, true, ratio):
    assert judgement.ratio_of(said, true) == ratio


def test_the_output_that_is_furthest_off_counts():
    outcome = Outcome("passes")
    judgement.judge_errors(outcome, [{"expected_error": 0.02}, {"expected_error": 0.1}, {"expected_error": 0.01}],
                           {name: {"error": 0.01} for name in "abc"})
    assert (outcome.error, outcome.ratio) == (0.1, 10)


def test_extremes_outside_of_bounds_are_named():
    outcome = Outcome("passes")
    tensor = {"lo": -1, "hi": "inf", "likely": {"lo": -0.5, "hi": 0.5}}
    judgement.judge_extremes(outcome, {"a": tensor, "b": tensor},
                             {"a": [-1, 0.6], "b": [-1.01, 9], "c": [0, 1]})
    assert [text.split()[0] for text in outcome.broken] == ["b", "c"]
    assert outcome.likely == (1, 2)


def test_a_gradient_without_an_estimate_is_not_near():
    outcome = Outcome("passes")
    judgement.judge_gradients(outcome, {"a": {"rms": 0.3}, "b": {"rms": None}}, {"a": 0.1, "b": 0.1, "c": 0.1})
    assert outcome.near_gradients == 1 and len(outcome.gradients) == 3


# -- entries -------------------------------------------------------------------


def good(**more) -> dict:
    return {"verdict": "passes", "first": "", "error": 0.01, "ratio": 1.0, "gradients": [8, 9]} | more


@pytest.mark.parametrize("old, new, text", [
    ({}, {"verdict": "fails"}, "verdict passes -> fails"),
    ({}, {"verdict": "exit 2: error"}, "verdict passes -> exit 2"),
    ({}, {"ratio": 4.1}, "expected error left the band"),
    ({}, {"ratio": "inf", "error": None}, "expected error left the band"),
    ({}, {"gradients": [7, 9]}, "gradients within 4x 8 -> 7 of 9"),
    ({}, {"broken": ["t [0, 2] in [0, 1]"]}, "out of bounds: t"),
])
def test_what_is_worse(old, new, text):
    found, = baseline.worse(good(**old), good(**new), "passes")
    assert found.startswith(text)


@pytest.mark.parametrize("old, new, right", [
    ({"verdict": "fails"}, {}, "passes"), ({"verdict": "fails"}, {"verdict": "fails"}, "passes"),
    ({"ratio": 5.0}, {"ratio": 50.0}, "passes"), ({}, {"ratio": 0.26}, "passes"),
    ({}, {"verdict": "fails"}, "unjudged"), ({"gradients": [7, 9]}, {}, "passes"),
])
def test_what_is_not_worse(old, new, right):
    assert not list(baseline.worse(good(**old), good(**new), right))


def test_small_changes_of_estimates_are_no_changes():
    assert not list(baseline.changes(good(), good(error=0.01005)))
    assert list(baseline.changes(good(), good(error=0.0103, first="MP201 Mul"))) == [
        "first root finding - -> MP201 Mul", "expected error 1 % -> 1 %"]
    assert list(baseline.changes(good(), good(error=None))) == ["expected error 1 % -> unknown"]


def test_costs_differ_by_more_than_noise():
    old = Outcome("passes", seconds=1, mib=100)
    assert not list(baseline.cost_changes(old, Outcome("passes", seconds=1.4, mib=140)))
    assert list(baseline.cost_changes(old, Outcome("passes", seconds=0.5, mib=200))) == [
        "processor time 1 -> 0.5 s", "memory 100 -> 200 MiB"]


def test_an_entry_must_exist_and_explain_a_wrong_verdict():
    outcomes, rights = {"m fp16": Outcome("passes")}, {"m fp16": "fails"}
    assert baseline.compare(outcomes, rights, {}) == ["m fp16: has no entry"]
    wrong = {"m fp16": {"verdict": "passes", "first": ""}}
    assert baseline.compare(outcomes, rights, wrong) == ["m fp16: the entry's verdict is wrong and has no reason"]
    wrong["m fp16"]["reason"] = "no estimate yet"
    assert not baseline.compare(outcomes, rights, wrong)


def test_an_update_asks_for_a_reason_and_keeps_it_while_it_is_needed():
    rights = {"m fp16": "passes"}
    bad_now = {"m fp16": Outcome("fails", error=0.1, ratio=10)}
    entries, bad = baseline.update(bad_now, rights, {"m fp16": good()}, "")
    assert len(bad) == 1 and "verdict passes -> fails" in bad[0]
    entries, bad = baseline.update(bad_now, rights, {"m fp16": good()}, "masks")
    assert not bad and entries["m fp16"]["reason"] == "masks"
    entries, bad = baseline.update(bad_now, rights, entries, "")
    assert not bad and entries["m fp16"]["reason"] == "masks"
    entries, bad = baseline.update({"m fp16": Outcome("passes", error=0.01, ratio=1)}, rights, entries, "")
    assert not bad and "reason" not in entries["m fp16"]


# -- the command ---------------------------------------------------------------


def run(*arguments) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ACCEPT / "run", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def stand_in(file, status: int, error: float):
    """A program that says the same of every model."""
    report = {"findings": [], "effects": [{"expected_error": error}]}
    file.write_text(f"""#!{sys.executable}
import json, sys
given = dict(zip(sys.argv, sys.argv[1:]))
json.dump({report!r}, open(given["-o"], "w"))
json.dump({{"tensors": {{}}}}, open(given["--dump-ranges"], "w"))
sys.exit({status})
""")
    file.chmod(0o755)
    return file


def test_a_binary_that_fails_everything_is_worse(tmp_path):
    done = run("mlp-sound", "--binary", stand_in(tmp_path / "a", 1, 0.5))
    assert done.returncode == 1
    assert "worse: mlp-sound fp16: verdict passes -> fails, right is passes" in done.stdout
    assert "sound models that pass: 0 of 2 (0 %)" in done.stdout
    crashed = run("mlp-sound", "--binary", "/bin/false")
    assert crashed.returncode == 1 and "no report" in crashed.stdout


def test_two_binaries_are_compared_line_by_line(tmp_path):
    first, second = stand_in(tmp_path / "a", 0, 0.001), stand_in(tmp_path / "b", 1, 0.5)
    done = run("mlp-sound", "--binary", first, "--against", second)
    changes = done.stdout.split("== changes\n")[1].splitlines()
    assert changes[:2] == ["mlp-sound bf16: verdict fails -> passes", "mlp-sound bf16: expected error 50 % -> 0.1 %"]
    assert done.returncode == 0
    assert "== no change" in run("mlp-sound", "--binary", first, "--against", first).stdout


def test_bad_arguments_are_refused():
    for arguments, message in ((["no-such-model"], "no model is called no-such-model"),
                               (["--binary", "/nowhere"], "/nowhere is no program")):
        done = run(*arguments)
        assert done.returncode == 2 and message in done.stderr.splitlines()[-1]


def test_the_entries_hold_for_this_build():
    done = run("mlp-sound", "llama2-layers", "--binary", MPOPT)
    assert done.returncode == 0, done.stdout
