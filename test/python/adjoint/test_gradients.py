"""Gradients that `mp-differentiate` writes agree with torch.autograd's in float64."""

import os
import re

import formulas
import gradient_cases as cases
import gradient_harness as harness
import numpy as np
import pytest
import random_graphs
from gradient_graph import Graph
from mpopt.evaluation import ir
from tool import ROOT, list_op_classes

GRAPHS, PARTS = int(os.environ.get("MPOPT_RANDOM_GRAPHS", "1000")), 10


# Differentiable ops that are not tried here, and why.
UNTRIED = {
    "mp.cast": "lit tests: every value is a double here",
    "mp.if": "test_branches", "mp.loop": "test_loop", "mp.scan": "test_scan",
    "mp.matmul_nbits": "autograd has none",
    **dict.fromkeys(["mp.quantize", "mp.dequantize", "mp.dynamic_quantize"], "test_straight_through"),
    "mp.unique": "autograd has none",
    "mp.custom": "only its slope is stated: cli/test_custom_ops.py",
}


@pytest.fixture(scope="module")
def graphs():
    made = []
    for number, (name, build) in enumerate(cases.CASES.items()):
        graph = Graph(name, number)
        made.append(graph.returns(build(graph)))
    return made


@pytest.fixture(scope="module")
def functions(graphs):
    return ir.functions(harness.differentiate("\n".join(graph.text() for graph in graphs)))


@pytest.fixture(scope="module")
def complaints(graphs, functions):
    return harness.complaints_of(graphs, functions)


def test_every_op_is_tried(graphs):
    classes, attached = list_op_classes(), set()
    for file in (ROOT / "lib/Adjoint/Ops").rglob("*.cpp"):
        for statement in re.findall(r"attachGradient(?:Op)?<.*?;", file.read_text(), re.S):
            attached |= {name for name in re.findall(r"mp::(\w+Op)\b", statement) if not name.endswith("GradOp")}
    tried = set(re.findall(r'"(mp\.\w+)"', "".join(graph.text() for graph in graphs)))
    missing = {classes[name] for name in attached} - tried
    assert len(attached) > 150
    assert missing == UNTRIED.keys()


@pytest.mark.parametrize("name", cases.CASES)
def test_op(complaints, name):
    assert name not in complaints, complaints[name]


@pytest.mark.parametrize("part", range(PARTS))
def test_random_graphs(part):
    count = GRAPHS // PARTS
    graphs = [random_graphs.build(f"random{seed}", seed) for seed in range(part * count, (part + 1) * count)]
    complaints = harness.compare(graphs)
    assert not complaints, "\n".join(f"{name}: {text}" for name, text in complaints.items())


@pytest.mark.parametrize("name", sorted([*formulas.FIXED, *formulas.FORMULAS]))
def test_each_formula_counts(monkeypatch, graphs, functions, name):
    """With gradients a percent too large some graph has a wrong one."""
    def worse(made):
        return tuple(None if part is None else part * 1.01 for part in made) if isinstance(made, tuple) else made * 1.01
    table = formulas.FIXED if name in formulas.FIXED else formulas.FORMULAS
    right = table[name]
    monkeypatch.setitem(table, name, lambda *arguments: worse(right(*arguments)))
    using = [graph for graph in graphs
             if any(op.name == name for op in functions[graph.name].regions[0].ops)]
    assert using, "no graph has it"
    assert any("off by" in (harness.complaint(graph, functions[graph.name]) or "") for graph in using)


def test_a_wrong_graph_is_seen(monkeypatch):
    """A formula, and the graph that mpopt writes, are told apart from wrong ones."""
    graph = Graph("wrong", 0)
    graph.returns(graph.op("mish", graph.normal(3, 4)))
    monkeypatch.setitem(formulas.FORMULAS, "mp.mish_grad", lambda a, g, x: g * x)
    assert "off by" in harness.compare([graph])["wrong"]
    text = harness.differentiate(graph.text())
    monkeypatch.undo()
    function = ir.functions(text)["wrong"]
    assert harness.complaint(graph, function) is None
    for operation in function.regions[0].ops:
        if operation.name == "mp.mish_grad":
            operation.name = "mp.elu_grad"
    assert "off by" in harness.complaint(graph, function)


BRANCHES = """
func.func @main(%x: tensor<2x3xf64> {mp.name = "x"}, %w: tensor<3xf64> {mp.name = "w"}, %c: tensor<i1>)
    -> (tensor<2x3xf64> {mp.name = "y"}) {
  %t = mp.tanh %x : (tensor<2x3xf64>) -> tensor<2x3xf64>
  %r:2 = mp.if %c : (tensor<i1>) -> (tensor<2x3xf64>, tensor<2x3xf64>) {
    %a = mp.mul %t, %w : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
    %b = mp.if %c : (tensor<i1>) -> tensor<2x3xf64> {
      %e = mp.exp %a : (tensor<2x3xf64>) -> tensor<2x3xf64>
      mp.yield %e : tensor<2x3xf64>
    } else {
      mp.yield %a : tensor<2x3xf64>
    }
    mp.yield %b, %x : tensor<2x3xf64>, tensor<2x3xf64>
  } else {
    mp.yield %t, %t : tensor<2x3xf64>, tensor<2x3xf64>
  }
  %y = mp.mul %r#0, %r#1 : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}"""


@pytest.mark.parametrize("condition", [True, False])
def test_branches(condition):
    draw = np.random.default_rng(0)
    assert harness.compare_text(BRANCHES, draw.normal(0, 1, (2, 3)), draw.normal(0, 1, 3), condition) < 1e-9


LOOP = """
func.func @main(%x: tensor<3xf64> {mp.name = "x"}, %w: tensor<3x3xf64> {mp.name = "w"}, %n: tensor<i64>)
    -> (tensor<3xf64> {mp.name = "y"}) {
  %one = mp.constant dense<1> : tensor<i64>
  %t = mp.tanh %w : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %r:3 = mp.loop count %n iter(%x, %one) : (tensor<i64>, tensor<3xf64>, tensor<i64>)
      -> (tensor<3xf64>, tensor<i64>, tensor<?x3xf64>) {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %v: tensor<3xf64>, %c: tensor<i64>):
    %next = mp.add %c, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %f = mp.cast %next : (tensor<i64>) -> tensor<f64>
    %p = mp.matmul %v, %t : (tensor<3xf64>, tensor<3x3xf64>) -> tensor<3xf64>
    %q = mp.mul %p, %f : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
    %s = mp.sin %q : (tensor<3xf64>) -> tensor<3xf64>
    %e = mp.mul %s, %v : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    mp.yield %go, %s, %next, %e : tensor<i1>, tensor<3xf64>, tensor<i64>, tensor<3xf64>
  }
  %m = mp.reduce_sum %r#2 {axes = array<i64: 0>, keep_dims = false} : (tensor<?x3xf64>) -> tensor<3xf64>
  %y = mp.mul %m, %r#0 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
  return %y : tensor<3xf64>
}"""


@pytest.mark.parametrize("count", [1, 4])
def test_loop(count):
    draw = np.random.default_rng(0)
    assert harness.compare_text(LOOP, draw.normal(0, 1, 3), draw.normal(0, 1, (3, 3)), count) < 1e-9


SCAN = """
func.func @main(%x: tensor<2x5xf64> {mp.name = "x"}, %h: tensor<2xf64> {mp.name = "h"},
                %w: tensor<2x2xf64> {mp.name = "w"}, %z: tensor<5x2xf64> {mp.name = "z"})
    -> (tensor<2x5xf64> {mp.name = "y"}) {
  %r:2 = mp.scan states(%h) over(%x, %z) {input_axes = array<i64: 1, 0>, input_directions = array<i64: 1, 0>,
      output_axes = array<i64: 1>, output_directions = array<i64: 1>}
      : (tensor<2xf64>, tensor<2x5xf64>, tensor<5x2xf64>) -> (tensor<2xf64>, tensor<2x5xf64>) {
  ^bb0(%state: tensor<2xf64>, %slice: tensor<2xf64>, %other: tensor<2xf64>):
    %p = mp.matmul %state, %w : (tensor<2xf64>, tensor<2x2xf64>) -> tensor<2xf64>
    %a = mp.add %p, %slice : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    %t = mp.tanh %a : (tensor<2xf64>) -> tensor<2xf64>
    %o = mp.mul %t, %other : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
    mp.yield %t, %o : tensor<2xf64>, tensor<2xf64>
  }
  %u = mp.unsqueeze %r#0 {axes = array<i64: 1>} : (tensor<2xf64>) -> tensor<2x1xf64>
  %y = mp.mul %r#1, %u : (tensor<2x5xf64>, tensor<2x1xf64>) -> tensor<2x5xf64>
  return %y : tensor<2x5xf64>
}"""


def test_scan():
    draw = np.random.default_rng(0)
    shapes = ((2, 5), (2,), (2, 2), (5, 2))
    assert harness.compare_text(SCAN, *(draw.normal(0, 1, shape) for shape in shapes)) < 1e-9


STRAIGHT = """
func.func @main(%x: tensor<4xf64> {mp.name = "x"}) -> (tensor<4xf64> {mp.name = "y"}) {
  %s = mp.constant dense<0.25> : tensor<f64>
  %q = mp.quantize %x, %s : (tensor<4xf64>, tensor<f64>) -> tensor<4xi8>
  %d = mp.dequantize %q, %s : (tensor<4xi8>, tensor<f64>) -> tensor<4xf64>
  %y = mp.square %d : (tensor<4xf64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}"""


BY_CHANNEL = """
func.func @main(%x: tensor<2x3xf64> {mp.name = "x"}) -> (tensor<2x3xf64> {mp.name = "y"}) {
  %s = mp.constant dense<[0.25, 0.01, 1.0]> : tensor<3xf64>
  %z = mp.constant dense<[-128, 0, 100]> : tensor<3xi8>
  %q = mp.quantize %x, %s zero_point %z : (tensor<2x3xf64>, tensor<3xf64>, tensor<3xi8>) -> tensor<2x3xi8>
  %d = mp.dequantize %q, %s zero_point %z : (tensor<2x3xi8>, tensor<3xf64>, tensor<3xi8>) -> tensor<2x3xf64>
  %y = mp.square %d : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %y : tensor<2x3xf64>
}"""


def test_straight_through():
    """The gradient of what was quantised is the one of the number that comes out, and 0 where
    the code saturates, as 40 does and, with a zero point at the end, what is negative."""
    assert harness.compare_text(STRAIGHT, np.array([0.3, -0.7, 1.1, 40.0])) < 1e-9
    assert harness.compare_text(BY_CHANNEL, np.array([[0.3, -0.7, 1.1], [-0.6, 3.0, 40.0]])) < 1e-9


HALF = """
func.func @main(%x: tensor<2x3xf16> {mp.name = "x"}) -> (tensor<f32> {mp.name = "loss"}) {
  %w = mp.constant dense<0.5> : tensor<3x4xf32> loc(fused<#mp.origin<"n", "t", "", ["w"]>>["m":1:1])
  %h = mp.cast %w {origin = #mp.cast_origin<policy>} : (tensor<3x4xf32>) -> tensor<3x4xf16>
  %p = mp.matmul %x, %h : (tensor<2x3xf16>, tensor<3x4xf16>) -> tensor<2x4xf16>
  %f = mp.cast %p {origin = #mp.cast_origin<policy>} : (tensor<2x4xf16>) -> tensor<2x4xf32>
  %t = mp.constant dense<1.0> : tensor<2x4xf32>
  %y = mp.mse_loss %f, %t {reduction = "mean"} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<f32>
  return %y : tensor<f32>
}"""


def test_each_gradient_has_the_dtype_of_its_value():
    text = harness.differentiate(HALF, "wrt=parameters")
    function, = ir.functions(text).values()
    assert harness.names_of(function) == ["loss", "grad(w)"]
    types = {(operation.name, operation.types[0].dtype) for operation in function.regions[0].ops if operation.types}
    assert {("mp.mse_loss_grad", "f32"), ("mp.matmul", "f16"), ("mp.cast", "f32"), ("mp.cast", "f16")} <= types
    assert function.regions[0].ops[-1].name == "func.return"
    *_, last = function.regions[0].ops[:-1]
    assert last.name == "mp.cast" and last.types[0].dtype == "f32"
