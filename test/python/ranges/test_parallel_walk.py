"""Ranges of a graph whose ops are computed on several threads."""

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt

BRANCHES, DEPTH, WIDTH = 6, 8, 24


def make_branches() -> bytes:
    """Branches that share their weights, and read each other here and there."""
    random = numpy.random.default_rng(3)
    weights = [random.normal(size=(WIDTH, WIDTH)).astype(numpy.float32)
               for _ in range(DEPTH)]
    stored = [numpy_helper.from_array(weight, f"w{depth}")
              for depth, weight in enumerate(weights)]
    last = ["x"] * BRANCHES
    nodes = []
    for depth in range(DEPTH):
        for branch in range(BRANCHES):
            name = f"b{branch}_{depth}"
            nodes += [
                helper.make_node("MatMul", [last[branch], f"w{depth}"], [name + "p"]),
                helper.make_node("Softmax" if branch % 2 else "Tanh", [name + "p"],
                                 [name + "s"]),
                helper.make_node("Add", [name + "s", last[branch - depth % 2]], [name])]
            last[branch] = name
    nodes.append(helper.make_node("Sum", last, ["y"]))
    shape = [1, 4, WIDTH]
    graph = helper.make_graph(
        nodes, "branches", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    return model.SerializeToString()


@pytest.mark.parametrize("precision", ["fp16", "autocast-bf16"])
def test_threads_change_nothing(tmp_path, precision):
    """Not a digit of a bound, an estimate or a finding."""
    path = tmp_path / "branches.onnx"
    path.write_bytes(make_branches())
    seen = set()
    for jobs in ["1", "2", "4", "4", "4"]:
        ranges = tmp_path / "ranges.json"
        run = run_mpopt("--check", path, "--precision", precision, "--format", "json",
                        "--jobs", jobs, "--fail-on", "never", "--dump-ranges", ranges)
        assert run.returncode == 0, run.stderr
        report = "\n".join(line for line in run.stdout.splitlines()
                           if '"seconds"' not in line)
        seen.add((report, ranges.read_text()))
    assert len(seen) == 1


def make_norms() -> bytes:
    """Inputs of norms that are ready long before the statistics of their norms are."""
    random = numpy.random.default_rng(4)
    count, channels = 24, 2048
    nodes, stored = [], []
    for index in range(count):
        for name, values in {"s": random.uniform(0.5, 1.5, channels), "b": random.normal(size=channels),
                             "m": random.normal(size=channels), "v": random.uniform(1, 4, channels)}.items():
            stored.append(numpy_helper.from_array(values.astype(numpy.float32), f"{name}{index}"))
        nodes += [helper.make_node("Neg", ["x"], [f"n{index}"]),
                  helper.make_node("BatchNormalization", [f"n{index}", *(f"{name}{index}" for name in "sbmv")],
                                   [f"y{index}"])]
    floats = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, channels, 1, 1])
              for name in ["x", *(f"y{index}" for index in range(count))]]
    graph = helper.make_graph(nodes, "norms", floats[:1], floats[1:], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()


def test_statistics_are_waited_for(tmp_path):
    """An estimate takes the running statistics of the norm that reads the value."""
    path, ranges = tmp_path / "norms.onnx", tmp_path / "ranges.json"
    path.write_bytes(make_norms())
    seen = set()
    for jobs in ["1", *["4"] * 24]:
        run = run_mpopt("--check", path, "--precision", "fp16", "--jobs", jobs, "--fail-on", "never",
                        "-o", tmp_path / "report.txt", "--dump-ranges", ranges)
        assert run.returncode == 0, run.stderr
        seen.add(ranges.read_text())
    assert len(seen) == 1
