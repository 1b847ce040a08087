"""Graphs that are large in one way each, for what may grow faster than they do.

Each function builds a model of about `count` of the thing that it is about.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, helper

WIDTH = 16
FLOAT = TensorProto.FLOAT


def value(name: str, shape: list[int], dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def tensor(name: str, shape: list[int], seed: int) -> TensorProto:
    """Different values for different seeds, so that nothing can be shared."""
    size = 1
    for dim in shape:
        size *= dim
    data = struct.pack(f"<{size}f", *((seed * 31 + i) % 1009 / 1009 for i in range(size)))
    return helper.make_tensor(name, FLOAT, shape, data, raw=True)


def save(path: Path, nodes: list, inputs: list, outputs: list, initializers: list = ()) -> None:
    graph = helper.make_graph(nodes, path.stem, inputs, outputs, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def initializers(count: int, path: Path) -> None:
    """Small parameters, each with a user of its own."""
    nodes, parameters, x = [], [], "x"
    for index in range(count):
        parameters.append(tensor(f"layers.{index}.scale", [WIDTH], index))
        nodes.append(helper.make_node("Mul", [x, f"layers.{index}.scale"], [f"y{index}"]))
        x = f"y{index}"
    save(path, nodes, [value("x", [4, WIDTH])], [value(x, [4, WIDTH])], parameters)


def constants(count: int, path: Path) -> None:
    """Constant nodes, as exporters write numbers."""
    nodes, x = [], "x"
    for index in range(count // 2):
        nodes.append(helper.make_node("Constant", [], [f"c{index}"], value=tensor("", [], index)))
        nodes.append(helper.make_node("Add", [x, f"c{index}"], [f"y{index}"], name=f"/add.{index}"))
        x = f"y{index}"
    save(path, nodes, [value("x", [4, WIDTH])], [value(x, [4, WIDTH])])


def fan_out(count: int, path: Path) -> None:
    """Two values that everything reads, and a residual stream of all of them."""
    nodes = [helper.make_node("Relu", ["x"], ["shared"])]
    x = "shared"
    for index in range(count // 3):
        nodes += [helper.make_node("Mul", ["shared", "eps"], [f"a{index}"], name=f"/{index}/mul"),
                  helper.make_node("Sqrt", [f"a{index}"], [f"b{index}"], name=f"/{index}/sqrt"),
                  helper.make_node("Add", [x, f"b{index}"], [f"y{index}"], name=f"/{index}/add")]
        x = f"y{index}"
    eps = helper.make_tensor("eps", FLOAT, [], [1e-12])
    save(path, nodes, [value("x", [4, WIDTH])], [value(x, [4, WIDTH])], [eps])


def branches(count: int, path: Path) -> None:
    """If nodes one after another, each with two bodies that read outer values."""
    nodes, x = [], "x"
    for index in range(count):
        def body(op: str) -> onnx.GraphProto:
            node = helper.make_node(op, [x, "w"], [f"{op}{index}"])
            return helper.make_graph([node], op, [], [value(f"{op}{index}", [4, WIDTH])])
        nodes.append(helper.make_node("If", ["flag"], [f"y{index}"], name=f"/if.{index}",
                                      then_branch=body("Add"), else_branch=body("Mul")))
        x = f"y{index}"
    save(path, nodes, [value("x", [4, WIDTH]), value("flag", [], TensorProto.BOOL)],
         [value(x, [4, WIDTH])], [tensor("w", [WIDTH], 1)])


def findings(count: int, path: Path) -> None:
    """Epsilons that FP16 flushes, in front of as many divisions."""
    nodes, parameters, x = [], [], "x"
    for index in range(count):
        parameters.append(helper.make_tensor(f"norms.{index}.eps", FLOAT, [], [1e-12]))
        nodes += [helper.make_node("Add", [x, f"norms.{index}.eps"], [f"s{index}"],
                                   name=f"/norms.{index}/Add"),
                  helper.make_node("Div", [x, f"s{index}"], [f"y{index}"],
                                   name=f"/norms.{index}/Div")]
        x = f"y{index}"
    save(path, nodes, [value("x", [4, WIDTH])], [value(x, [4, WIDTH])], parameters)


def inputs(count: int, path: Path) -> None:
    """Inputs and outputs, as a decoder's caches are."""
    names = [f"past.{index}.key" for index in range(count)]
    nodes = [helper.make_node("Tanh", [name], [f"present.{name}"]) for name in names]
    save(path, nodes, [value(name, [4, WIDTH]) for name in names],
         [value(f"present.{name}", [4, WIDTH]) for name in names])


def stale(count: int, path: Path) -> None:
    """Values that the file declares with another shape than they have."""
    nodes, declared, x = [], [], "x"
    for index in range(count):
        nodes.append(helper.make_node("Relu", [x], [f"y{index}"]))
        declared.append(value(f"y{index}", [WIDTH, WIDTH]))
        x = f"y{index}"
    graph = helper.make_graph(nodes, "stale", [value("x", [4, WIDTH])], [value(x, [4, WIDTH])],
                              value_info=declared[:-1])
    path.write_bytes(helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())


def unary(count: int, path: Path) -> None:
    """Ops of one operand in a row whose every value a matrix product reads."""
    nodes, x, total = [], "x", "x"
    for index in range(count // 4):
        nodes += [helper.make_node("Tanh", [x], [f"u{index}"]),
                  helper.make_node("MatMul", ["x", f"u{index}"], [f"m{index}"]),
                  helper.make_node("Add", [f"m{index}", f"u{index}"], [f"s{index}"]),
                  helper.make_node("Add", [total, f"s{index}"], [f"t{index}"])]
        x, total = f"u{index}", f"t{index}"
    save(path, nodes, [value("x", [WIDTH, WIDTH])], [value(total, [WIDTH, WIDTH])])


def infinities(count: int, path: Path) -> None:
    """A mask of -Inf, and products behind it that may all be 0 * Inf."""
    nodes, x = [helper.make_node("Add", ["x", "mask"], ["masked"])], "masked"
    for index in range(count):
        nodes.append(helper.make_node("Mul", [x, "x"], [f"y{index}"], name=f"/mul.{index}"))
        x = f"y{index}"
    mask = helper.make_tensor("mask", FLOAT, [WIDTH], [-float("inf")] * 4 + [0] * (WIDTH - 4))
    save(path, nodes, [value("x", [4, WIDTH])], [value(x, [4, WIDTH])], [mask])


# The shapes that are built, and the smaller of the two sizes of each; the larger is
# four times as large.
SHAPES: dict[Callable[[int, Path], None], int] = {
    initializers: 10_000, constants: 25_000, fan_out: 10_000, branches: 2_000, findings: 3_000,
    inputs: 2_500, stale: 10_000, unary: 10_000, infinities: 10_000,
}
