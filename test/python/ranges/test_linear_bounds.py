"""Bounds by backward relaxation (lib/Ranges/Linear) hold every value of random networks:
each kind of op that has a step, branches that meet again, padded borders, narrow storage."""

import pathlib
import re

import numpy
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from soundness_models import Subject, compare
from tool import read_ranges

FUNCTIONS = ["Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "Softplus", "HardSigmoid", "Softsign",
             "Abs", "Gelu", "Clip", "Neg", "Exp"]


class Network:
    """A graph that grows at its end."""

    def __init__(self, random, shape, opset=20):
        self.opset = opset
        self.random, self.nodes, self.constants = random, [], []
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        self.shapes = {"x": tuple(shape)}

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array, numpy.float32), name))
        return name

    def integers(self, *numbers):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.array(numbers, numpy.int64), name))
        return name

    def weights(self, *shape, scale=1.0):
        fan = max(1, int(numpy.prod(shape[1:])))
        return self.constant(self.random.normal(0, scale / numpy.sqrt(fan), shape))

    def add(self, kind, inputs, shape, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        self.shapes[name] = tuple(shape)
        return name

    def save(self, path, output):
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, self.shapes[output])
        graph = helper.make_graph(self.nodes, "network", [self.input], [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                  ir_version=9)
        onnx.checker.check_model(model)
        onnx.save(model, path)

    def function(self, x):
        kind = str(self.random.choice(FUNCTIONS))
        inputs = [x]
        if kind == "Clip":
            inputs += [self.constant(-0.7), self.constant(1.1)]
        if kind == "Exp":
            inputs = [self.add("Clip", [x, self.constant(-3), self.constant(2)], self.shapes[x])]
        return self.add(kind, inputs, self.shapes[x])


def make_dense(random, path):
    network = Network(random, (2, 6))
    x, width = "x", 6
    for _ in range(int(random.integers(3, 6))):
        new = int(random.integers(4, 12))
        scale = float(random.choice([1, 3]))
        if random.random() < 0.5:
            y = network.add("Gemm", [x, network.weights(new, width, scale=scale),
                                     network.weights(new)], (2, new), transB=1, alpha=0.7)
        else:
            y = network.add("MatMul", [x, network.weights(width, new, scale=scale)], (2, new))
            y = network.add("Add", [y, network.weights(new)], (2, new))
        y = network.function(y)
        if random.random() < 0.5:
            other = network.function(y)
            y = network.add(str(random.choice(["Add", "Sub", "Mul", "Max", "Min"])), [y, other], (2, new))
        if random.random() < 0.3:
            y = network.add("Concat", [y, network.function(y)], (2, 2 * new), axis=1)
            new *= 2
        x, width = y, new
    network.save(path, network.add("MatMul", [x, network.weights(width, 3)], (2, 3)))


def make_convolutional(random, path):
    channels, size = 3, 8
    network = Network(random, (1, channels, size, size))
    x = "x"
    for _ in range(int(random.integers(2, 4))):
        groups = int(random.choice([1, channels]))
        new = groups * int(random.integers(1, 4))
        kernel, stride = int(random.choice([1, 3])), int(random.choice([1, 1, 2]))
        pad = kernel // 2
        out = (size + 2 * pad - kernel) // stride + 1
        y = network.add("Conv", [x, network.weights(new, channels // groups, kernel, kernel,
                                                    scale=2), network.weights(new)],
                        (1, new, out, out), group=groups, strides=[stride] * 2, pads=[pad] * 4)
        if random.random() < 0.5:
            parameters = [network.constant(random.uniform(low, 2, new))
                          for low in (0.5, -1, -1, 0.3)]
            y = network.add("BatchNormalization", [y, *parameters], network.shapes[y])
        y = network.function(y)
        z = network.add("Conv", [y, network.weights(new, new, 3, 3)], network.shapes[y],
                        pads=[1] * 4)
        y = network.function(network.add("Add", [y, z], network.shapes[y]))
        if out >= 4 and random.random() < 0.6:
            kind = str(random.choice(["MaxPool", "AveragePool"]))
            pads = int(random.choice([0, 1]))
            pooled = (out + 2 * pads - 2) // 2 + 1
            y = network.add(kind, [y], (1, new, pooled, pooled), kernel_shape=[2, 2],
                            strides=[2, 2], pads=[pads] * 4)
            out = pooled
        x, channels, size = y, new, out
    if random.random() < 0.5:
        x = network.add("GlobalAveragePool", [x], (1, channels, 1, 1))
        size = 1
    count = channels * size * size
    x = network.add("Flatten", [x], (1, count))
    network.save(path, network.add("Gemm", [x, network.weights(count, 4), network.weights(4)],
                                   (1, 4)))


def normalised(network, x):
    """A step that sees a whole row."""
    random = network.random
    rows, width = network.shapes[x]
    kind = str(random.choice(["Softmax", "LayerNormalization", "GroupNormalization",
                              "InstanceNormalization", "RMSNormalization", "Div", "Max", "Min"]))
    shape = (rows, width)
    if kind == "Softmax":
        return network.add(kind, [x], shape, axis=int(random.integers(0, 2)))
    if kind in ("LayerNormalization", "RMSNormalization"):
        parameters = [network.weights(width) for _ in range(2 if kind[0] == "L" else 1)]
        return network.add(kind, [x, *parameters], shape, epsilon=float(random.choice([1e-5, 1])))
    if kind in ("GroupNormalization", "InstanceNormalization"):
        groups = {"num_groups": 2} if kind[0] == "G" else {}
        inner = network.add("Reshape", [x, network.integers(rows, 2, width // 2)],
                            (rows, 2, width // 2))
        y = network.add(kind, [inner, network.weights(2), network.weights(2)],
                        (rows, 2, width // 2), epsilon=0.1, **groups)
        return network.add("Reshape", [y, network.integers(*shape)], shape)
    other = network.add("MatMul", [x, network.weights(width, width)], shape)
    if kind == "Div":
        positive = network.add("Softplus", [other], shape)
        moved = network.add("Add", [positive, network.constant(random.uniform(0.2, 2))], shape)
        if random.random() < 0.5:
            moved = network.add("Neg", [moved], shape)
        return network.add(kind, [x, moved], shape)
    return network.add(kind, [x, other], shape)


def make_rows(random, path):
    """Softmax, norms, quotients and extremes between products."""
    width = int(random.choice([4, 8]))
    network = Network(random, (2, 6), opset=23)
    x = network.add("MatMul", ["x", network.weights(6, width)], (2, width))
    for _ in range(int(random.integers(1, 5))):
        y = normalised(network, x)
        z = network.add("MatMul", [y, network.weights(width, width, scale=2)], (2, width))
        x = network.add(str(random.choice(["Add", "Sub", "Mul"])), [x, z], (2, width))
    network.save(path, network.add("MatMul", [x, network.weights(width, 3)], (2, 3)))


def view(network, x):
    """A step that moves elements, or looks at some of them; maps stay square."""
    random = network.random
    one, channels, size, _ = network.shapes[x]
    kind = str(random.choice(["Slice", "Pad", "Split", "Squeeze", "Transpose", "Cast", "Identity", "GlobalMaxPool",
                              "ReduceMax", "ReduceMean", "ReduceSum", "GlobalAveragePool"]))
    if kind == "Slice":
        step = int(random.choice([1, 2, -1])) if size > 3 else 1
        first, last = (size - 1, 0) if step < 0 else (int(random.integers(0, 2)), size)
        left = len(range(size)[first:last:step])
        return network.add(kind, [x, network.integers(first, first), network.integers(last, last),
                                  network.integers(2, 3), network.integers(step, step)], (one, channels, left, left))
    if kind == "Pad":
        begin, end = (int(each) for each in random.integers(-1 if size > 3 else 0, 2, 2))
        left = size + begin + end
        inputs = [x, network.integers(0, 0, begin, begin, 0, 0, end, end)]
        inputs += [network.constant(random.normal())] if random.random() < 0.5 else []
        return network.add(kind, inputs, (one, channels, left, left))
    if kind == "Split":
        if channels < 2:
            return x
        sizes = network.integers(1, channels - 1)
        y = network.add(kind, [x, sizes], (one, channels - 1, size, size), axis=1)
        network.nodes[-1].output[:] = [f"{y}first", y]
        return y
    if kind == "Squeeze":
        y = network.add(kind, [x, network.integers(0)], (channels, size, size))
        return network.add("Unsqueeze", [y, network.integers(0)], (one, channels, size, size))
    if kind == "Transpose":
        return network.add(kind, [x], (one, channels, size, size), perm=[0, 1, 3, 2])
    if kind == "Cast":
        return network.add(kind, [x], network.shapes[x], to=TensorProto.FLOAT)
    if kind == "Identity":
        return network.add(kind, [x], network.shapes[x])
    axes = [network.integers(2, 3)] if kind.startswith("Reduce") else []
    row = network.add(kind, [x, *axes], (one, channels, 1, 1))
    return network.add("Sub", [x, row], network.shapes[x])


def make_views(random, path):
    """Slices, borders, parts and reductions between convolutions."""
    channels, size = 2, 6
    network = Network(random, (1, channels, size, size), opset=18)
    x = "x"
    for _ in range(int(random.integers(2, 4))):
        new = int(random.integers(2, 5))
        y = network.add("Conv", [x, network.weights(new, channels, 3, 3, scale=2), network.weights(new)],
                        (1, new, size, size), pads=[1] * 4)
        z = view(network, y)
        if network.shapes[z] == network.shapes[y]:
            z = network.add(str(random.choice(["Add", "Sub"])), [network.add("Relu", [y], network.shapes[y]), z],
                            network.shapes[y])
        x, (_, channels, size, _) = z, network.shapes[z]
        if size < 2:
            break
    x = network.add("Reshape", [x, network.integers(1, -1)], (1, channels * size * size))
    network.save(path, network.add("MatMul", [x, network.weights(channels * size * size, 3)], (1, 3)))


def make_transposed(random, path):
    """Transposed convolutions behind convolutions, along one axis to three: strides, dilations, uneven
    padding, groups, positions that no element reaches."""
    rank, channels = int(random.integers(1, 4)), 4
    network = Network(random, (1, channels, *[5, 4, 3][:rank]))
    x = "x"
    for _ in range(int(random.integers(1, 4))):
        sizes = network.shapes[x][2:]
        kernel, stride, dilation = ([int(each) for each in random.integers(1, most + 1, rank)] for most in (3, 3, 2))
        extra = [int(random.integers(0, each)) for each in stride]
        reach = [each * (taps - 1) + 1 for each, taps in zip(dilation, kernel, strict=True)]
        pads = [int(random.integers(0, each)) for each in 2 * reach]
        out = [(size - 1) * each + more + far - first - last for size, each, more, far, first, last
               in zip(sizes, stride, extra, reach, pads[:rank], pads[rank:], strict=True)]
        if min(out) < 1 or max(out) > 16:
            continue
        groups = int(random.choice([1, 2]))
        new = groups * int(random.integers(1, 3))
        weights = network.weights(channels, new // groups, *kernel, scale=2)
        y = network.add("ConvTranspose", [x, weights, network.weights(new)][:int(random.integers(2, 4))],
                        (1, new, *out), strides=stride, dilations=dilation, pads=pads, group=groups,
                        output_padding=extra)
        y = network.function(y)
        z = network.add("Conv", [y, network.weights(4, new, *[3] * rank)], (1, 4, *out), pads=[1] * 2 * rank)
        x, channels = network.add("Sub", [z, network.add("Conv", [y, network.weights(4, new, *[1] * rank)],
                                                         (1, 4, *out))], (1, 4, *out)), 4
    if x == "x":
        x = network.add("ConvTranspose", [x, network.weights(channels, 2, *[2] * rank)],
                        (1, 2, *[2 * size for size in network.shapes[x][2:]]), strides=[2] * rank)
    network.save(path, x)


def make_formulas(random, path):
    """Products, quotients and choices of functions of one value between layers."""
    network = Network(random, (2, 6))
    x = "x"
    for _ in range(int(random.integers(2, 5))):
        x = network.add("MatMul", [x, network.weights(6, 6, scale=float(random.choice([1, 3])))], (2, 6))
        number, other = network.constant(random.normal()), network.constant(random.uniform(0.1, 3))
        y = network.add(str(random.choice(["Add", "Mul"])), [x, number], (2, 6))
        y, z = network.function(y), network.function(x)
        kind = str(random.choice(["Mul", "Div", "Where"]))
        if kind == "Div":
            y = network.add("Add", [network.add("Abs", [y], (2, 6)), other], (2, 6))
        inputs = [z, y]
        if kind == "Where":
            network.nodes.append(helper.make_node("Greater", [x, number], [f"is{len(network.nodes)}"]))
            inputs.insert(0, network.nodes[-1].output[0])
        x = network.add(kind, inputs, (2, 6))
    network.save(path, network.add("MatMul", [x, network.weights(6, 3)], (2, 3)))


SEEDS = 16
MAKERS = {"dense": make_dense, "convolutional": make_convolutional, "rows": make_rows, "views": make_views,
          "transposed": make_transposed, "formulas": make_formulas}
# Ops that have a step, by the names that ONNX has for them where those are others; of Linear and Embedding
# test_forms_of_programs.
NAMES = {"MatMul": {"MatMul"}, "BatchNorm": {"BatchNormalization"}, "LayerNorm": {"LayerNormalization"},
         "RMSNorm": {"RMSNormalization"}, "InstanceNorm": {"InstanceNormalization"},
         "GroupNorm": {"GroupNormalization"}, "Linear": set(), "Embedding": set(), "Gather": set(),
         "Constant": set()}


def test_every_step_is_tried(tmp_path):
    """Each op that lib/Ranges/Linear names is in one of the networks; of Gather, test_rows_of_a_table."""
    tried = set()
    for kind, make in MAKERS.items():
        for seed in range(SEEDS):
            make(numpy.random.default_rng([seed, len(kind)]), tmp_path / "m.onnx")
            tried |= {node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node}
    sources = (pathlib.Path(__file__).parents[3] / "lib/Ranges/Linear").glob("*.cpp")
    steps = {name for file in sources for name in re.findall(r"mp::([A-Z]\w*)Op\b", file.read_text())}
    assert len(steps) > 30
    assert not {name for name in steps if not NAMES.get(name, {name}) <= tried}


@pytest.mark.parametrize("effort", ["default", "high"])
@pytest.mark.parametrize("precision", ["as-is", "fp16"])
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("kind", MAKERS)
def test_values_lie_in_bounds(kind, seed, precision, effort, tmp_path):
    random = numpy.random.default_rng([seed, len(kind)])
    path = tmp_path / "network.onnx"
    MAKERS[kind](random, path)
    shape = onnx.load(path).graph.input[0].type.tensor_type.shape.dim
    shape = tuple(dim.dim_value for dim in shape)
    centre = random.normal(0, 1, shape)
    radius = random.uniform(0, random.choice([0.1, 1, 4]), shape)
    box = (centre - radius, centre + radius) if seed % 2 else (-2.0, 2.0)
    subject = Subject(path, boxes={"x": box}, options=["--effort", effort])
    result = compare(subject, precision, tmp_path, 40)
    assert not result.problems, "\n".join(result.problems.values())
    assert result.tensors


def test_differences_cancel(tmp_path):
    """relu(x w + 8) - x w is 8 where no element of x w + 8 is negative, also where x w is computed twice."""
    network = Network(numpy.random.default_rng(0), (1, 64))
    weights = network.weights(64, 4, scale=0.2)
    product = network.add("MatMul", ["x", weights], (1, 4))
    again = network.add("Gemm", ["x", weights], (1, 4))
    moved = network.add("Add", [product, network.constant(numpy.full(4, 8))], (1, 4))
    output = network.add("Sub", [network.add("Relu", [moved], (1, 4)), again], (1, 4))
    network.save(tmp_path / "m.onnx", output)
    bound = read_ranges(tmp_path / "m.onnx", "--input", "x=-1:1")["tensors"][output]
    assert 7.999 < bound["lo"] <= 8 <= bound["hi"] < 8.001


@pytest.mark.parametrize("gate", ["Sigmoid", "HardSigmoid", "Clip"])
def test_functions_of_several_ops_are_relaxed(gate, tmp_path):
    """z f(z) - z / 2 is between 0 and |z| / 2 for z = x w, or little more; as a product it would have either sign."""
    network = Network(numpy.random.default_rng(0), (1, 64))
    weights = network.weights(64, 4, scale=0.2)
    z = network.add("MatMul", ["x", weights], (1, 4))
    again = network.add("Gemm", ["x", weights], (1, 4))
    limits = [network.constant(numpy.array(end)) for end in (0, 1)] if gate == "Clip" else []
    moved = network.add("Add", [z, network.constant(numpy.array(0.5))], (1, 4)) if gate == "Clip" else z
    product = network.add("Mul", [z, network.add(gate, [moved, *limits], (1, 4))], (1, 4))
    half = network.add("Mul", [again, network.constant(numpy.array(0.5))], (1, 4))
    output = network.add("Sub", [product, half], (1, 4))
    network.save(tmp_path / "m.onnx", output)
    tensors = read_ranges(tmp_path / "m.onnx", "--input", "x=-1:1")["tensors"]
    bound, most = tensors[output], tensors[half]["hi"]
    assert bound["lo"] <= 0 and 0.8 * most < bound["hi"] < 1.05 * most
    assert bound["lo"] > -0.2 * most


@pytest.mark.parametrize("stride, dilation, extra, groups", [(1, 1, 0, 1), (2, 1, 1, 1), (3, 1, 0, 2), (3, 2, 2, 1)])
@pytest.mark.parametrize("by_element", [False, True])
def test_transposed_convolutions_are_linear(stride, dilation, extra, groups, by_element, tmp_path):
    """Two products one behind the other have the bounds of the one matrix that they are, at each phase of a
    stride."""
    random = numpy.random.default_rng(stride)
    network = Network(random, (1, 4, 6))
    first, second = random.normal(0, 1, (6, 4, 3)), random.normal(0, 1, (6, 4 // groups, 3))
    x = network.add("Conv", ["x", network.constant(first)], (1, 6, 6), pads=[1, 1])
    out = 5 * stride + extra + 2 * dilation
    x = network.add("ConvTranspose", [x, network.constant(second)], (1, 4, out), strides=[stride], pads=[1, 0],
                    dilations=[dilation], output_padding=[extra], group=groups)
    network.save(tmp_path / "m.onnx", x)
    shape = (1, 4, 6)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    columns = [session.run(None, {"x": row.reshape(shape)})[0].ravel() for row in numpy.eye(24, dtype=numpy.float32)]
    radius = random.uniform(0, 1, shape) if by_element else numpy.ones(shape)
    numpy.savez(tmp_path / "box.npz", lo=-radius, hi=radius)
    box = f"@{tmp_path / 'box.npz'}" if by_element else "-1:1"
    matrix = numpy.array(columns, numpy.float64).T
    largest = (abs(matrix) @ radius.ravel()).max()
    bound = read_ranges(tmp_path / "m.onnx", "--input", f"x={box}", "--input", "x~0,0.05")["tensors"][x]
    assert largest * (1 - 1e-6) <= bound["hi"] <= largest * (1 + 1e-4)
    assert largest * (1 - 1e-6) <= -bound["lo"] <= largest * (1 + 1e-4)


def test_rows_of_a_table(tmp_path):
    """Each row of the table sums to 1, the hull of its columns does not."""
    random = numpy.random.default_rng(0)
    table = random.uniform(-4, 4, (50, 256))
    table += (1 - table.sum(1, keepdims=True)) / 256
    network = Network(random, (3,))
    network.input = helper.make_tensor_value_info("x", TensorProto.INT64, (3,))
    rows = network.add("Gather", [network.constant(table), "x"], (3, 256))
    output = network.add("MatMul", [rows, network.constant(numpy.ones((256, 2)))], (3, 2))
    network.save(tmp_path / "m.onnx", output)
    bound = read_ranges(tmp_path / "m.onnx", "--input", "x=0:49")["tensors"][output]
    assert 0.9 < bound["lo"] <= 1 <= bound["hi"] < 1.1


@pytest.mark.parametrize("kind, share", [("Softmax", 0.5), ("LayerNormalization", 0.25),
                                         ("GroupNormalization", 0.25), ("Div", 0.5), ("Max", 1)])
def test_what_rows_share_cancels(kind, share, tmp_path):
    """The elements of a product of the result depend on one operand: through intervals, their
    radii would add up (to 1.4 to 3.2 times the largest of the result)."""
    width = 32
    random = numpy.random.default_rng(1)
    network = Network(random, (1, width), opset=23)
    turn = numpy.linalg.qr(random.normal(0, 1, (width, width)))[0]
    x = network.add("MatMul", ["x", network.constant(turn)], (1, width))
    shape = (1, width)
    if kind == "Softmax":
        y = network.add(kind, [x], shape)
    elif kind == "LayerNormalization":
        y = network.add(kind, [x, network.constant(numpy.ones(width))], shape)
    elif kind == "GroupNormalization":
        inner = network.add("Reshape", [x, network.integers(1, 4, 8)], (1, 4, 8))
        inner = network.add(kind, [inner, network.constant(numpy.ones(4)),
                                   network.constant(numpy.zeros(4))], (1, 4, 8), num_groups=2)
        y = network.add("Reshape", [inner, network.integers(*shape)], shape)
    else:
        other = network.add("MatMul", [x, network.constant(turn)], shape)
        if kind == "Div":
            other = network.add("Add", [other, network.constant(8)], shape)
        y = network.add(kind, [x, other], shape)
    centre = random.normal(0, 1, shape)
    network.save(tmp_path / "m.onnx", y)
    [middle] = ReferenceEvaluator(str(tmp_path / "m.onnx")).run(None, {"x": numpy.float32(centre)})
    y = network.add("Sub", [y, network.constant(middle)], shape)
    output = network.add("MatMul", [y, network.constant(turn.T)], shape)
    network.save(tmp_path / "m.onnx", output)
    numpy.savez(tmp_path / "box.npz", lo=centre - 0.02, hi=centre + 0.02)
    tensors = read_ranges(tmp_path / "m.onnx", "--input", f"x=@{tmp_path / 'box.npz'}")["tensors"]
    radii = [max(abs(tensors[name]["lo"]), abs(tensors[name]["hi"])) for name in (y, output)]
    assert radii[1] <= share * radii[0]


@pytest.mark.parametrize("kind", ["Unsqueeze", "Transpose"])
def test_elements_of_an_open_axis_are_many(kind, tmp_path):
    """x_i - x_j is not 0 where i and j run along one axis of open size."""
    random = numpy.random.default_rng(4)
    shape = ("n", 4) if kind == "Unsqueeze" else ("n", "n", 4)
    network = Network(random, (3,) * (len(shape) - 1) + (4,))
    network.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    own = network.shapes["x"]
    x = network.add("MatMul", ["x", network.constant(numpy.eye(4))], own)
    if kind == "Unsqueeze":
        other = network.add(kind, [x, network.integers(1)], (3, 1, 4))
    else:
        other = network.add(kind, [x], own, perm=[1, 0, 2])
    output = network.add("Sub", [x, other], (None, None, 4))
    network.save(tmp_path / "m.onnx", output)
    bound = read_ranges(tmp_path / "m.onnx", "--input", "x=-1:1", "--input", "x~0,0.1")["tensors"][output]
    assert bound["lo"] <= -2 and 2 <= bound["hi"]


PROGRAM = """
func.func @main(%i: tensor<3xi64>) -> tensor<3x4xf32> {{
  %t = mp.constant dense<{table}> : tensor<5x128xf32>
  %w = mp.constant dense<{weights}> : tensor<4x128xf32>
  %x = mp.embedding %t, %i : (tensor<5x128xf32>, tensor<3xi64>) -> tensor<3x128xf32>
  %y = mp.linear %x, %w : (tensor<3x128xf32>, tensor<4x128xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}}
"""


def test_forms_of_programs(tmp_path):
    """Ops that only programs have: each row of the table sums to 1, the hull of its columns does not."""
    random = numpy.random.default_rng(0)
    table, weights = random.uniform(-4, 4, (5, 128)), numpy.ones((4, 128))
    table += (1 - table.sum(1, keepdims=True)) / 128
    path = tmp_path / "m.mlir"
    path.write_text(PROGRAM.format(table=table.tolist(), weights=weights.tolist()))
    bound = list(read_ranges(path, "--input", "arg0=0:4")["tensors"].values())[-1]
    assert 0.9 < bound["lo"] <= 1 <= bound["hi"] < 1.1


def test_boxes_of_elements(tmp_path):
    """A box that says something of single pixels is followed by pixel, however few they are."""
    random = numpy.random.default_rng(3)
    network = Network(random, (1, 3, 8, 8))
    x, width = "x", 3
    centre, radius = random.uniform(0, 1, (1, 3, 8, 8)), 0.004
    values, errors = centre, numpy.full_like(centre, radius)
    for _ in range(2):
        weights = random.normal(0, 0.2, (8, width, 1, 1))
        x = network.add("Conv", [x, network.constant(weights)], (1, 8, 8, 8))
        values = numpy.einsum("oi,nihw->nohw", weights[..., 0, 0], values)
        errors = numpy.einsum("oi,nihw->nohw", abs(weights[..., 0, 0]), errors)
        width = 8
    network.save(tmp_path / "m.onnx", x)
    numpy.savez(tmp_path / "box.npz", lo=centre - radius, hi=centre + radius)
    bound = read_ranges(tmp_path / "m.onnx", "--input", f"x=@{tmp_path / 'box.npz'}")["tensors"][x]
    assert (values - errors).min() - 1e-4 <= bound["lo"] and bound["hi"] <= (values + errors).max() + 1e-4
