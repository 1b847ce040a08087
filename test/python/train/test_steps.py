"""Loss and gradients that `--train` appends, as --dump-ranges and reports show them."""

from __future__ import annotations

import json

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper, parser

from tool import read_ranges, run_mpopt

MLP = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[8, 4] x) => (float[8, 2] y)
      <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {0.5, -1}> {
      a = MatMul (x, w)
      c = Add (a, b)
      y = Tanh (c)
    }"""
LOSS = """<ir_version: 8, opset_import: ["" : 17]>
    loss (float[N, 2] y, float[N, 2] t) => (float loss) <float[2] scale = {1, 2}> {
      d = Sub (y, t)
      e = Mul (d, d)
      f = Mul (e, scale)
      loss = ReduceMean <keepdims = 0> (f)
    }"""
# Overflows in FP16 where nothing is trained, too.
HAZARDS = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[8, 4] x) => (float[8, 4] y) <float[4, 4] w = {
        300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300}> {
      a = MatMul (x, w)
      b = MatMul (a, w)
      e = Exp (b)
      s = Sqrt (b)
      y = Div (s, e)
    }"""


def save(path, text):
    path.write_bytes(parser.parse_model(text).SerializeToString())
    return path


@pytest.fixture
def mlp(tmp_path):
    return save(tmp_path / "mlp.onnx", MLP)


def report(model, *options):
    done = run_mpopt("--check", model, "--format", "json", "--fail-on", "never", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def gradients(tensors):
    return {name[5:-1]: tensor for name, tensor in tensors.items() if name.startswith("grad(")}


def test_gradients_have_names(mlp):
    tensors = read_ranges(mlp, "--train", "--loss", "mse:y,t", "--precision", "autocast-fp16")["tensors"]
    found = {name: (tensor["dtype"], tensor["shape"]) for name, tensor in gradients(tensors).items()}
    assert found == {"loss": ("f32", []), "y": ("f16", [8, 2]), "c": ("f16", [8, 2]), "a": ("f16", [8, 2]),
                     "w": ("f32", [4, 2]), "b": ("f32", [2])}
    assert tensors["t"]["shape"] == [8, 2] and tensors["loss"]["dtype"] == "f32"


def test_loss_by_the_outputs_is_said(mlp, tmp_path):
    _, said = report(mlp, "--train")
    assert said == f"mpopt: warning: {mlp}: no loss is given: 'mse:y,target' is taken, by the outputs\n"
    assert report(mlp, "--train", "--loss", "mse")[1] == ""
    # A model that returns its loss beside what it predicts.
    text = MLP.replace("(float[8, 2] y)", "(float[8, 2] logits, float loss)").replace(
        "y = Tanh (c)", "logits = Tanh (c)\n loss = ReduceMean <keepdims = 0> (c)")
    _, said = report(save(tmp_path / "own.onnx", text), "--train")
    assert "no loss is given: 'sum:loss' is taken" in said


@pytest.mark.parametrize("form", ["onnx", "mlir"])
def test_loss_from_a_file(mlp, tmp_path, form):
    """Its graph is behind the model, in FP32, with names of its own; its weights do not learn."""
    file = save(tmp_path / "loss.onnx", LOSS)
    if form == "mlir":
        file = tmp_path / "loss.mlir"
        run_mpopt("--emit-mlir", tmp_path / "loss.onnx", "-o", file)
    tensors = read_ranges(mlp, "--train", "--loss", f"{file}:weight=0.5", "--input", "t=-1:1",
                          "--precision", "fp16")["tensors"]
    assert {name for name in gradients(tensors) if not name.startswith("loss")} >= {"w", "b", "y"}
    assert "scale" not in gradients(tensors) and "x" not in gradients(tensors)
    names = [name for name in tensors if name.startswith("loss/")]
    assert {tensors[name]["dtype"] for name in names} == {"f32"} and len(names) >= 4
    assert tensors["y"]["dtype"] == "f16"
    # |y - t| <= 2: squares of at most 4, times 1 and 2; half of their mean.
    assert tensors["loss"]["lo"] == 0 and 3 <= tensors["loss"]["hi"] < 3.1


def test_loss_file_with_weights_beside_it(mlp, tmp_path):
    """Weights stay in their file, which is not overwritten."""
    model = parser.parse_model(LOSS)
    scale = model.graph.initializer[0]
    folder = tmp_path / "loss"
    folder.mkdir()
    (folder / "scale.bin").write_bytes(numpy_helper.to_array(scale).tobytes())
    scale.ClearField("float_data")
    scale.ClearField("raw_data")
    scale.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "scale.bin"), ("offset", "0"), ("length", "8")):
        scale.external_data.add(key=key, value=value)
    (folder / "loss.onnx").write_bytes(model.SerializeToString())
    options = ["--train", "--loss", folder / "loss.onnx", "--input", "t=-1:1"]
    assert 6 <= read_ranges(mlp, *options)["tensors"]["loss"]["hi"] < 6.1
    done = run_mpopt("--check", mlp, *options, "-o", folder / "scale.bin")
    assert done.returncode == 2 and "would overwrite the weights" in done.stderr


def test_a_configuration_and_options_over_it(mlp, tmp_path):
    config = tmp_path / "train.yaml"
    config.write_text("""
        loss: {terms: [{kind: cross_entropy, target: labels, label_smoothing: 0.1}], value: 0.7}
        inputs: {x: {lo: -2, hi: 2}, gone: {lo: 0, hi: 1}}
        targets: {labels: {lo: 0, hi: 1, zipf: 1.1}, unused: {lo: 0, hi: 1}}
        precision: autocast-bf16
        """)
    judged, said = report(mlp, "--train", "--train-config", config)
    assert said == "" and judged["precision"] == "autocast-bf16"
    assumed = {entry["input"]: entry for entry in judged["assumptions"]}
    assert assumed.keys() == {"x", "labels"}
    assert (assumed["x"]["lo"], assumed["x"]["hi"], assumed["x"]["source"]) == (-2, 2, "config")
    assert (assumed["labels"]["hi"], assumed["labels"]["source"]) == (1, "config")
    judged, _ = report(mlp, "--train", "--train-config", config, "--precision", "fp16", "--loss", "l1:y,t",
                       "--input", "x=0:1", "--input", "t~0.5,0.1")
    assumed = {entry["input"]: entry for entry in judged["assumptions"]}
    assert judged["precision"] == "fp16" and assumed.keys() == {"x", "t"}
    assert (assumed["x"]["lo"], assumed["x"]["source"]) == (0, "option")
    assert (assumed["t"]["mean"], assumed["t"]["std"]) == (0.5, 0.1)


@pytest.mark.parametrize("kind, bound", [("bce-with-logits", (0, 1)), ("hinge", (-1, 1)), ("mse", (-10, 10))])
def test_targets_that_nobody_described(mlp, kind, bound):
    judged, _ = report(mlp, "--train", "--loss", f"{kind}:y,t")
    target = next(entry for entry in judged["assumptions"] if entry["input"] == "t")
    assert (target["lo"], target["hi"], target["source"]) == (*bound, "default")


def test_what_is_said_of_the_model_stays(tmp_path):
    """Findings, their fixes, counts and safe scales do not depend on the training."""
    model = save(tmp_path / "hazards.onnx", HAZARDS)
    options = ["--precision", "fp16", "--safe-input", "--min-certainty", "possible"]
    alone, _ = report(model, *options)
    trained, _ = report(model, *options, "--train", "--loss", "mse:y,t")
    assert len(alone["findings"]) >= 3
    trained["findings"] = [finding for finding in trained["findings"] if finding["rule"][:3] != "MP4"]
    for key in alone.keys() - {"seconds", "assumptions", "summary"}:
        assert trained[key] == alone[key], key


def test_a_loss_in_the_graph_computes_in_fp32(tmp_path):
    text = MLP.replace("(float[8, 2] y)", "(float[8, 2] y, float loss)").replace("(float[8, 4] x)", "(float[8, 4] x, float[8, 2] t)")
    text = text.replace("y = Tanh (c)", "y = Tanh (c)\n d = Sub (y, t)\n e = Abs (d)\n loss = ReduceMean <keepdims = 0> (e)")
    model = save(tmp_path / "whole.onnx", text)
    for precision in ("autocast-fp16", "fp16", "bf16"):
        tensors = read_ranges(model, "--train", "--loss", "sum:loss", "--precision", precision)["tensors"]
        low = "bf16" if precision == "bf16" else "f16"
        assert tensors["y"]["dtype"] == low and tensors["grad(y)"]["dtype"] == low
        assert {tensors[name]["dtype"] for name in ("d", "e", "grad(e)", "grad(d)")} == {"f32"}


def test_gradients_of_the_model_itself(tmp_path):
    """A training graph is taken as it is."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("SoftmaxCrossEntropyLoss", ["y", "t"], ["loss", "log"]),
        helper.make_node("SoftmaxCrossEntropyLossGrad", ["one", "log", "t"], ["dy"], domain="com.microsoft"),
        helper.make_node("Transpose", ["x"], ["xt"], perm=[1, 0]),
        helper.make_node("MatMul", ["xt", "dy"], ["w_grad"]),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [8, 4]),
         helper.make_tensor_value_info("t", TensorProto.INT64, [8])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
         helper.make_tensor_value_info("w_grad", TensorProto.FLOAT, [4, 3])],
        [numpy_helper.from_array(numpy.ones((4, 3), numpy.float32), "w"),
         numpy_helper.from_array(numpy.ones((), numpy.float32), "one")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                    helper.make_opsetid("com.microsoft", 1)])
    path = tmp_path / "own.onnx"
    path.write_bytes(model.SerializeToString())
    tensors = read_ranges(path, "--train")["tensors"]
    assert not gradients(tensors) and "w_grad" in tensors
    assert report(path, "--train")[1] == ""
    assert "holds its gradients: the loss that was given is not attached" in report(path, "--train", "--loss", "sum:loss")[1]
