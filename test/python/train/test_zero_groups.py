"""Groups of zeros with one scale in the layers of an FP8 step: rectified channels, borders of images, positions that nothing reads, and
padding."""

import json

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tool import run_mpopt

ROWS, WIDTH, BLOCK = 64, 48, 16


def ask(path, nodes, held, shape, recipe, loss="mse:y", spread="x~0,1", dtype=TensorProto.FLOAT):
    """By output, the layers of the step."""
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", dtype, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(w.astype("f4"), name) for name, w in held.items() if w.dtype != numpy.int64] +
                              [numpy_helper.from_array(w, name) for name, w in held.items() if w.dtype == numpy.int64])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)]), path)
    done = run_mpopt("--check", path, "--train", "--precision", f"fp8:{recipe}", "--loss", loss, "--input", spread, "--format",
                     "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    return {g["output"]: g for g in json.loads(done.stdout)["training"]["fp8"]["gemms"]}


@pytest.mark.parametrize("recipe, size", [("rowwise", ROWS), ("nvfp4", BLOCK)])
def test_rectified_channels(tmp_path, recipe, size):
    random = numpy.random.default_rng(5)
    held = {"a.weight": random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)), "a.bias": random.normal(0, 2, WIDTH),
            "b.weight": random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)), "b.bias": numpy.zeros(WIDTH)}
    nodes = [helper.make_node("Gemm", ["x", "a.weight", "a.bias"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "b.weight", "b.bias"], ["y"])]
    layers = ask(tmp_path / "m.onnx", nodes, held, [ROWS, WIDTH], recipe)
    shares = []
    for _ in range(20):
        h = random.normal(0, 1, (ROWS, WIDTH)) @ held["a.weight"] + held["a.bias"]
        shares.append((h.reshape(-1, size, WIDTH) <= 0).all(1).mean())
    true = numpy.mean(shares)
    assert true > 0.02
    for said in (layers["y"]["wgrad"]["x"]["zero"], layers["h"]["wgrad"]["dy"]["zero"]):
        assert true / 1.5 < said < true * 1.5, (said, true)


@pytest.mark.parametrize("width", [32, 12])
def test_border_of_an_image(tmp_path, width):
    random = numpy.random.default_rng(5)
    held = {"weight": random.normal(0, 0.2, (8, 3, 3, 3))}
    nodes = [helper.make_node("Conv", ["x", "weight"], ["y"], pads=[1, 1, 1, 1])]
    layers = ask(tmp_path / "m.onnx", nodes, held, [4, 3, width, width], "nvfp4")
    image = numpy.pad(numpy.ones((4, width, width)), ((0, 0), (1, 1), (1, 1)))
    # [tap, position] and, for one channel after the other, [position, tap].
    read = numpy.stack([image[:, i:i + width, j:j + width].reshape(-1) for i in range(3) for j in range(3)])
    columns = numpy.pad(numpy.tile(read.T, (1, 3)), ((0, 0), (0, 5)))
    assert layers["y"]["wgrad"]["x"]["zero"] == pytest.approx((read.reshape(9, -1, BLOCK).max(2) == 0).mean(), rel=0.02)
    assert layers["y"]["fprop"]["x"]["zero"] == pytest.approx((columns.reshape(-1, BLOCK).max(1) == 0).mean(), rel=0.02)


@pytest.mark.parametrize("recipe, said, true", [("rowwise", "dgrad", 16 / 17), ("nvfp4", "wgrad", 1 / 9)])
def test_positions_that_nothing_reads(tmp_path, recipe, said, true):
    """A norm, a sum, a function and a layer in front of the class token: 16 of 17 positions have no gradient. Of 9 blocks of 16 positions, the
    last has no class token."""
    random = numpy.random.default_rng(5)
    held = {"a.weight": random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)), "b.weight": random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)),
            "scale": numpy.ones(WIDTH), "first": numpy.array(0, dtype=numpy.int64)}
    nodes = [helper.make_node("MatMul", ["x", "a.weight"], ["u"]), helper.make_node("Tanh", ["u"], ["t"]),
             helper.make_node("MatMul", ["t", "b.weight"], ["v"]), helper.make_node("Gelu", ["v"], ["f"]),
             helper.make_node("Add", ["f", "u"], ["s"]),
             helper.make_node("LayerNormalization", ["s", "scale"], ["n"]), helper.make_node("Gather", ["n", "first"], ["y"], axis=1)]
    layers = ask(tmp_path / "m.onnx", nodes, held, [8, 17, WIDTH], recipe)
    assert layers["v"][said]["dy"]["zero"] == pytest.approx(true)


@pytest.mark.parametrize("counted", [1, 0.5])
def test_padding_is_what_the_loss_ignores(tmp_path, counted):
    """Rows of a masked token are 0; targets that the loss ignores say how many."""
    random = numpy.random.default_rng(5)
    held = {"embed.weight": random.normal(0, 0.05, (WIDTH, WIDTH)), "a.weight": random.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)),
            "pad": numpy.array(0), "last": numpy.array([-1])}
    nodes = [helper.make_node("Gather", ["embed.weight", "x"], ["e"]), helper.make_node("Equal", ["x", "pad"], ["p"]),
             helper.make_node("Not", ["p"], ["t"]), helper.make_node("Cast", ["t"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Unsqueeze", ["f", "last"], ["m"]), helper.make_node("Mul", ["e", "m"], ["z"]),
             helper.make_node("MatMul", ["z", "a.weight"], ["y"])]
    layers = ask(tmp_path / "m.onnx", nodes, held, [8, 64], "rowwise", f"cross_entropy:y:class_axis=-1:ignore=-100:share_counted={counted}",
                 f"x=0:{WIDTH - 1}", TensorProto.INT64)
    assert layers["y"]["fprop"]["x"]["zero"] == pytest.approx(1 - counted)


def test_rows_of_rectified_channels(tmp_path):
    random = numpy.random.default_rng(5)
    held = {"a.weight": random.normal(0, WIDTH**-0.5, (WIDTH, BLOCK)), "a.bias": random.normal(-2, 1, BLOCK),
            "b.weight": random.normal(0, BLOCK**-0.5, (BLOCK, WIDTH)), "b.bias": numpy.zeros(WIDTH)}
    nodes = [helper.make_node("Gemm", ["x", "a.weight", "a.bias"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "b.weight", "b.bias"], ["y"])]
    layers = ask(tmp_path / "m.onnx", nodes, held, [ROWS, WIDTH], "rowwise")
    h = random.normal(0, 1, (1 << 16, WIDTH)) @ held["a.weight"] + held["a.bias"]
    true = (h <= 0).all(1).mean()
    assert true > 0.02
    assert true / 1.5 < layers["y"]["fprop"]["x"]["zero"] < true * 1.5


def test_rectified_channels_that_a_pool_reads(tmp_path):
    """A maximum is 0 where its window is, a mean where the image is, and a maximum's gradient goes to one position of a window."""
    random = numpy.random.default_rng(5)
    held = {"d.weight": random.normal(0, 0.6, (3, 3, 1, 1)), "a.weight": random.normal(0, 0.6, (4, 3, 1, 1)), "a.bias": numpy.full(4, -2.0),
            "b.weight": random.normal(0, 0.6, (8, 4, 1, 1)), "c.weight": random.normal(0, 1, (4, 16))}
    first = [helper.make_node("Conv", ["x", "d.weight"], ["z"]), helper.make_node("Conv", ["z", "a.weight", "a.bias"], ["h"]),
             helper.make_node("Relu", ["h"], ["r"])]
    direct = [helper.make_node("Conv", ["x", "a.weight", "a.bias"], ["h"]), first[2]]
    largest = [helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), helper.make_node("Conv", ["p", "b.weight"], ["y"])]
    mean = [helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["f"]),
            helper.make_node("MatMul", ["f", "c.weight"], ["y"])]
    pooled, picked, whole = [], [], []
    for _ in range(400):
        image = random.normal(0, 1, (8, 8, 8, 3))
        a = held["a.weight"][:, :, 0, 0].T
        whole.append((image @ a + held["a.bias"] <= 0).all((0, 1, 2)).mean())
        windows = (image @ held["d.weight"][:, :, 0, 0].T @ a + held["a.bias"]).reshape(8, 4, 2, 4, 2, 4).transpose(0, 1, 3, 2, 4, 5).reshape(8, 16, 4, 4)
        pooled.append((windows <= 0).all(2).reshape(-1, BLOCK, 4).all(1).mean())
        picked.append((((windows <= 0) | (windows < windows.max(2, keepdims=True))).all(3)).mean())
    layers = ask(tmp_path / "m.onnx", first + largest, {k: v for k, v in held.items() if k != "c.weight"}, [8, 3, 8, 8], "nvfp4")
    said = [layers["y"]["wgrad"]["x"]["zero"], layers["h"]["dgrad"]["dy"]["zero"]]
    layers = ask(tmp_path / "n.onnx", direct + mean, {k: v for k, v in held.items() if k not in ("b.weight", "d.weight")}, [8, 3, 8, 8], "rowwise")
    said.append(layers["y"]["wgrad"]["x"]["zero"])
    for found, draws in zip(said, (pooled, picked, whole)):
        true = numpy.mean(draws)
        assert true > 0.002
        assert true / 1.5 < found < true * 1.5, (said, true)


@pytest.mark.parametrize("recipe, size", [("rowwise", 256), ("nvfp4", BLOCK)])
def test_experts_without_a_token(tmp_path, recipe, size):
    """Each token goes to the expert with the largest score; the list of one that is seldom chosen has groups of zeros."""
    random = numpy.random.default_rng(5)
    tokens, experts = 256, 8
    held = {"router.weight": random.normal(0, 0.05, (WIDTH, experts)), "router.bias": numpy.linspace(0, 2, experts),
            "first": random.normal(0, WIDTH**-0.5, (experts, WIDTH, WIDTH)), "last": numpy.array([-1]), "zero": numpy.array([0])}
    nodes = [helper.make_node("MatMul", ["x", "router.weight"], ["u"]), helper.make_node("Add", ["u", "router.bias"], ["s"]),
             helper.make_node("Softmax", ["s"], ["p"]), helper.make_node("ReduceMax", ["p", "last"], ["m"], keepdims=1),
             helper.make_node("Equal", ["p", "m"], ["e"]), helper.make_node("Cast", ["e"], ["f"], to=TensorProto.FLOAT),
             helper.make_node("Transpose", ["f"], ["t"]), helper.make_node("Unsqueeze", ["t", "last"], ["k"]),
             helper.make_node("Unsqueeze", ["x", "zero"], ["h"]), helper.make_node("Mul", ["h", "k"], ["sent"]),
             helper.make_node("MatMul", ["sent", "first"], ["y"])]
    layers = ask(tmp_path / "m.onnx", nodes, held, [tokens, WIDTH], recipe)
    shares = []
    for _ in range(200):
        scores = random.normal(0, 1, (tokens, WIDTH)) @ held["router.weight"] + held["router.bias"]
        chosen = scores == scores.max(1, keepdims=True)
        shares.append((~chosen).reshape(-1, size, experts).all(1).mean())
    true = numpy.mean(shares)
    assert true > 0.1
    assert true / 1.25 < layers["y"]["wgrad"]["x"]["zero"] < true * 1.25, (layers["y"]["wgrad"]["x"]["zero"], true)
