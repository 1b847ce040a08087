"""Learning rates from 1e-8 to 1e9: updates that weights do not take, that leave nothing of the weights, and that leave
their dtype, each in its own decades."""

from __future__ import annotations

import json

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt

ROWS, WIDTH, OUT = 64, 32, 16
DECADES = range(-8, 10)
#: Digits and the largest number.
FORMATS = {"fp16": (11, 65504.0), "bf16": (8, 3.39e38), "as-is": (24, 3.4e38)}
#: Estimates of gradients are good within a factor of 4: between them no decade is judged.
SLACK = 4.0
OPTIMIZERS = ("sgd", "sgd,momentum=0.9", "adam", "lion")


def make_weights():
    return numpy.random.default_rng(0).normal(0, 0.1, (WIDTH, OUT)).astype(numpy.float32)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [ROWS, OUT])],
        [numpy_helper.from_array(make_weights(), "w")])
    file = tmp_path_factory.mktemp("updates") / "linear.onnx"
    file.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                       ir_version=8).SerializeToString())
    return file


def find_updates(optimizer, rate):
    """The size of the first update of each weight, by the gradient of the mean square error."""
    random = numpy.random.default_rng(1)
    x, t = random.normal(0, 1, (ROWS, WIDTH)), random.normal(0, 1, (ROWS, OUT))
    gradient = 2 * x.T @ (x @ make_weights() - t) / (ROWS * OUT)
    return rate * (numpy.abs(gradient) if optimizer.startswith("sgd") else numpy.ones_like(gradient))


def judge(optimizer, rate, precision):
    """The rules that must speak, and those that must not."""
    digits, largest = FORMATS[precision]
    weights = make_weights()
    size = numpy.sqrt((find_updates(optimizer, rate) ** 2).mean())
    ratio = size / numpy.sqrt((weights ** 2).mean())
    gaps = numpy.median(2.0 ** (numpy.floor(numpy.log2(numpy.abs(weights))) - digits))
    known = {"Inf": size / largest, "large": ratio, "lost": gaps / size if precision != "as-is" else 0}
    return ({word for word, value in known.items() if value >= SLACK},
            {word for word, value in known.items() if value <= 1 / SLACK})


@pytest.mark.parametrize("precision", FORMATS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_each_rule_has_its_own_decades(model, optimizer, precision):
    spoken = set()
    for decade in DECADES:
        rate = 10.0 ** decade
        run = run_mpopt("--check", model, "--train", "--loss", "mse:y,t", "--precision", precision, "--optimizer",
                        f"{optimizer},lr={rate:g}", "--input", "x=-5:5", "--input", "x~0,1", "--input", "t=-5:5",
                        "--input", "t~0,1", "--format", "json", "--fail-on", "never")
        assert run.returncode == 0, run.stderr
        found = {(finding["rule"], finding["severity"]) for finding in json.loads(run.stdout)["findings"]}
        words = {"Inf": ("MP415", "error") in found, "large": any(rule == "MP415" for rule, _ in found),
                 "lost": ("MP409", "warning") in found}
        must, never = judge(optimizer, rate, precision)
        assert all(words[word] for word in must), (rate, must, found)
        assert not any(words[word] for word in never), (rate, never, found)
        spoken |= must
    assert spoken >= ({"large"} | ({"lost"} if precision != "as-is" else set())
                      | ({"Inf"} if precision == "fp16" else set()))
