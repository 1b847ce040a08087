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
