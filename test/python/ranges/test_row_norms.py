"""Norms of the channels at a position, through layers of convolutional networks: what the operator
norms of weights prove, and that it holds for inputs that attain what they can."""

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from soundness_models import Subject, compare
from tool import read_ranges

WIDTH, SIZE = 32, 6


def turn(random, rows, columns):
    """A matrix whose singular values are 1."""
    return numpy.linalg.qr(random.normal(0, 1, (max(rows, columns),) * 2))[0][:rows, :columns]


class Layers:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.constants, self.size, self.last = [], [], SIZE, "x"

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.float32(array), name))
        return name

    def add(self, kind, *inputs, **attributes):
        self.last = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [self.last], name=self.last, **attributes))
        return self.last

    def turn(self, bias=0.0):
        """A convolution that turns the channels."""
        weights = turn(self.random, WIDTH, WIDTH)[..., None, None]
        inputs = [self.last, self.constant(weights)]
        self.add("Conv", *inputs, *([self.constant(numpy.full(WIDTH, bias))] if bias else []))

    def save(self, path, shape=(1, WIDTH, SIZE, SIZE)):
        box = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        result = helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "layers", [box], [result], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def batch_norm(layers):
    parameters = [numpy.full(WIDTH, each) for each in (-1.0, 0.5, 0.25, 1.0)]
    layers.add("BatchNormalization", layers.last, *(layers.constant(each) for each in parameters))


def resize(layers, mode):
    layers.add("Resize", layers.last, "", layers.constant([1, 1, 2, 2]), mode=mode)


# A layer between two turns, and the largest norm that it has for rows of norm R.
R = numpy.sqrt(WIDTH)
LAYERS = {
    "relu": (lambda layers: layers.add("Relu", layers.last), R),
    "bias": (lambda layers: layers.turn(0.5), 1.5 * R),
    "window": (lambda layers: layers.add("Conv", layers.last, layers.constant(
        turn(layers.random, WIDTH, 9 * WIDTH).reshape(WIDTH, WIDTH, 3, 3)), pads=[1] * 4), 3 * R),
    "groups": (lambda layers: layers.add("Conv", layers.last, layers.constant(numpy.stack(
        [turn(layers.random, 8, 8) for _ in range(4)]).reshape(32, 8, 1, 1)), group=4), R),
    "transposed": (lambda layers: layers.add("ConvTranspose", layers.last, layers.constant(
        turn(layers.random, WIDTH, 4 * WIDTH).reshape(WIDTH, WIDTH, 2, 2)), strides=[2, 2]), R),
    "overlapping": (lambda layers: layers.add("ConvTranspose", layers.last, layers.constant(
        turn(layers.random, WIDTH, 9 * WIDTH).reshape(WIDTH, WIDTH, 3, 3)), strides=[2, 2]), 4 * R),
    "batch norm": (batch_norm, 1.75 * R),
    "maximum": (lambda layers: layers.add("MaxPool", layers.last, kernel_shape=[2, 2]), 2 * R),
    "mean": (lambda layers: layers.add("AveragePool", layers.last, kernel_shape=[2, 2], pads=[1] * 4), R),
    "global mean": (lambda layers: layers.add("GlobalAveragePool", layers.last), R),
    "nearest": (lambda layers: resize(layers, "nearest"), R),
    "linear": (lambda layers: resize(layers, "linear"), R),
}


@pytest.mark.parametrize("kind", LAYERS)
def test_norms_of_rows(kind, tmp_path):
    """No element exceeds its row's norm, which for elements in -1:1 is sqrt(n): three turns alone
    would give n^1.5 by intervals."""
    layers = Layers(1)
    layers.turn()
    layer, norm = LAYERS[kind]
    layer(layers)
    layers.turn()
    path = tmp_path / "m.onnx"
    layers.save(path)
    bound = read_ranges(path, "--input", "x=-1:1")["tensors"][layers.last]
    assert max(-bound["lo"], bound["hi"]) <= norm * (1 + 1e-4)
    for precision in ("as-is", "fp16"):
        result = compare(Subject(path, boxes={"x": (-1.0, 1.0)}), precision, tmp_path, 30)
        assert not result.problems, "\n".join(result.problems.values())
        assert result.tensors


def test_what_inputs_attain(tmp_path):
    """The corner that gives one element of a linear stack its largest value, for each element."""
    layers = Layers(2)
    matrix = numpy.eye(WIDTH)
    for _ in range(4):
        layers.turn()
        matrix = numpy_helper.to_array(layers.constants[-1]).astype(float)[..., 0, 0] @ matrix
    path = tmp_path / "m.onnx"
    layers.save(path)
    bound = read_ranges(path, "--input", "x=-1:1")["tensors"][layers.last]
    attained = abs(matrix).sum(1).max()
    assert attained <= bound["hi"] <= numpy.sqrt(WIDTH) * (1 + 1e-4)


def spectrogram(kind, root):
    """Mel bands of the power of frames: by the op, by products with a DFT matrix, or by a convolution."""
    frame, bands, bins = 64, 8, 33
    layers = Layers(3)
    angle = 2 * numpy.pi * numpy.outer(numpy.arange(bins), numpy.arange(frame)) / frame
    window = numpy.hanning(frame)
    parts = [numpy.cos(angle) * window, -numpy.sin(angle) * window]
    mel = numpy.abs(layers.random.normal(0, 1, (bins, bands)))
    if kind == "op":
        layers.add("STFT", "x", integers(layers, 16), layers.constant(window), integers(layers, frame))
        layers.add("Mul", layers.last, layers.last)
        layers.add("ReduceSum", layers.last, integers(layers, [-1]), keepdims=0)
    elif kind == "products":
        squares = []
        for part in parts:
            layers.add("MatMul", "x", layers.constant(part.T))
            squares.append(layers.add("Pow", layers.last, layers.constant(2)))
        layers.add("Add", *squares)
    else:
        layers.add("Conv", "x", layers.constant(numpy.concatenate(parts)[:, None]), strides=[16])
        layers.add("Mul", layers.last, layers.last)
        layers.add("Split", layers.last, num_outputs=2, axis=1)
        layers.nodes[-1].output[:] = ["re", "im"]
        layers.add("Add", "re", "im")
        layers.add("Transpose", layers.last, perm=[0, 2, 1])
    power = layers.last
    if root := kind == "products" and root:
        layers.add("Sqrt", layers.last)
    layers.add("MatMul", layers.last, layers.constant(mel))
    # Real and imaginary part each have the whole energy at most.
    energy = window @ window * frame if kind == "op" else numpy.linalg.norm(
        numpy.concatenate(parts) if kind == "convolution" else parts[0], 2)**2 * frame
    return layers, power, mel, 2 * energy


def integers(layers, number):
    name = f"c{len(layers.constants)}"
    layers.constants.append(numpy_helper.from_array(numpy.array(number, numpy.int64), name))
    return name


@pytest.mark.parametrize("kind, shape", [("op", (1, 128)), ("products", (3, 64)), ("convolution", (1, 1, 128))])
@pytest.mark.parametrize("root", [False, True])
def test_spectra(kind, shape, root, tmp_path):
    """Parseval: the power of all bins is at most `frame` times the energy of the frame, so that a band
    has as much as its largest weights allow for, and no more than as if each bin had all of it."""
    layers, power, mel, energy = spectrogram(kind, root)
    path = tmp_path / "m.onnx"
    layers.save(path, shape)
    bounds = read_ranges(path, "--input", "x=-1:1")["tensors"]
    assert bounds[power]["hi"] <= energy * (1 + 1e-4)
    whole = numpy.sqrt(energy) if kind == "products" and root else energy
    assert bounds[layers.last]["hi"] <= whole * numpy.sqrt((mel**2).sum(0)).max() * (1 + 1e-3)
    for precision in ("as-is", "fp16"):
        result = compare(Subject(path, boxes={"x": (-1.0, 1.0)}), precision, tmp_path, 30)
        assert not result.problems, "\n".join(result.problems.values())
        assert result.tensors


def test_tones_attain_their_bound(tmp_path):
    """All of the energy in one bin."""
    layers, power, _, energy = spectrogram("op", False)
    path = tmp_path / "m.onnx"
    layers.save(path, (1, 128))
    bound = read_ranges(path, "--input", "x=-1:1")["tensors"][power]["hi"]
    assert numpy.hanning(64).sum()**2 <= bound <= energy * (1 + 1e-4)
