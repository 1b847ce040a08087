"""The three products of layers in FP8, against a step of the same network whose operands are rounded by ml_dtypes."""

from __future__ import annotations

import json
import re

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt

WIDTH, BATCH, LAYERS = 64, 128, 3
LAST = {ml_dtypes.float8_e4m3fn: 448.0, ml_dtypes.float8_e5m2: 57344.0}
#: The tolerance of estimates of root mean squares over thousands of elements. The signal of a weight's gradient is an
#: estimate, too: how far its terms agree.
DECIBELS, AGREED, FACTOR = 1.5, 3, 2


def make_weights(outlier: float = 1.0) -> list[np.ndarray]:
    """`outlier`: the last layer's columns reach from 1 to so much of the first."""
    random = np.random.default_rng(1)
    weights = [random.normal(0, WIDTH ** -0.5, (WIDTH, WIDTH)).astype("f4") for _ in range(LAYERS)]
    weights[-1] *= np.geomspace(1, outlier, WIDTH, dtype="f4")
    return weights


def save(path, weights: list[np.ndarray], batch: int) -> None:
    nodes, x = [], "x"
    for layer in range(LAYERS):
        nodes.append(helper.make_node("MatMul", [x, f"w{layer}"], [f"h{layer}"], f"product{layer}"))
        x = f"h{layer}"
        if layer + 1 < LAYERS:
            x = f"a{layer}"
            nodes.append(helper.make_node("Tanh", [f"h{layer}"], [x], f"tanh{layer}"))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, WIDTH])  # noqa: E731
    held = [numpy_helper.from_array(w, f"w{layer}") for layer, w in enumerate(weights)]
    graph = helper.make_graph(nodes, "net", [value("x")], [value(x)], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def stored(values: np.ndarray, codes, axis: int | None) -> np.ndarray:
    """`axis`: that which the product adds up over, if rows have scales of their own."""
    most = np.abs(values).max(axis=axis, keepdims=axis is not None)
    scale = np.where(most > 0, most / LAST[codes], 1)
    if axis is not None:
        scale = 2.0 ** np.ceil(np.log2(scale))
    return (values / scale).astype("f4").astype(codes).astype("f8") * scale


def multiply(a, b, codes, rows, exact):
    if exact:
        return a @ b
    return stored(a, codes[0], 1 if rows else None) @ stored(b, codes[1], 0 if rows else None)


def step(weights, rows: bool, exact: bool, seed: int = 3):
    """Gradients, and by layer the operands of the exact step."""
    random = np.random.default_rng(seed)
    e4, e5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fn if rows else ml_dtypes.float8_e5m2
    x, target = random.normal(0, 1, (2, BATCH, WIDTH))
    inputs, made = [x], []
    for layer, w in enumerate(weights):
        made.append(multiply(inputs[-1], w.astype("f8"), (e4, e4), rows, exact))
        inputs.append(np.tanh(made[-1]) if layer + 1 < LAYERS else made[-1])
    dy = 2 * (inputs[-1] - target) / target.size
    gradients, operands = [None] * LAYERS, [None] * LAYERS
    for layer in reversed(range(LAYERS)):
        w = weights[layer].astype("f8")
        operands[layer] = inputs[layer], w, dy
        gradients[layer] = multiply(inputs[layer].T, dy, (e4, e5), rows, exact)
        if layer:
            dy = multiply(dy, w.T, (e5, e4), rows, exact) * (1 - inputs[layer] ** 2)
    return gradients, operands


def decibels(a, b, codes, rows) -> float:
    exact = a @ b
    return 10 * np.log10((exact ** 2).sum() / ((multiply(a, b, codes, rows, False) - exact) ** 2).sum())


INPUT = ["--input", "x=-8:8", "--input", "x~0,1"]


def check(tmp_path, weights, *options: str, batch: int = BATCH, inputs: list[str] = INPUT) -> dict:
    save(tmp_path / "net.onnx", weights, batch)
    done = run_mpopt("--check", tmp_path / "net.onnx", "--train", "--loss", f"mse:h{LAYERS - 1},t", "--format", "json", "--fail-on", "never",
                     *inputs, "--input", "t=-8:8", "--input", "t~0,1", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("rows", [False, True])
def test_signal_to_noise_is_that_of_a_step(tmp_path, rows, drawn):
    weights = make_weights()
    # Bounds of single elements are not drawn: the formulas estimate the step.
    bounds = tmp_path / "bounds.npz"
    np.savez(bounds, lo=np.full(WIDTH, -8, "f4"), hi=np.linspace(8, 9, WIDTH, dtype="f4"))
    options = [] if drawn else ["--input", f"x=@{bounds}", "--input", "x~0,1"]
    report = check(tmp_path, weights, "--precision", f"fp8:{'rowwise' if rows else 'current'}", inputs=options or INPUT)
    assert report["training"]["fp8"]["sampled"] == drawn
    e4, e5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fn if rows else ml_dtypes.float8_e5m2
    exact, operands = step(weights, rows, exact=True)
    layers = report["training"]["fp8"]["gemms"]
    assert [layer["weight"] for layer in layers] == ["w0", "w1", "w2"]
    for layer, (x, w, dy) in zip(layers, operands):
        assert (layer["m"], layer["k"], layer["n"], layer["fits"]) == (BATCH, WIDTH, WIDTH, True)
        assert layer["fprop"]["snr_db"] == pytest.approx(decibels(x, w, (e4, e4), rows), abs=DECIBELS)
        assert layer["wgrad"]["snr_db"] == pytest.approx(decibels(x.T, dy, (e4, e5), rows), abs=AGREED)
        assert layer["dgrad"]["snr_db"] == pytest.approx(decibels(dy, w.T, (e5, e4), rows), abs=DECIBELS)
        assert layer["dgrad"].get("computed", True) == (layer["weight"] != "w0")
    moved, _ = step(weights, rows, exact=False)
    for gradient, a, b in zip(report["training"]["gradients"], exact, moved):
        true = np.linalg.norm(a - b) / np.linalg.norm(a)
        assert true / FACTOR < gradient["expected_error"] < true * FACTOR


CLASSES = 512


@pytest.mark.parametrize("recipe", ["current", "rowwise"])
def test_targets_of_a_cross_entropy_are_the_largest_of_their_scale(tmp_path, recipe):
    """p - 1 of the target has nearly all of a gradient's square, and a format reads the largest element as it is."""
    random = np.random.default_rng(1)
    weights = [random.normal(0, WIDTH ** -0.5, (WIDTH, size)).astype("f4") for size in (WIDTH, CLASSES)]
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["h"], "first"), helper.make_node("Tanh", ["h"], ["a"], "tanh"),
             helper.make_node("MatMul", ["a", "w1"], ["y"], "head")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [BATCH, WIDTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [BATCH, CLASSES])],
                              [numpy_helper.from_array(w, f"w{layer}") for layer, w in enumerate(weights)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "net.onnx")
    done = run_mpopt("--check", tmp_path / "net.onnx", "--train", "--loss", "cross-entropy:y", "--format", "json", "--fail-on", "never",
                     "--input", "x=-8:8", "--input", "x~0,1", "--precision", f"fp8:{recipe}")
    assert done.returncode == 0, done.stderr
    head = json.loads(done.stdout)["training"]["fp8"]["gemms"][1]
    x = np.tanh(random.normal(0, 1, (BATCH, WIDTH)) @ weights[0])
    logits = x @ weights[1]
    dy = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    dy[np.arange(BATCH), random.integers(0, CLASSES, BATCH)] -= 1
    rows = recipe == "rowwise"
    e4, e5 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fn if rows else ml_dtypes.float8_e5m2
    assert head["dgrad"]["snr_db"] == pytest.approx(decibels(dy, weights[1].T.astype("f8"), (e5, e4), rows), abs=DECIBELS)
    assert head["wgrad"]["snr_db"] == pytest.approx(decibels(x.T, dy, (e4, e5), rows), abs=AGREED)


def test_scales_of_rows_flush_what_spans_more_than_e4m3(tmp_path):
    weights = make_weights(outlier=2.0 ** -24)
    report = check(tmp_path, weights, "--precision", "fp8:rowwise")
    last = report["training"]["fp8"]["gemms"][-1]
    # Columns of w have scales of their own on the way forward, rows of w do not.
    assert last["fprop"]["w"]["flushed"] < 0.01 < last["dgrad"]["w"]["flushed"]
    _, operands = step(weights, True, exact=True)
    w = operands[-1][1]
    true = (stored(w.T, ml_dtypes.float8_e4m3fn, 0) == 0).mean()
    assert last["dgrad"]["w"]["flushed"] == pytest.approx(true, abs=0.02)


def test_scales_in_e4m3_clip_the_largest_of_half_of_the_blocks(tmp_path):
    report = check(tmp_path, make_weights(), "--precision", "fp8:nvfp4")
    first = report["training"]["fp8"]["gemms"][0]["fprop"]["x"]
    _, operands = step(make_weights(), True, exact=True)
    blocks = np.abs(operands[0][0]).reshape(-1, 16)
    unit = blocks.max() / (6 * 448)
    scales = (blocks.max(axis=1, keepdims=True) / 6 / unit).astype("f4").astype(ml_dtypes.float8_e4m3fn).astype("f8") * unit
    assert first["clipped"] == pytest.approx(float((blocks > 6 * scales * (1 + 1e-6)).mean()), rel=0.25)


def test_the_weights_gradient_stays_in_bf16(tmp_path):
    layer = check(tmp_path, make_weights(), "--precision", "fp8:rowwise_gw_hp")["training"]["fp8"]["gemms"][1]
    assert layer["wgrad"]["snr_db"] > 45 > layer["dgrad"]["snr_db"]


def test_aims(tmp_path):
    fp8 = check(tmp_path, make_weights(), "--precision", "fp8", "--max-gradient-error", "0.02")["training"]["fp8"]
    assert [row["max_error"] for row in fp8["keep"]] == [0.02]
    # Three per cent is the rounding of a product: all of them have to go.
    assert len(fp8["keep"][0]["gemms"]) == LAYERS
    assert [row["recipe"] for row in fp8["recommended"]] == [None, None]


@pytest.mark.parametrize("name, fails", [("delayed_cold", True), ("rowwise", False)])
def test_steps_that_a_recipe_breaks(tmp_path, name, fails):
    # Of a mean over 2^13 elements gradients are 2^-13, and far below a scale of 1 behind weights that are small.
    weights = make_weights()
    weights[-1] *= 2.0 ** -12
    report = check(tmp_path, weights, "--precision", f"fp8:{name}", "--select", "MP432,MP420")
    assert bool(report["findings"]) == fails, [g["expected_error"] for g in report["training"]["gradients"]]


def recipe(tmp_path, **fields):
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps({"schema": "mpopt-fp8-recipe/1", **fields}))
    return "--train-config", str(path)


@pytest.mark.parametrize("ends, rules", [("", ["MP432"]), ("--first-last-layers-bf16", [])])
def test_layers_that_a_file_keeps(tmp_path, monkeypatch, ends, rules):
    monkeypatch.setitem(globals(), "LAYERS", 10)
    script = tmp_path / "run.sh"
    script.write_text(f"torchrun pretrain_gpt.py --transformer-impl transformer_engine --bf16 --num-layers 10 --fp4-format e2m1 {ends}\n")
    found = check(tmp_path, make_weights(), "--train-config", str(script), "--select", "MP432,MP420")["findings"]
    assert [f["rule"] for f in found] == rules


def blocks(tmp_path) -> None:
    """Names the modules of the network, as an exporter of blocks does."""
    model = onnx.load(tmp_path / "net.onnx")
    for node in model.graph.node:
        node.input[:] = [f"layers.{name[1:]}.up.weight" if name[0] == "w" else name for name in node.input]
    for held in model.graph.initializer:
        held.name = f"layers.{held.name[1:]}.up.weight"
    onnx.save(model, tmp_path / "net.onnx")


@pytest.mark.parametrize("ends, kept", [("", []), ("--first-last-layers-bf16", [0, 2]),
                                        ("--first-last-layers-bf16 --num-layers-at-end-in-bf16 2", [0, 1, 2])])
def test_ends_that_a_script_keeps(tmp_path, monkeypatch, ends, kept):
    save_plain = save
    monkeypatch.setitem(globals(), "save", lambda path, weights, batch: (save_plain(path, weights, batch), blocks(tmp_path)))
    script = tmp_path / "run.sh"
    script.write_text(f"torchrun pretrain_gpt.py --bf16 --fp8-format hybrid --fp8-recipe tensorwise {ends}\n")
    report = check(tmp_path, make_weights(), "--train-config", str(script))
    assert [index for index, layer in enumerate(report["training"]["fp8"]["gemms"]) if layer["bf16"]] == kept


@pytest.mark.parametrize("fields, kept", [({"disable": ["layers.0.up"]}, [0]), ({"disable": ["up"]}, [0, 1, 2]), ({}, [])])
def test_layers_that_a_file_keeps_are_in_bf16(tmp_path, monkeypatch, fields, kept):
    save_plain = save
    monkeypatch.setitem(globals(), "save", lambda path, weights, batch: (save_plain(path, weights, batch), blocks(tmp_path)))
    report = check(tmp_path, make_weights(), *recipe(tmp_path, recipe="Float8CurrentScaling", **fields))
    layers = report["training"]["fp8"]["gemms"]
    assert [index for index, layer in enumerate(layers) if layer["bf16"]] == kept
    for layer in layers:
        assert (layer["fprop"]["snr_db"] > 45) == layer["bf16"]
    # A gradient has errors of BF16 alone if no layer behind it, nor its own, is in FP8.
    assert (report["training"]["gradients"][-1]["expected_error"] < 0.02) == (len(kept) == LAYERS)


@pytest.mark.parametrize("outlier, aim, first, flags", [(1, "0.02", [0, 1, 2], None), (1, "0.5", [], "")])
def test_lists_in_the_forms_of_frameworks(tmp_path, monkeypatch, outlier, aim, first, flags):
    save_plain = save
    monkeypatch.setitem(globals(), "save", lambda path, weights, batch: (save_plain(path, weights, batch), blocks(tmp_path)))
    kept = check(tmp_path, make_weights(outlier), "--precision", "fp8", "--max-gradient-error", aim)["training"]["fp8"]["keep"][0]
    names = [f"layers.{block}.up" for block in first]
    assert sorted(kept["filter_fqns"]) == names and kept["also_taken"] == [] and kept["megatron"] == flags
    pattern = kept["layer_name_regex_pattern"]
    assert [name for name in ("layers.0.up", "layers.1.up", "layers.2.up", "xlayers.1.up") if pattern and re.search(pattern, name)] == names


@pytest.mark.parametrize("least", [0, 1e-40, 1e-12])
def test_zeros_without_epsilon(tmp_path, least):
    weights = make_weights()
    weights[1][:] = 0
    found = check(tmp_path, weights, *recipe(tmp_path, recipe="rowwise", least=least), "--select", "MP424")["findings"]
    assert [f["op"]["name"] for f in found] == (["least"] if least < 1e-34 else [])


@pytest.mark.parametrize("size, count", [(0, 1), (1, 0)])
def test_weights_that_outgrow_their_scale(tmp_path, size, count):
    weights = make_weights()
    weights[-1] *= size
    found = check(tmp_path, weights, *recipe(tmp_path, recipe="DelayedScaling"), "--optimizer", "adamw,lr=1e-3", "--select", "MP423")["findings"]
    assert len(found) == count


@pytest.mark.parametrize("split, batch, count", [(False, 1 << 17, 1), (True, 1 << 17, 0), (False, BATCH, 0)])
def test_long_sums(tmp_path, split, batch, count):
    options = recipe(tmp_path, recipe="Float8CurrentScaling", fp8_gemm_wgrad={"use_split_accumulator": split})
    found = check(tmp_path, make_weights(), *options, "--select", "MP425", batch=batch)["findings"]
    assert [f["op"]["name"] for f in found] == ["fp8_gemm_wgrad.use_split_accumulator"] * count
