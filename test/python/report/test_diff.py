"""--diff: findings, dtypes, ranges and ops that changed, by structure and not by name."""

from __future__ import annotations

import json
import re
import subprocess

import numpy
import onnx
import pytest
from ci_models import info, overflowing, save
from onnx import TensorProto, helper, numpy_helper
from page_models import layers
from tool import MPOPT, run_mpopt


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


def test_ranges_that_moved(models):
    """A number that changed: its op and those behind it are the same ops, with other ranges."""
    a = models("a")
    status, report = diff(a, a)
    assert status == 0 and not report["ranges"]
    _, report = diff(a, models("b", scale=3000.0, names="other/{}"), "--precision", "as-is")
    assert not report["only_a"] and not report["only_b"] and report["matched"] == report["a"]["ops"]
    moved = {pair["a"]["name"]: pair for pair in report["ranges"]}
    first = moved["layers.0.mul/op"]
    assert first["b"]["name"] == "other/layers.0.mul/op"
    assert first["b"]["bound"]["hi"] == pytest.approx(10 * first["a"]["bound"]["hi"])


def test_one_of_equal_layers_that_changed(tmp_path):
    """The rest keep their partners, and findings follow their ops."""
    a, b = layers(tmp_path / "a.onnx", 96), layers(tmp_path / "b.onnx", 96, large=5)
    _, report = diff(a, b, "--precision", "fp16")
    assert [op["name"].split("/")[3] for op in report["only_a"] + report["only_b"]] == ["layer.5", "layer.5"]
    assert not report["went"] and report["stayed"] == report["a"]["findings"]
    assert all("layer.5" in entry["op"] for entry in report["came"])


def test_a_finding_that_got_worse_came(models):
    a, b = models("a", scale=9.0), models("b", scale=9000.0)
    _, report = diff(a, b, "--precision", "fp16")
    worse = [entry for entry in report["came"] if entry.get("elsewhere") in ("note", "warning")]
    assert all(entry["severity"] in ("warning", "error") for entry in worse)
    assert report["stayed"] + len(report["came"]) == report["b"]["findings"]


def test_reports_compare_what_has_findings(models, tmp_path):
    for name, extra in (("a", False), ("b", True)):
        run_mpopt("--check", models(name, extra=extra), "--precision", "fp16", "--format", "json", "-o",
                  tmp_path / f"{name}.json")
    status, report = diff(tmp_path / "a.json", tmp_path / "b.json")
    assert status == 1 and report["came"] and report["a"]["kind"] == report["b"]["kind"] == "report"
    assert not report["only_a"] and not report["only_b"] and report["matched"] > 0
    status, report = diff(tmp_path / "b.json", tmp_path / "a.json")
    assert status == int(any(entry["severity"] != "note" for entry in report["came"]))
    # A model beside a report of it is compared by what has findings, too.
    status, report = diff(tmp_path / "a.json", models("a"), "--precision", "fp16")
    assert status == 0 and report["stayed"] == report["a"]["findings"] > 0 and report["matched"] > 0 and not report["ranges"]


def test_a_report_may_come_by_a_pipe(models, tmp_path):
    model = models("a")
    run_mpopt("--check", model, "--precision", "fp16", "--format", "json", "-o", tmp_path / "a.json")
    done = subprocess.run(["bash", "-c", '"$0" --diff <(cat "$1") "$1" --format json', MPOPT, tmp_path / "a.json"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0 and json.loads(done.stdout)["stayed"] > 0, done.stderr


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


def test_errors_of_both_sides_come_first(tmp_path):
    """And one dtype that is another at many ops is a line."""
    wide = save(overflowing(layers=4, scale=1.0), tmp_path / "wide.onnx")
    half = tmp_path / "half.onnx"
    assert run_mpopt("--convert", wide, "-o", half, "--to", "fp16", "--write-anyway").returncode in (0, 1)
    text = run_mpopt("--diff", wide, half).stdout
    errors, _, rest = text.partition("expected errors of outputs (1)\n")[2].partition("\n\n")
    assert re.fullmatch(r"  --> \S+: [\d.]+ % -> [\d.]+ %", errors)
    assert re.search(r"other dtypes \(9\)\n  --> \S+ and 8 more: f32 -> f16\n", rest)


def test_a_limited_constant_is_listed(tmp_path):
    """What a converter wrote as another number, and not what it rounded."""
    sides = []
    for name, dtype, scale in (("a", numpy.float32, 20000), ("b", numpy.float16, 10000)):
        kind = helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        nodes = [helper.make_node("Sigmoid", ["x"], ["s"], name="s"), helper.make_node("Mul", ["s", "c"], ["m"], name="m"),
                 helper.make_node("Add", ["m", "b"], ["y"], name="y")]
        values = [helper.make_tensor_value_info(value, kind, (1, 8)) for value in ("x", "y")]
        graph = helper.make_graph(nodes, "g", values[:1], values[1:],
                                  [numpy_helper.from_array(numpy.array(scale, dtype), "c"), numpy_helper.from_array(numpy.array(300.1, dtype), "b")])
        sides.append(tmp_path / f"{name}.onnx")
        onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), sides[-1])
    _, report = diff(*sides)
    assert report["constants"] == [{"a": {"op": "m", "name": "c", "most": 20000}, "b": {"op": "m", "name": "c", "most": 10000}}]
    _, report = diff(sides[0], sides[0])
    assert not report["constants"]


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
