"""The sound bounds of outputs' errors against runs of ONNX Runtime with every rounding put in.

Random networks of two dozen kinds of ops, of which every tensor is an output, run on
inputs in their bounds and at their ends. No error may pass its bound, and most tensors
must have one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from rounded_model import rounded
from tool import run_mpopt

ROUNDS, DRAWS = 24, 12
UNARY = ["Relu", "Sigmoid", "Tanh", "Erf", "Neg", "Abs", "Sin", "Softplus", "HardSwish", "HardSigmoid", "Elu", "Selu",
         "Gelu", "Mish", "Softsign", "Atan", "LeakyRelu", "Identity", "Cos"]
# Of positive numbers.
POSITIVE = ["Sqrt", "Reciprocal", "Log"]


class Network:
    """A random graph of matrices [4, 16], and of images on its way."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], []
        low = float(self.random.choice([0.0, -1.0, -4.0]))
        self.bounds = (low, low + float(self.random.choice([1.0, 4.0])))
        self.values = ["x"]

    def weight(self, values, dtype=np.float32) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def normal(self, *shape, std=0.25) -> str:
        return self.weight(self.random.normal(0, std, shape))

    def add(self, kind: str, *inputs: str, **attributes) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def pick(self) -> str:
        """Some value, mostly a late one."""
        return self.values[-1 - min(int(self.random.exponential(1.5)), len(self.values) - 1)]

    def image(self, x: str) -> str:
        x = self.add("Reshape", x, self.weight([1, 4, 4, 4], np.int64))
        kind = self.random.integers(6)
        if kind == 0:
            return self.add("Conv", x, self.normal(4, 4, 3, 3), self.normal(4), pads=[1] * 4)
        if kind == 1:
            return self.add("ConvTranspose", x, self.normal(4, 4, 3, 3), self.normal(4), pads=[1] * 4)
        if kind == 2:
            return self.add("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4)
        if kind == 3:
            return self.add("AveragePool", x, kernel_shape=[3, 3], pads=[1] * 4,
                            count_include_pad=int(self.random.integers(2)))
        if kind == 4:
            return self.add("Conv", x, self.normal(4, 1, 3, 3), pads=[1] * 4, group=4)
        statistics = [self.normal(4), self.weight(self.random.uniform(0.3, 2, 4))]
        return self.add("BatchNormalization", x, self.weight(self.random.uniform(0.5, 1.5, 4)), self.normal(4),
                        *statistics)

    def step(self) -> None:
        x, kind = self.pick(), self.random.integers(20)
        if kind < 4:
            y = self.add(str(self.random.choice(UNARY)), x)
        elif kind == 4:
            y = self.add(str(self.random.choice(["Add", "Sub", "Mul", "Max", "Min"])), x, self.pick())
        elif kind == 5:
            y = self.add("MatMul", x, self.normal(16, 16))
        elif kind == 6:
            y = self.add("Gemm", x, self.normal(16, 16), self.normal(16), transB=1, alpha=0.5, beta=2.0)
        elif kind == 7:
            scores = self.add("MatMul", x, self.add("Transpose", self.pick(), perm=[1, 0]))
            y = self.add("MatMul", self.add("Softmax", scores, axis=1), self.pick())
        elif kind < 10:
            y = self.add("Reshape", self.image(x), self.weight([4, 16], np.int64))
        elif kind == 10:
            positive = self.add("Add", self.add("Abs", x), self.weight(self.random.uniform(0.2, 2)))
            y = self.add(str(self.random.choice(POSITIVE)), positive)
        elif kind == 11:
            positive = self.add("Add", self.add("Sigmoid", self.pick()), self.weight(self.random.uniform(0.1, 1)))
            y = self.add("Div", x, positive)
        elif kind == 12:
            y = self.add(str(self.random.choice(["Softmax", "LogSoftmax"])), x, axis=int(self.random.integers(2)))
        elif kind == 13:
            y = self.add("Clip", x, self.weight(-0.7), self.weight(self.random.uniform(0, 2)))
        elif kind == 14:
            mean = self.add(str(self.random.choice(["ReduceMean", "ReduceMax", "ReduceMin"])), x, axes=[1], keepdims=1)
            y = self.add("Sub", x, mean)
        elif kind == 15:
            y = self.add("Where", self.weight(self.random.integers(0, 2, (4, 16)), bool), x, self.pick())
        elif kind == 16:
            both = self.add("Concat", x, self.pick(), axis=1)
            y = self.add("Slice", both, self.weight([5], np.int64), self.weight([21], np.int64),
                         self.weight([1], np.int64))
        elif kind == 17:
            y = self.add("Pow", x, self.weight(2.0))
        elif kind == 18:
            y = self.add("PRelu", x, self.normal(16))
        else:
            y = self.add("Mul", self.add("Exp", self.add("Clip", x, self.weight(-3.0), self.weight(3.0))),
                         self.weight(self.random.choice([0.1, 1e-4])))
        self.values.append(y)

    def model(self) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 16])
        outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in self.nodes]
        graph = helper.make_graph(self.nodes, "g", [x], outputs, self.weights)
        # Gelu and Mish came late, reductions with axes as attributes left early.
        sets = [helper.make_opsetid("", 17)]
        for node in self.nodes:
            if node.op_type in ("Gelu", "Mish"):
                return helper.make_model(self.modern(graph), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        return helper.make_model(graph, opset_imports=sets, ir_version=8)

    def modern(self, graph: onnx.GraphProto) -> onnx.GraphProto:
        """Axes of reductions as inputs."""
        for node in graph.node:
            if node.op_type.startswith("Reduce"):
                [axes] = [a for a in node.attribute if a.name == "axes"]
                name = f"axes_{node.output[0]}"
                graph.initializer.append(numpy_helper.from_array(np.asarray(axes.ints, np.int64), name))
                node.input.append(name)
                node.attribute.remove(axes)
        return graph


def draws(network: Network):
    """Samples of all sizes, and of the ends of the bounds."""
    low, high = network.bounds
    for index in range(DRAWS):
        if index % 3 == 0:
            yield network.random.choice([low, high], (4, 16)).astype(np.float32)
        elif index % 3 == 1:
            yield network.random.uniform(low, high, (4, 16)).astype(np.float32)
        else:
            centre = network.random.uniform(low, high)
            yield np.clip(centre * network.random.uniform(1 - 1e-3, 1 + 1e-3, (4, 16)), low, high).astype(np.float32)


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def read_effects(file: Path, network: Network) -> dict[str, dict]:
    low, high = network.bounds
    result = run_mpopt("--check", file, "--precision", "fp16", "--input", f"x={low}:{high}",
                       "--input", f"x~{(low + high) / 2},{(high - low) / 4}", "--format", "json")
    assert result.returncode in (0, 1), result.stderr
    return {effect["output"]: effect for effect in json.loads(result.stdout)["effects"]}


def test_no_error_passes_its_bound(tmp_path: Path):
    bounded = relative = tensors = 0
    shares: list[float] = []
    for seed in range(ROUNDS):
        network = Network(seed)
        for _ in range(10):
            network.step()
        model, file = network.model(), tmp_path / "model.onnx"
        onnx.save(model, file)
        effects = read_effects(file, network)
        exact, stored = session(model), session(rounded(model))
        names = [node.output[0] for node in network.nodes]
        largest = dict.fromkeys(names, 0.0)
        for x in draws(network):
            for name, y, z in zip(names, exact.run(names, {"x": x}), stored.run(names, {"x": x})):
                effect, error = effects[name], float(np.abs(z.astype(np.float64) - y).max())
                kind = next(node.op_type for node in network.nodes if node.output[0] == name)
                about = f"seed {seed}: {name} ({kind}) is off by {error}, bounds {effect}"
                largest[name] = max(largest[name], error)
                if effect["absolute_bound"] is not None:
                    assert error <= effect["absolute_bound"], about
                if effect["bound"] is not None:
                    assert error <= effect["bound"] * np.abs(y).max(), about
        tensors += len(names)
        bounded += sum(effects[name]["absolute_bound"] is not None for name in names)
        relative += sum(effects[name]["bound"] is not None for name in names)
        shares += [largest[name] / effects[name]["absolute_bound"] for name in names
                   if effects[name]["absolute_bound"] and largest[name]]
    assert bounded > 0.7 * tensors, (bounded, tensors)
    assert relative > 0.1 * tensors, (relative, tensors)
    # Bounds of single ops are near what is seen; those of ten in a row are not.
    assert np.median(shares) > 0.02, np.median(shares)


def test_a_classifier_is_proved(tmp_path: Path):
    """Scores of a small network on inputs in [0, 1]: some probability is a tenth or more."""
    network = Network(1)
    network.bounds = (0.0, 1.0)
    x = network.add("Relu", network.add("Gemm", "x", network.normal(16, 16), network.normal(16)))
    network.add("Softmax", network.add("Gemm", x, network.normal(16, 10), network.normal(10)), axis=1)
    file = tmp_path / "model.onnx"
    onnx.save(network.model(), file)
    effect = read_effects(file, network)[network.nodes[-1].output[0]]
    assert effect["expected_error"] < effect["bound"] < 0.2, effect
    # With the inputs a hundred times larger nothing is known.
    network.bounds = (-100.0, 100.0)
    effect = read_effects(file, network)[network.nodes[-1].output[0]]
    assert effect["bound"] is None, effect


@pytest.mark.parametrize("kind", ["Floor", "Round", "Sign"])
def test_a_jump_has_no_bound(kind: str, tmp_path: Path):
    network = Network(2)
    network.add(kind, network.add("Mul", "x", network.weight(0.3)))
    file = tmp_path / "model.onnx"
    onnx.save(network.model(), file)
    assert read_effects(file, network)[network.nodes[-1].output[0]]["absolute_bound"] is None
