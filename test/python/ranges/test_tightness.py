"""Bounds are as tight as interval arithmetic with the exact weights, element by
element (intervals.py), on fully connected and convolution networks; and those of
LayerNorm, softmax and attention are their closed forms."""

import os
import re
import subprocess

import intervals
import numpy
import onnx
import pytest
from onnx import helper, numpy_helper
from soundness_models import read_vnnlib_box
from tool import BIN, SHARED

REMARK = re.compile(r'remark: loc\(fused<#mp\.origin<"[^"]*", "[^"]*", "[^"]*", \["([^"]*)"\]>>'
                    r'\[unknown\]\): (?:\{([\dx]+)\} )?((?:\[[^\]]*\] ?)+)')
CELL = re.compile(r"\[([^,\]]*), ([^\]]*)\]")


def with_boxes(text, boxes):
    """The imported module with bounds by element on its arguments."""
    for name, box in boxes.items():
        shape = "x".join(map(str, box.lo.shape))
        ends = ", ".join(
            f'{end}_elements = dense<"0x{getattr(box, end).astype("<f8").tobytes().hex().upper()}">'
            f" : tensor<{shape}xf64>" for end in ("lo", "hi"))
        text = text.replace(f'{{mp.name = "{name}"}} loc',
                            f'{{mp.name = "{name}", mp.assume = {{{ends}}}}} loc', 1)
        assert ends in text
    return text


def bounds(path, boxes, folder):
    """What mpopt says of every tensor, one interval an element."""
    module = subprocess.run([BIN / "mpopt", "--emit-mlir", path], capture_output=True, text=True,
                            check=True).stdout
    (folder / "model.mlir").write_text(with_boxes(module, boxes))
    printed = subprocess.run([BIN / "mpopt-opt", folder / "model.mlir", "-o", os.devnull,
                              "--mp-print-ranges=elements"], capture_output=True, text=True,
                             check=True).stderr
    said = {}
    for name, dims, cells in REMARK.findall(printed):
        ends = numpy.array(CELL.findall(cells), numpy.float64)
        shape = [int(dim) for dim in dims.split("x")] if dims else []
        said[name] = intervals.Box(*(ends[:, i].reshape(shape) for i in (0, 1)))
    return said


def compare(path, boxes, folder):
    """Asserts that no bound is wider: that of an op, given what the tool says of its
    operands, and that of the network, where a sum in another order may end at another
    float32. The mean width of the outputs."""
    said = bounds(path, boxes, folder)
    model = onnx.load(path)
    alone, whole = intervals.run(model, boxes, said), intervals.run(model, boxes)
    compared = 0
    for name, box in whole.items():
        if name in boxes:
            continue
        # The tensor keeps its elements apart.
        assert said[name].lo.size == box.lo.size, name
        ours = said[name].map(lambda end: end.reshape(box.lo.shape))
        largest = box.most.max()
        own = alone[name]
        most = intervals.Box(own.lo - 1e-12 * largest, own.hi + 1e-12 * largest).stored()
        assert (ours.lo >= most.lo).all() and (ours.hi <= most.hi).all(), name
        steps = 1e-6 * largest
        assert (ours.lo >= box.lo - steps).all() and (ours.hi <= box.hi + steps).all(), name
        compared += box.lo.size
    last = said[model.graph.output[0].name]
    return compared, float(numpy.mean(last.hi - last.lo))


def around(image, radius):
    return intervals.Box(numpy.maximum(image - radius, 0).astype(numpy.float32).astype(float),
                         numpy.minimum(image + radius, 1).astype(numpy.float32).astype(float))


def image_box(shape, seed, radius):
    """A blob with noise in [0, 1], and a box around it."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[-1:1:28j, -1:1:28j]
    blob = numpy.exp(-4 * (x * x + y * y)).reshape(shape) * random.uniform(0, 1, shape)
    return around(blob, radius)


shared = pytest.mark.skipif(not SHARED.is_dir() and not os.environ.get("CI"),
                            reason=f"no models in {SHARED}")


@shared
def test_acas(tmp_path):
    """Property 1 of the first ACAS Xu network: the mean width of the outputs is 8084.53 by
    interval arithmetic, 2595.70 by CROWN in real arithmetic (auto_LiRPA)."""
    lo, hi = read_vnnlib_box(SHARED / "sidecar" / "marabou-acasxu-1_1" / "acasxu_prop1.vnnlib")
    box = intervals.Box(*(end.astype(float).reshape(1, 1, 1, 5) for end in (lo, hi)))
    compared, width = compare(SHARED / "onnx" / "marabou-acasxu-1_1.onnx", {"input": box},
                              tmp_path)
    print(f"ACAS Xu 1_1, property 1: {compared} elements, mean width {width:.2f}")
    assert compared > 600 and 0.005 < width < 2700


@shared
@pytest.mark.parametrize("radius", [0.0, 0.01, 0.3])
def test_mnist_convolutions(radius, tmp_path):
    box = image_box((1, 1, 28, 28), 0, radius)
    scaled = intervals.Box(box.lo * 255, box.hi * 255)
    compared, width = compare(SHARED / "onnx" / "winml-mnist-cntk.onnx", {"Input3": scaled},
                              tmp_path)
    print(f"MNIST (CNTK), radius {radius}: {compared} elements, mean width {width:.6g}")
    assert compared > 20000


@pytest.mark.parametrize("seed", range(3))
def test_fully_connected(seed, tmp_path):
    """784-64-64-10, as the mnist_fc networks of the verification competitions."""
    random, sizes = numpy.random.default_rng(seed), [784, 64, 64, 10]
    nodes, constants, name = [], [], "x"
    for i, (k, n) in enumerate(zip(sizes, sizes[1:])):
        weights = random.normal(0, k ** -0.5, (k, n)).astype(numpy.float32)
        constants += [numpy_helper.from_array(weights, f"w{i}"), numpy_helper.from_array(
            random.normal(0, 0.1, n).astype(numpy.float32), f"b{i}")]
        nodes += [helper.make_node("MatMul", [name, f"w{i}"], [f"m{i}"]),
                  helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"])]
        name = f"a{i}"
        if i < 2:
            nodes.append(helper.make_node("Relu", [name], [f"r{i}"]))
            name = f"r{i}"
    path = tmp_path / "fc.onnx"
    onnx.save(helper.make_model(helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1, 784])],
        [helper.make_tensor_value_info(name, 1, [1, 10])], constants),
        opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    compared, _ = compare(path, {"x": image_box((1, 784), seed, 0.03)}, tmp_path)
    assert compared == 2 * (64 + 64 + 10) + 64 + 64


# -- closed forms --------------------------------------------------------------------------

def small_model(text, path):
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 23]> {text}'), path)
    return path


def assert_close(said, lo, hi, room=1e-4):
    """Neither wider nor, where the closed form is reached, tighter."""
    room *= max(numpy.abs(lo).max(), numpy.abs(hi).max())
    assert numpy.allclose(said.lo, lo, atol=room, rtol=0)
    assert numpy.allclose(said.hi, hi, atol=room, rtol=0)


def test_layer_norm(tmp_path):
    """|x - mean| / deviation <= sqrt(n - 1), whatever x is."""
    path = small_model("""g (float[2, 16] x, float[16] s) => (float[2, 16] y) {
        y = LayerNormalization <axis = -1> (x, s) }""", tmp_path / "m.onnx")
    gains = numpy.linspace(-3, 3, 16)
    said = bounds(path, {"x": intervals.Box(numpy.full(16, -10.0), numpy.full(16, 10.0)),
                         "s": intervals.Box(gains, gains)}, tmp_path)["y"]
    most = 15 ** 0.5 * numpy.abs(gains)
    assert_close(said, -most, most)


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)])
def test_weight_norm(axes, tmp_path):
    """The norms of rows of a constant, of which only the hull is kept, are known: a weight that
    is divided by them is bounded."""
    weights = numpy.random.default_rng(0).normal(0, 1, (40, 30, 50)).astype(numpy.float32)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(helper.make_graph(
        [helper.make_node("ReduceL2", ["v", "axes"], ["n"]),
         helper.make_node("Div", ["g", "n"], ["scale"]),
         helper.make_node("Mul", ["v", "scale"], ["w"]), helper.make_node("Add", ["w", "x"], ["y"])],
        "g", [helper.make_tensor_value_info("x", 1, [1])],
        [helper.make_tensor_value_info("y", 1, [40, 30, 50])],
        [numpy_helper.from_array(weights, "v"),
         numpy_helper.from_array(numpy.array(axes), "axes"),
         numpy_helper.from_array(numpy.float32(1), "g")]),
        opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    said = bounds(path, {}, tmp_path)
    norms = (weights.astype(float) ** 2).sum(axes, keepdims=True) ** 0.5
    assert said["n"].lo.min() == pytest.approx(norms.min(), rel=1e-3)
    assert said["n"].hi.max() == pytest.approx(norms.max(), rel=1e-3)
    assert numpy.abs(said["w"].hi).max() <= numpy.abs(weights).max() / norms.min() * 1.001


def softmax_bounds(lo, hi):
    """An element is largest when it is at its upper end and the others at their
    lower ones."""
    up, down = numpy.exp(hi), numpy.exp(lo)
    return (down / (down + up.sum(-1, keepdims=True) - up),
            up / (up + down.sum(-1, keepdims=True) - down))


@pytest.mark.parametrize("seed", range(4))
def test_softmax(seed, tmp_path):
    path = small_model("""g (float[2, 7] x) => (float[2, 7] y) {
        y = Softmax <axis = -1> (x) }""", tmp_path / "m.onnx")
    random = numpy.random.default_rng(seed)
    box = intervals.Box(*numpy.sort(random.uniform(-4, 4, (2, 2, 7)), axis=0))
    assert_close(bounds(path, {"x": box}, tmp_path)["y"], *softmax_bounds(box.lo, box.hi))


def test_attention(tmp_path):
    """Scores are at most the product of the norms; a row of weights mixes the values,
    so that every column stays within its own ends."""
    path = small_model("""g (float[1, 2, 4, 8] q, float[1, 2, 5, 8] k, float[1, 2, 5, 3] v)
        => (float[1, 2, 4, 3] y) <float[8] one = {1, 1, 1, 1, 1, 1, 1, 1}> {
          qn = RMSNormalization <axis = -1> (q, one)
          kn = RMSNormalization <axis = -1> (k, one)
          kt = Transpose <perm = [0, 1, 3, 2]> (kn)
          s = MatMul (qn, kt)
          p = Softmax <axis = -1> (s)
          y = MatMul (p, v)
          f = Attention (qn, kn, v)
        }""", tmp_path / "m.onnx")
    wide = intervals.Box(numpy.full(8, -1e4), numpy.full(8, 1e4))
    low, high = numpy.array([-1.0, 2, 3]), numpy.array([1.0, 2.5, 9])
    said = bounds(path, {"q": wide, "k": wide, "v": intervals.Box(low, high)}, tmp_path)
    assert_close(said["s"], numpy.float64(-8), numpy.float64(8))
    for name in ("y", "f"):
        assert_close(said[name], low.reshape(1, 1, 1, 3), high.reshape(1, 1, 1, 3))
    # One score at 8 among four at -8, and the other way round.
    least, most = softmax_bounds(numpy.full(5, -8.0), numpy.full(5, 8.0))
    assert_close(said["p"], least[0], most[0])
