"""A fix is tried on what it reaches. The whole model, analysed again, says the same."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import ROOT, SHARED, run_mpopt

MODELS = SHARED / "onnx"


def report(model, *options):
    run = run_mpopt("--check", model, "--format", "json", "--fail-on", "never", *options,
                    timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["findings"]


def check(model, *options):
    """The findings, the same with trials of either kind, their fixes included."""
    quick, whole = report(model, *options), report(model, *options, "--whole-trials")
    assert quick == whole
    return quick


def write(path, nodes, weights, width=32):
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [8, width])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def stack(path, layers, seed):
    """Residual layers of a product, a nonlinearity and a norm; the third is so large that
    it overflows, the fifth so small that it flushes."""
    random = np.random.default_rng(seed)
    nodes, weights, last = [], {}, "x"

    def add(op, inputs, **attributes):
        out = f"t{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [out], name=f"/{op}_{len(nodes)}", **attributes))
        return out

    def number(name, value):
        weights[name] = np.array(value, np.float32)
        return name

    eps, two = number("eps", 1e-12), number("two", 2.0)
    for layer in range(layers):
        scale = {2: 3e4, 4: 1e-7}.get(layer, 1.0)
        weights[f"w{layer}"] = (random.standard_normal((32, 32)) * 0.2 * scale).astype(np.float32)
        h = add("MatMul", [last, f"w{layer}"])
        h = add(["Relu", "Tanh", "Sigmoid"][layer % 3], [h]) if layer % 2 else h
        mean = add("ReduceMean", [h], axes=[-1], keepdims=1)
        centred = add("Sub", [h, mean])
        square = add("ReduceMean", [add("Pow", [centred, two])], axes=[-1], keepdims=1)
        normal = add("Div", [centred, add("Sqrt", [add("Add", [square, eps])])])
        if layer == 5:
            normal = add("Log", [add("Softmax", [normal], axis=-1)])
        last = add("Add", [last, normal])
    nodes.append(helper.make_node("Identity", [last], ["y"], name="/out"))
    write(path, nodes, weights)


@pytest.mark.parametrize("precision", ["fp16", "bf16", "autocast-fp16"])
@pytest.mark.parametrize("seed", [0, 1])
def test_stack(tmp_path, precision, seed):
    model = tmp_path / "m.onnx"
    stack(model, 12, seed)
    findings = check(model, "--precision", precision, "--input", "x=-20:20", "--input", "x~0,4",
                     "--min-certainty", "possible")
    fixes = [fix for finding in findings for fix in finding["fixes"]]
    if precision == "fp16":
        assert {True, False} == {fix["safe"] for fix in fixes}
        assert {"keep-fp32", "scale", "change-constant"} <= {fix["kind"] for fix in fixes}


def test_an_input_that_overflows(tmp_path):
    """It stays in FP32 as a result does, where what reads it is kept."""
    model = tmp_path / "m.onnx"
    write(model, [helper.make_node("Mul", ["x", "c"], ["a"], name="/Mul"),
                  helper.make_node("Tanh", ["a"], ["y"], name="/Tanh")],
          {"c": np.array(1e-6, np.float32)})
    findings = check(model, "--precision", "fp16", "--input", "x=-1e6:1e6", "--input", "x~0,300000")
    overflow, = [finding for finding in findings if finding["rule"] == "MP201" and finding["tensor"] == "x"]
    assert [fix["safe"] for fix in overflow["fixes"] if fix["kind"] == "keep-fp32"] == [True]


@pytest.mark.parametrize("file", sorted((ROOT / "test" / "Tools" / "mpopt").glob("fixes*.mlir")),
                         ids=lambda file: file.stem)
def test_fixes_of_the_lit_tests(tmp_path, file):
    """Each part of the files that have a fix of each kind."""
    parts = file.read_text().split("//--- ")[1:]
    assert len(parts) > 3
    count = 0
    for part in parts:
        name, body = part.split("\n", 1)
        model = tmp_path / name
        model.write_text(body)
        for precision in ["as-is", "fp16", "autocast-fp16"]:
            count += len(check(model, "--precision", precision, "--min-certainty", "possible", "--assume", "-100:100"))
    assert count > 10


@pytest.mark.skipif(not MODELS.is_dir(), reason="no shared models")
@pytest.mark.parametrize("name", ["deeploy-cct2-ft1-train", "marabou-selfattention-mnist",
                                  "polygraphy-needs-constraints", "deeploy-cct2-opset20",
                                  "genai-gpt2-tiny-fp32"])
@pytest.mark.parametrize("precision", ["fp16", "autocast-fp16"])
def test_real_model(name, precision):
    files = sorted(MODELS.glob(f"*{name}*.onnx"))
    if not files:
        pytest.skip(f"no {name}")
    for file in files:
        check(file, "--precision", precision, "--min-certainty", "possible")
