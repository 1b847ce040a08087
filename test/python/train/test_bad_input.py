"""Training steps that cannot be judged: one clear line, status 2 and no file."""

import json
import os

import numpy
import pytest
from onnx import parser

import bad_input
from bad_input import refused

TEXTS = {
    "mlp": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[8, 4] x) => (float[8, 2] y)
          <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {0.5, -1}> {
          a = MatMul (x, w)
          y = Add (a, b)
        }""",
    "classes": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[8, 4] x) => (int64[8] y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
          a = MatMul (x, w)
          y = ArgMax <axis = 1, keepdims = 0> (a)
        }""",
    "fixed": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[8, 4] x) => (float[8, 4] y) {
          y = Relu (x)
        }""",
    "loss": """<ir_version: 8, opset_import: ["" : 17]>
        g (float[8, 2] y, float[8, 2] t) => (float loss) <float[2] scale = {1, 2}> {
          d = Sub (y, t)
          e = Mul (d, d)
          f = Mul (e, scale)
          loss = ReduceMean <keepdims = 0> (f)
        }""",
}


@pytest.fixture
def models(tmp_path):
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    return tmp_path


def check(folder, model, *options):
    before = sorted(os.listdir(folder))
    done = bad_input.run("--check", folder / f"{model}.onnx", "--train", "-o", folder / "out",
                         "--dump-ranges", folder / "ranges", *options, cwd=folder)
    assert sorted(os.listdir(folder)) == before or done.returncode != 2
    return done


def is_refused(folder, model, *options, parts):
    assert len(refused(check(folder, model, *options), *parts).splitlines()) == 1


@pytest.mark.parametrize("loss, parts", [
    ("mce", ["--loss: no loss is called 'mce'", "cross-entropy", "policy-gradient"]),
    ("", ["--loss: no loss is called ''"]),
    ("custom", ["--loss: no loss is called 'custom'"]),
    ("mse:z", ["no output is called 'z'", "there are: y"]),
    ("mse:y,x", ["target 'x'", "tensor<8x4xf32>", "tensor<8x2xf32>"]),
    ("cross-entropy:y,x", ["target 'x'", "tensor<8xi64>"]),
    ("mse:y:weight=heavy", ["weight 'heavy' is not a number"]),
    ("mse:y:margin=1", ["mse has no margin"]),
    ("nll:y:label_smoothing=0.1", ["nll smooths no labels"]),
    ("sum:y:share_counted=0.5", ["sum takes no target"]),
    ("mse:y:reduction=none", ["the loss has 16 elements", "reduction=mean or sum"]),
    ("none.onnx", ["none.onnx", "No such file"]),
    ("fixed.onnx", ["fixed.onnx", "0 results of one float"]),
    ("loss.onnx:weight=x", ["--loss: weight 'x' is not a number"]),
])
def test_losses(models, loss, parts):
    is_refused(models, "mlp", "--loss", loss, parts=parts)


def test_predictions_are_floats(models):
    is_refused(models, "classes", "--loss", "mse:y", parts=["output 'y'", "a prediction is of floats"])
    is_refused(models, "classes", parts=["no output is of floats, and a loss needs one"])


def test_nothing_to_train(models):
    is_refused(models, "fixed", parts=["no trainable parameters"])


def test_loss_file_of_another_model(models):
    text = TEXTS["loss"].replace("[8, 2] y", "[8, 3] y").replace("[8, 2] t", "[8, 3] t")
    text = text.replace("float[2] scale = {1, 2}", "float[3] scale = {1, 2, 3}")
    (models / "other.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    is_refused(models, "mlp", "--loss", "other.onnx",
               parts=["'y' is 'tensor<8x2xf16>', and the loss takes 'tensor<8x3xf32>'"])
    text = TEXTS["loss"].replace("2] y,", "2] z,").replace("(y, t)", "(z, t)")
    (models / "other.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    is_refused(models, "mlp", "--loss", "other.onnx",
               parts=["none of its inputs is an output of the model"])


@pytest.mark.parametrize("name, value, parts", [
    ("optimizer", "adamx", ["'adamx' is none of sgd, adam"]),
    ("optimizer", "adam,lr=fast", ["lr: must be a number"]),
    ("scaler", "static", ["initial: is missing"]),
    ("batch", "0", ["micro: must be an integer of at least 1"]),
    ("reduce", "f17", ["'f17' is not a type"]),
    ("clip", "-1", ["must be a number of at least 0"]),
    ("loss-value", "nan", ["'nan' is not a number"]),
    ("input", "t=0:1", ["the model has no input, and its loss no target 't'"]),
    ("input", "target=zipf:x", ["Zipf's law"]),
    ("dump-gradients", "", ["the file name is empty"]),
    ("train-config", "none.yaml", ["none.yaml", "No such file"]),
])
def test_options(models, name, value, parts):
    is_refused(models, "mlp", f"--{name}", value, parts=[f"--{name}", *parts])


@pytest.mark.parametrize("value", ["1e308", "1e307", "1e-300", "1e-320"])
def test_losses_beyond_all_measure(models, value):
    """Searches for sizes end where products of their ends underflow or overflow."""
    done = check(models, "mlp", "--loss", "mse:y", "--loss-value", value, "--fail-on", "never",
                 "--dump-gradients", models / "gradients.json")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("config, parts", [
    ({"fp16": {"enabled": True}, "bf16": {"enabled": True}},
     ["fp16.enabled", "bf16.enabled", "only one can be"]),
    ({"schema": "mpopt-train-config/1", "batch": {"micro": 2, "world": 3, "accumulate": 1, "total": 7}},
     ["batch.total", "7 is not"]),
    ({"loss": {"terms": [{"kind": "wishful"}]}}, ["loss.terms[0].kind", "'wishful'"]),
    ({"loss": {"terms": [{"kind": "custom", "text": "ours"}]}},
     ["loss 'custom' cannot be attached", "--loss FILE.onnx", "--loss sum:loss"]),
    ({"loss": {"terms": [{"kind": "kl_normal", "prediction": "y"}]}},
     ["loss 'kl-normal' takes 2 predictions"]),
    ({"loss": {"terms": [{"kind": "contrastive", "diagonal": False}]}}, ["diagonal is false"]),
    ({"loss": {"terms": [{"kind": "mse", "label_smoothing": 2}]}}, ["label_smoothing", "from 0 to 1"]),
    ({"schema": "mpopt-train-config/1", "parameters": ["v"]},
     ["no gradient of the loss reaches a parameter that the training configuration lists"]),
])
def test_configurations(models, config, parts):
    (models / "train.json").write_text(json.dumps(config))
    is_refused(models, "mlp", "--train-config", "train.json", parts=parts)


def test_targets_from_files(models):
    """A sample has the target's shape; frequencies are a list of counts."""
    numpy.savez(models / "labels.npz", labels=numpy.zeros((8, 3), numpy.int64))
    terms = ["--loss", "cross-entropy:y,labels", "--input", "labels=@labels.npz"]
    is_refused(models, "mlp", *terms, parts=["the sample for 'labels' has the shape (8, 3)"])
    for wrong in ([-1.0, 2.0], [0.0, 0.0], [[1.0, 2.0]], [1.0, numpy.inf]):
        numpy.savez(models / "labels.npz", frequencies=numpy.array(wrong))
        is_refused(models, "mlp", *terms, parts=["labels.npz", "'frequencies'"])
    for right in ({"labels": numpy.arange(8) % 2}, {"frequencies": numpy.array([3, 5])}):
        numpy.savez(models / "labels.npz", **right)
        assert check(models, "mlp", *terms).returncode == 0


@pytest.mark.parametrize("output", ["-o", "--dump-ranges", "--dump-gradients"])
@pytest.mark.parametrize("file", ["train.json", "loss.onnx"])
def test_outputs_spare_what_is_read(models, output, file):
    (models / "train.json").write_text('{"loss": {"terms": [{"kind": "loss.onnx"}]}}')
    before = (models / file).read_bytes()
    refused(bad_input.run("--check", "mlp.onnx", "--train", "--train-config", "train.json",
                          output, file, cwd=models), "would overwrite", file)
    assert (models / file).read_bytes() == before


def test_options_need_train(models):
    for option, value in (("loss", ["mse"]), ("batch", ["4"]),
                          ("train-config", ["train.json"])):
        done = bad_input.run("--check", models / "mlp.onnx", f"--{option}", *value)
        assert refused(done) == f"mpopt: error: --{option} goes with --train\n"
