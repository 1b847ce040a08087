"""Gradients that `mp-differentiate` writes agree with torch.autograd's in float64."""

import os
import re

import formulas
import gradient_cases as cases
import gradient_harness as harness
import mp_ir
import pytest
import random_graphs
from gradient_graph import Graph
from tool import ROOT, list_op_classes

GRAPHS, PARTS = int(os.environ.get("MPOPT_RANDOM_GRAPHS", "1000")), 10


# Differentiable ops that are not tried here, and why.
UNTRIED = {
    "mp.cast": "lit tests: every value is a double here",
    "mp.if": "test_branches", "mp.matmul_nbits": "autograd has none",
    **dict.fromkeys(["mp.quantize", "mp.dequantize", "mp.dynamic_quantize"], "test_straight_through"),
    "mp.fake_quantize": "test_fake_quantize: in float32", "mp.unique": "autograd has none",
}


@pytest.fixture(scope="module")
def graphs():
    made = []
    for number, (name, build) in enumerate(cases.CASES.items()):
        graph = Graph(name, number)
        made.append(graph.returns(build(graph)))
    return made


@pytest.fixture(scope="module")
def complaints(graphs):
    return harness.compare(graphs)


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


def test_a_wrong_formula_is_seen(monkeypatch):
    """Each formula of evaluation, and the graph that mpopt writes, are told apart from
    wrong ones."""
    graph = Graph("wrong", 0)
    graph.returns(graph.op("mish", graph.normal(3, 4)))
    monkeypatch.setitem(formulas.FORMULAS, "mp.mish_grad", lambda a, g, x: g * x)
    assert "off by" in harness.compare([graph])["wrong"]
    text = harness.differentiate(graph.text())
    monkeypatch.undo()
    function = mp_ir.functions(text)["wrong"]
    assert harness.complaint(graph, function) is None
    for operation in function.regions[0].ops:
        if operation.name == "mp.mish_grad":
            operation.name = "mp.elu_grad"
    assert "off by" in harness.complaint(graph, function)
