"""Triangles of differences of prefix sums (lib/Ranges/Relations/PrefixDifference.cpp): bounds
hold what runs compute, and leave out what the triangle does."""

import numpy
import onnx
import onnx.parser
import pytest
from soundness_models import Subject, compare
from tool import read_ranges

SIZE = 12


def make(path, gate, upper, reverse, exclusive, columns_first, form):
    first, second = ("cj", "ci") if columns_first else ("ci", "cj")
    triangle = numpy.triu(numpy.ones((SIZE, SIZE), bool)) if upper else numpy.tril(numpy.ones((SIZE, SIZE), bool))
    chosen = {"trilu": f"t = Trilu <upper = {int(upper)}> (d)", "where": "t = Where (kept, d, penalty)",
              "not": "n = Not (kept) t = Where (n, penalty, d)"}[form]
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[2, {SIZE}, 3] x) => (float[2, 3, {SIZE}, {SIZE}] t)
        <int64 time = {{1}}, int64[1] row = {{3}}, int64[1] column = {{2}}, float penalty = {{-10000}},
         bool[{SIZE}, {SIZE}] kept> {{
          a = Softplus (x)
          g = {gate} (a)
          c0 = CumSum <reverse = {reverse}, exclusive = {exclusive}> (g, time)
          c = Transpose <perm = [0, 2, 1]> (c0)
          ci = Unsqueeze (c, row)
          cj = Unsqueeze (c, column)
          d = Sub ({first}, {second})
          {chosen}
        }}""")
    del model.graph.initializer[:]
    for name, array in {"time": numpy.array(1, numpy.int64), "row": numpy.array([3], numpy.int64),
                        "column": numpy.array([2], numpy.int64), "penalty": numpy.array(-1e4, numpy.float32),
                        "kept": triangle}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    for node in model.graph.node:
        node.name = node.output[0]
    onnx.save(model, path)


@pytest.mark.parametrize("form", ["trilu", "where", "not"])
@pytest.mark.parametrize("columns_first", [False, True])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("gate", ["Neg", "Identity"])
def test_values_lie_in_bounds(gate, upper, reverse, exclusive, columns_first, form, tmp_path):
    path = tmp_path / "m.onnx"
    make(path, gate, upper, reverse, exclusive, columns_first, form)
    for precision in ("as-is", "fp16"):
        result = compare(Subject(path, boxes={"x": (-2.0, 6.0)}), precision, tmp_path, 20)
        assert not result.problems, "\n".join(result.problems.values())
        assert result.tensors
    # All have one sign, but for rounding.
    bound = read_ranges(path, "--input", "x=-2:6")["tensors"]["t"]
    negative = (gate == "Neg") ^ upper ^ bool(reverse) ^ columns_first
    least = -1e4 if form != "trilu" else 0
    assert bound["hi"] < 0.01 if negative else bound["lo"] > least - 0.01
    assert negative or bound["hi"] > 50


@pytest.mark.parametrize("last_first", [False, True])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("gate", ["Neg", "Identity"])
def test_differences_from_the_last_lie_in_bounds(gate, reverse, exclusive, last_first, tmp_path):
    first, second = ("last", "c") if last_first else ("c", "last")
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[2, {SIZE}, 3] x) => (float[2, {SIZE}, 3] t)
        <int64 time = {{1}}, int64[1] from = {{{SIZE - 1}}}, int64[1] to = {{{SIZE}}}, int64[1] axis = {{1}}> {{
          a = Softplus (x)
          g = {gate} (a)
          c = CumSum <reverse = {reverse}, exclusive = {exclusive}> (g, time)
          last = Slice (c, from, to, axis)
          t = Sub ({first}, {second})
        }}""")
    del model.graph.initializer[:]
    for name, array in {"time": numpy.array(1, numpy.int64), "from": numpy.array([SIZE - 1], numpy.int64),
                        "to": numpy.array([SIZE], numpy.int64), "axis": numpy.array([1], numpy.int64)}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    for node in model.graph.node:
        node.name = node.output[0]
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    for precision in ("as-is", "fp16"):
        result = compare(Subject(path, boxes={"x": (-2.0, 6.0)}), precision, tmp_path, 20)
        assert not result.problems, "\n".join(result.problems.values())
        assert result.tensors
    # Of one sign, but for rounding.
    bound = read_ranges(path, "--input", "x=-2:6")["tensors"]["t"]
    negative = (gate == "Neg") ^ bool(reverse) ^ (not last_first)
    assert bound["hi"] < 0.01 if negative else bound["lo"] > -0.01
