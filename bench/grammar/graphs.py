"""Productions in ONNX: ops that exporters do not write, or spell differently. Each maps a value to the next."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import onnx
from draws import Draw, Input
from network_truth import session
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


class Graph:
    """A graph in the making; `shape` is that of the value that the last production gave."""

    def __init__(self, d: Draw, opset: int) -> None:
        self.draw, self.opset, self.nodes, self.constants = d, opset, [], []
        self.inputs: dict[str, Input] = {}
        self.shape: tuple[int, ...] = ()

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes) -> str | list[str]:
        names = [f"{kind.lower()}_{len(self.nodes)}{'' if i == 0 else f'_{i}'}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values, dtype=numpy.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values, dtype), name))
        return name

    def reduce(self, kind: str, x: str, *axes: int, keep: int = 1) -> str:
        if self.opset < 18 and kind != "ReduceSum":
            return self.op(kind, x, axes=axes, keepdims=keep)
        return self.op(kind, x, self.constant(axes, numpy.int64), keepdims=keep)

    def matrix(self, *shape: int, fan: int | None = None) -> str:
        return self.constant(self.draw.weight(shape[::-1], fan or shape[0]).T if len(shape) == 2 else
                             self.draw.weight(shape, fan or 1))

    def project(self, x: str, a: int, b: int) -> str:
        return self.op("Add", self.op("MatMul", x, self.matrix(a, b)), self.constant(self.draw.biases(b)))

    def model(self, outputs: list[str]) -> onnx.ModelProto:
        kinds = {name: TensorProto.INT64 if value.integer else FLOAT for name, value in self.inputs.items()}
        inputs = [helper.make_tensor_value_info(name, kinds[name], value.shape) for name, value in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "grammar", inputs, [], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        for found in session(model, outputs).get_outputs():
            model.graph.output.append(helper.make_tensor_value_info(found.name, FLOAT, found.shape))
        return model

    def values(self, name: str) -> numpy.ndarray:
        """A value on eight samples: what statistics are of."""
        run = session(self.model([name]), [name])
        return numpy.concatenate([run.run(None, {key: value.sample(self.draw.rng) for key, value in self.inputs.items()})[0]
                                  for _ in range(8)])


def unary(g: Graph, x: str) -> str:
    kind = g.draw.pick(["Relu", "Elu", "Selu", "Celu", "HardSwish", "Softplus", "Softsign", "Tanh", "PRelu", "Clip", "Shrink",
                        "ThresholdedRelu", "Exp", "LogSoftmax"] + ["Mish"] * (g.opset >= 18) + ["Gelu"] * 2 * (g.opset >= 20))
    if kind == "PRelu":
        return g.op(kind, x, g.constant(0.25))
    if kind == "Clip":
        return g.op(kind, x, g.constant(0), g.constant(6))
    return g.op("Exp", g.op("Neg", g.op("Softplus", x))) if kind == "Exp" else g.op(kind, x)


def power(g: Graph, x: str) -> str:
    d = g.draw
    positive = g.op("Add", g.op(d.pick(("Abs", "Softplus", "Relu")), x), g.constant(d.epsilon()))
    return d.pick((lambda: g.op("Pow", positive, g.constant(d.pick((0.5, 0.3, 2.0, -0.5)))), lambda: g.op("Log", positive),
                   lambda: g.op("Mul", x, g.op("Reciprocal", g.op("Sqrt", positive)))))()


def norm(g: Graph, x: str) -> str:
    d, rank = g.draw, len(g.shape)
    c, axis, eps = g.shape[1 if rank == 4 else -1], 1 if rank == 4 else -1, d.epsilon()
    side = (c, 1, 1) if rank == 4 else (c,)
    scale, bias = (d.scales(c), d.biases(c))
    choices = [lambda: g.op("LpNormalization", x, axis=axis, p=d.pick((1, 2))),
               lambda: g.op("Div", x, g.op("Add", g.reduce("ReduceL2", x, axis), g.constant(eps))),
               lambda: g.op("Div", x, g.op("Sqrt", g.op(
                   "Add", g.reduce("ReduceMean", g.op("Mul", x, x), axis), g.constant(eps)))),
               lambda: g.op("Sub", x, g.reduce("ReduceLogSumExp", x, axis)),
               lambda: g.op("Div", x, g.op("Max", g.reduce("ReduceMax", g.op("Abs", x), axis), g.constant(eps)))]
    if rank == 4:
        choices += [lambda: batch_norm(g, x, scale, bias, eps), lambda: g.op("LRN", x, size=3, alpha=1e-3), lambda: g.op(
            "InstanceNormalization", x, g.constant(scale), g.constant(bias), epsilon=max(eps, 1e-8)),
            lambda: g.op("MeanVarianceNormalization", x, axes=(2, 3))]
        if g.opset >= 21:
            choices.append(lambda: g.op("GroupNormalization", x, g.constant(scale), g.constant(bias), num_groups=2,
                                        epsilon=eps))
    else:
        choices += [lambda: g.op("LayerNormalization", x, g.constant(scale), g.constant(bias), epsilon=eps)] * 3
    y = d.pick(choices)()
    return g.op("Mul", y, g.constant(scale.reshape(side))) if d.chance(0.3) else y


def batch_norm(g: Graph, x: str, scale: numpy.ndarray, bias: numpy.ndarray, eps: float) -> str:
    values = g.values(x)
    statistics = values.mean((0, 2, 3)), values.var((0, 2, 3))
    return g.op("BatchNormalization", x, *map(g.constant, (scale, bias, *statistics)), epsilon=eps)


def perceptron(g: Graph, x: str) -> str:
    c = g.shape[-1]
    wide = c * g.draw.pick((1, 2, 4))
    y = g.project(x, c, wide)
    if g.draw.chance(0.4):
        return g.project(g.op("Mul", y, g.op("Sigmoid", g.project(x, c, wide))), wide, c)
    return g.project(unary(g, y), wide, c)


def attention(g: Graph, x: str) -> str:
    d, (_, t, c) = g.draw, g.shape
    q, k, v = (g.project(x, c, c) for _ in range(3))
    score = g.op("Einsum", q, k, equation="bik,bjk->bij")
    if d.chance(0.7):
        score = g.op("Mul", score, g.constant(c**-0.5))
    if d.chance(0.4):
        keep = g.constant(numpy.tril(numpy.ones((t, t))), bool)
        score = g.op("Where", keep, score, g.constant(d.pick((-numpy.inf, -1e4, -1e9, -65504.0))))
    weigh = d.pick(("Softmax", "Softmax", "exp", "relu"))
    if weigh == "Softmax":
        score = g.op("Softmax", score, axis=-1)
    else:
        e = g.op("Exp", g.op("Sub", score, g.reduce("ReduceMax", score, -1))) if weigh == "exp" else g.op("Relu", score)
        score = g.op("Div", e, g.op("Add", g.reduce("ReduceSum", e, -1), g.constant(d.epsilon())))
    return g.project(g.op("MatMul", score, v), c, c)


def recurrence(g: Graph, x: str) -> str:
    c, (kind, gates) = g.shape[-1], g.draw.pick((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    turned = g.op("Transpose", x, perm=(1, 0, 2))
    y = g.op(kind, turned, g.matrix(1, gates * c, c, fan=c), g.matrix(1, gates * c, c, fan=c), hidden_size=c)
    return g.op("Transpose", g.op("Squeeze", y, g.constant([1], numpy.int64)), perm=(1, 0, 2))


def sums(g: Graph, x: str) -> str:
    """Cumulative sums, and means over what came before."""
    y = g.op("CumSum", x, g.constant(1, numpy.int64), exclusive=g.draw.pick((0, 1)), reverse=g.draw.pick((0, 1)))
    return y if g.draw.chance(0.5) else g.op("Mul", y, g.constant(1 / numpy.arange(1, g.shape[1] + 1)[:, None]))


def spectrum(g: Graph, x: str) -> str:
    """Power over positions by DFT, spread over all of them again."""
    t, flat = g.shape[1], g.op("Unsqueeze", x, g.constant([3], numpy.int64))
    y = g.op("DFT", flat, "", g.constant(1, numpy.int64)) if g.opset >= 20 else g.op("DFT", flat, axis=1)
    square = g.reduce("ReduceSumSquare", y, -1, keep=0)
    scaled = square if g.draw.chance(0.3) else g.op("Mul", square, g.constant(1 / t))
    return g.op("Log", g.op("Add", scaled, g.constant(g.draw.epsilon()))) if g.draw.chance(0.5) else scaled


def gate(g: Graph, x: str) -> str:
    """The larger half of channels, by TopK, or a squeeze of positions."""
    c = g.shape[-1]
    if g.draw.chance(0.5):
        values = g.op("TopK", x, g.constant([c // 2], numpy.int64), outputs=2, axis=-1)[0]
        least = g.reduce("ReduceMin", values, -1)
        return g.op("Where", g.op("GreaterOrEqual", x, least), x, g.constant(0))
    return g.op("Mul", x, g.op("Sigmoid", g.project(g.reduce("ReduceMean", x, 1), c, c)))


def convolve(g: Graph, x: str) -> str:
    d, c = g.draw, g.shape[1]
    groups = d.pick((1, 1, c, 2))
    weight = g.matrix(c, c // groups, 3, 3, fan=9 * c // groups)
    y = g.op("Conv", x, weight, g.constant(d.biases(c)), group=groups, pads=(1, 1, 1, 1))
    return unary(g, y) if d.chance(0.5) else y


def window(g: Graph, x: str) -> str:
    """Pools of the same size, or down and up again."""
    d, c = g.draw, g.shape[1]
    if d.chance(0.5):
        return g.op(*d.pick((("MaxPool", x), ("AveragePool", x), ("LpPool", x))), kernel_shape=(3, 3), pads=(1, 1, 1, 1))
    low = g.op("Conv", x, g.matrix(2 * c, c, 2, 2, fan=4 * c), strides=(2, 2))
    if d.chance(0.5):
        return g.op("ConvTranspose", low, g.matrix(2 * c, c, 2, 2, fan=2 * c), strides=(2, 2))
    wide = g.op("Resize", low, "", g.constant((1, 1, 2, 2)), mode=d.pick(("nearest", "linear")))
    return g.op("Conv", wide, g.matrix(c, 2 * c, 1, 1, fan=2 * c))


def residual(g: Graph, x: str) -> str:
    inner = g.draw.pick(FILTERS if len(g.shape) == 4 else MIXERS)
    y = inner(g, norm(g, x) if g.draw.chance(0.6) else x)
    return g.op("Add", x, y if g.draw.chance(0.7) else g.op("Mul", y, g.constant(g.draw.between(0.05, 2))))


MIXERS: list[Callable] = [perceptron, perceptron, attention, attention, recurrence, sums, gate]
FILTERS: list[Callable] = [convolve, convolve, convolve, window]
PRODUCTIONS = {3: [norm, norm, unary, power, spectrum, *MIXERS, *[residual] * 6],
               4: [norm, norm, unary, power, *FILTERS, *[residual] * 5]}


def stem(g: Graph) -> str:
    d = g.draw
    spread = d.pick((1.0, 1.0, 0.05, 10.0, 200.0))
    mean = d.pick((0.0, 0.0, spread, 8 * spread))
    if d.chance(0.4):
        c, n = d.pick((8, 16, 32)), d.pick((8, 16))
        g.inputs["x"], g.shape = d.normal((1, 3, n, n), mean, spread), (1, c, n, n)
        return g.op("Conv", "x", g.matrix(c, 3, 3, 3, fan=27), g.constant(d.biases(c)), pads=(1, 1, 1, 1))
    c, t = d.pick((16, 32, 64, 128)), d.pick((8, 16, 48))
    g.shape = (1, t, c)
    if d.chance(0.3):
        g.inputs["ids"] = Input((1, t), 0, 99, integer=True)
        return g.op("Gather", g.matrix(100, c, fan=1), "ids")
    g.inputs["x"] = d.normal((1, t, 20), mean, spread)
    return g.project("x", 20, c)


def head(g: Graph, x: str) -> list[str]:
    d = g.draw
    if len(g.shape) == 4:
        x = g.op("Flatten", g.op(d.pick(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")), x))
    elif d.chance(0.6):
        x = g.reduce(d.pick(("ReduceMean", "ReduceMax", "ReduceSum", "ReduceLogSumExp")), x, 1, keep=0)
    c = g.shape[1 if len(g.shape) == 4 else -1]
    last = d.pick(("plain", "Softmax", "LogSoftmax", "Sigmoid", "Exp", "energy", "distance", "two"))
    y = g.project(x, c, 24)
    if last == "energy":
        return [g.reduce("ReduceSum", g.op("Mul", y, y), -1)]
    if last == "distance":
        return [g.reduce("ReduceSumSquare", g.op("Sub", y, g.constant(d.rng.standard_normal(24))), -1)]
    if last == "two":
        return [g.op("Softmax", y, axis=-1), g.op("Exp", g.project(x, c, 4))]
    return [y if last == "plain" else g.op(last, y)]


def build(d: Draw) -> tuple[onnx.ModelProto, list[Input], list[str]]:
    """A model, its inputs and the productions that it is made of."""
    g = Graph(d, d.pick((17, 18, 20, 21)))
    x, names = stem(g), ["stem"]
    for _ in range(d.whole(2, 28)):
        production = d.pick(PRODUCTIONS[len(g.shape)])
        x = production(g, x)
        names.append(production.__name__)
    model = g.model(head(g, x))
    return model, list(g.inputs.values()), [*names, "head"]
