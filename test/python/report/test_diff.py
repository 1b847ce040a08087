"""--diff: findings, dtypes, ranges and ops that changed, by structure and not by name."""

from __future__ import annotations

import json

import numpy
import onnx
import pytest
from ci_models import info, overflowing, save
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt


def diff(a, b, *options):
    done = run_mpopt("--diff", a, b, "--format", "json", *options)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def models(tmp_path):
    return lambda name, **how: save(overflowing(**how), tmp_path / f"{name}.onnx")


def test_a_renamed_model_is_the_same(models):
    status, report = diff(models("a"), models("b", names="other/{}/3"), "--precision", "fp16")
    assert status == 0 and report["matched"] == report["a"]["ops"] == report["b"]["ops"]
    assert not any(report[key] for key in ("came", "went", "dtypes", "ranges", "only_a", "only_b"))
    assert report["stayed"] == report["a"]["findings"] > 0


def test_a_model_that_grew(models):
    status, report = diff(models("a"), models("b", extra=True), "--precision", "fp16")
    assert status == 1
    assert "extra/op" in {op["name"] for op in report["only_b"]}
    assert any(entry["op"] == "extra/op" for entry in report["came"])


def test_ranges_that_moved(models, tmp_path):
    a = models("a")
    status, report = diff(a, a)
    assert not report["ranges"]
    # The ranges of one model under two bounds are those of two reports' models.
    b = models("b", scale=3000.0)
    _, report = diff(a, b, "--precision", "as-is")
    assert report["only_a"] and report["only_b"]


def test_reports_have_findings_only(models, tmp_path):
    for name, extra in (("a", False), ("b", True)):
        run_mpopt("--check", models(name, extra=extra), "--precision", "fp16", "--format", "json", "-o",
                  tmp_path / f"{name}.json")
    status, report = diff(tmp_path / "a.json", tmp_path / "b.json")
    assert status == 1 and report["came"] and report["matched"] == 0
    status, report = diff(tmp_path / "b.json", tmp_path / "a.json")
    assert status == int(any(entry["severity"] != "note" for entry in report["came"]))


def converted(path, wide):
    """Layers of matmul in FP16, with the ops of `wide` between casts to FP32 and back."""
    weight = numpy.linspace(-1, 1, 64, dtype=numpy.float32).reshape(8, 8)
    half = path.stem != "original"
    nodes, value = [], "x"
    if half:
        nodes.append(helper.make_node("Cast", ["x"], ["x16"], to=TensorProto.FLOAT16))
        value = "x16"
    constants = []
    for layer in range(3):
        for kind in ("Sigmoid", "MatMul"):
            name = f"{kind}{layer}"
            narrow = half and name not in wide
            inputs = [value]
            if kind == "MatMul":
                stored = weight.astype(numpy.float16) if narrow else weight
                constants.append(numpy_helper.from_array(stored, f"w{layer}"))
                inputs.append(f"w{layer}")
            if half and not narrow:
                nodes.append(helper.make_node("Cast", [value], [name + "32"], to=TensorProto.FLOAT))
                inputs[0] = name + "32"
            nodes.append(helper.make_node(kind, inputs, [name], name=name))
            value = name
            if half and not narrow:
                nodes.append(helper.make_node("Cast", [value], [name + "16"], to=TensorProto.FLOAT16))
                value = name + "16"
    nodes.append(helper.make_node("Cast", [value], ["y"], to=TensorProto.FLOAT) if half else
                 helper.make_node("Identity", [value], ["y"]))
    graph = helper.make_graph(nodes, "g", [info("x", (2, 8))], [info("y", (2, 8))], constants)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_a_converter_is_judged(tmp_path):
    original = converted(tmp_path / "original.onnx", ())
    careful = converted(tmp_path / "careful.onnx", ("Sigmoid1", "MatMul2"))
    _, report = diff(original, careful)
    assert report["a"]["precision"] == "fp16"
    assert report["matched"] == report["a"]["ops"]
    # Nothing of these values needs FP32.
    assert {pair["b"]["name"] for pair in report["wide"]} == {"Sigmoid1", "MatMul2"}
    assert {pair["b"]["dtype"] for pair in report["dtypes"]} == {"f16"}
    assert report["b"]["casts"] > report["a"]["casts"] == 0


@pytest.mark.parametrize("form,words", [("text", ("findings: ", "new ops")), ("markdown", ("## mpopt", "new ops"))])
def test_forms_for_people(models, form, words):
    done = run_mpopt("--diff", models("a"), models("b", extra=True), "--precision", "fp16", "--format", form)
    assert done.returncode == 1 and all(word in done.stdout for word in words)


@pytest.mark.parametrize("text", ["{", "{}", '{"schema": "mpopt-reports/1", "reports": []}', '{"schema": 1}'])
def test_a_bad_report_is_one_line(models, tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    done = run_mpopt("--diff", models("a"), tmp_path / "bad.json")
    assert done.returncode == 2 and not done.stdout
    [line] = done.stderr.splitlines()
    assert line.startswith("mpopt: error: ")


def test_a_missing_side_is_one_line(models, tmp_path):
    done = run_mpopt("--diff", tmp_path / "nosuch.onnx", models("b"))
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
