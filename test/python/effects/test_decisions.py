"""Shares of indices, truth values and whole numbers that storage changes, beside runs."""

import json

import numpy
import onnx
import onnx.parser
import pytest
from tool import run_mpopt

TOP = "v, y = TopK <axis = -1> (x, five)"
CASES = {
    "topk": ("int64[16, 5]", TOP, lambda x: numpy.argsort(-x, -1, kind="stable")[:, :5]),
    "argmax": ("int64[16, 1]", "y = ArgMax <axis = -1> (x)", lambda x: x.argmax(-1)),
    "order": ("int64[16, 64]", "v, y = TopK <axis = -1> (x, all)", lambda x: numpy.argsort(-x, -1, kind="stable")),
    "greater": ("bool[16, 64]", "y = Greater (x, edge)", lambda x: x > 101),
    "nearest": ("int64[16, 1]", "d = Sub (x, edge) a = Abs (d) y = ArgMin <axis = -1> (a)", lambda x: abs(x - 101).argmin(-1)),
    "floor": ("int64[16, 64]", "f = Floor (x) y = Cast <to = 7> (f)", lambda x: numpy.floor(x).astype(numpy.int64)),
    "whole": ("int64[16, 64]", "y = Cast <to = 7> (x)", lambda x: x.astype(numpy.int64)),
}


def stored(x, precision):
    if precision == "fp16":
        return x.astype(numpy.float16).astype(numpy.float32)
    bits = x.view(numpy.uint32)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) & numpy.uint32(0xffff0000)).view(numpy.float32)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("case", CASES)
def test_share_is_that_of_runs(case, precision, tmp_path):
    result, node, decide = CASES[case]
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[16, 64] x) => ({result} y)
        <int64[1] five = {{5}}, int64[1] all = {{64}}, float edge = {{101}}> {{ {node} }}"""), path)
    arguments = ["--check", path, "--precision", precision, "--input", "x=90:110", "--input", "x~100,1", "--format", "json",
                 "--fail-on", "never"]
    [decision] = json.loads(run_mpopt(*arguments, check=True).stdout)["decisions"]
    random, changed, count = numpy.random.default_rng(0), 0, 0
    for _ in range(300):
        x = numpy.clip(random.normal(100, 1, (16, 64)), 90, 110).astype(numpy.float32)
        differ = decide(x) != decide(stored(x, precision))
        changed, count = changed + differ.sum(), count + differ.size
    assert decision["output"] == "y"
    # The estimates are 0.97 to 1.34 times the runs.
    assert 0.8 < decision["changed"] / (changed / count) < 1.4


def test_count_changes_with_any_of_what_it_counts(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[16, 1024] x, float[16, 1] u) => (int64[16, 1] y) <int64 axis = {1}, int64[1] rows = {1}> {
          p = Softmax <axis = -1> (x)
          c = CumSum (p, axis)
          b = Less (c, u)
          i = Cast <to = 7> (b)
          y = ReduceSum (i, rows)
        }"""), path)
    report = json.loads(run_mpopt("--check", path, "--precision", "bf16", "--input", "x~0,1", "--input", "u=0:1", "--format", "json",
                                  "--fail-on", "never").stdout)
    # The distribution rises by 0.001 an element, and has steps of 0.002 and 0.004.
    assert report["decisions"][0]["changed"] > 0.25
    assert report["findings"][0]["rule"] == "MP309"


def test_what_is_exact_does_not_change(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[16, 64] x) => (int64[16, 1] y) <float two = {2}> {
          w = Round (x)
          y = ArgMax <axis = -1> (w)
        }"""), path)
    found = json.loads(run_mpopt("--check", path, "--precision", "bf16", "--input", "x=-100:100", "--format", "json").stdout)
    assert "decisions" not in found or found["decisions"][0]["changed"] < 0.05


def test_rows_that_rounded_positions_choose(tmp_path):
    """The cast of positions past 2048 chooses other rows, and is named and kept in FP32 for that."""
    path, keep = tmp_path / "m.onnx", tmp_path / "keep.json"
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 20]>
        g (int64[1, 64] p) => (float[1, 64, 8] y) <float half = {0.5}, float quarter = {0.25}, float[2002, 8] table> {
          f = Cast <to = 1> (p)
          h = Mul (f, half)
          m = Add (h, quarter)
          w = Floor (m)
          i = Cast <to = 7> (w)
          y = Gather <axis = 0> (table, i)
        }""")
    table = numpy.random.default_rng(0).normal(0, 1, (2002, 8)).astype(numpy.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(table, "table"))
    for node in model.graph.node:
        node.name = node.output[0]
    onnx.save(model, path)
    arguments = ["--check", path, "--precision", "fp16", "--input", "p=0:4000", "--format", "json"]
    report = json.loads(run_mpopt(*arguments, "--keep-fp32", keep).stdout)
    [effect] = report["effects"]
    assert effect["expected_error"] > 0.25
    first = report["findings"][0]
    assert (first["rule"], first["op"]["name"]) in {("MP303", "f"), ("MP302", "m")}
    assert first["effect"]["expected_error"] <= effect["expected_error"]
    assert {"f", "h", "m"} <= {op["name"] for op in json.loads(keep.read_text())["ops"]}


#: Scores of 50 classes: offsets and sizes of their weights.
CLASSES = {
    "alike": (numpy.zeros(50), numpy.ones(50)),
    "offsets": (2 * numpy.random.default_rng(1).normal(size=50), numpy.ones(50)),
    "frequencies": (-1.5 * numpy.log(numpy.arange(1, 51)), numpy.ones(50)),
    "one-far-below": (numpy.where(numpy.arange(50) == 3, -60, 0), numpy.ones(50)),
    "one-ahead": (numpy.where(numpy.arange(50) == 3, 4, 0), numpy.ones(50)),
    "sizes": (numpy.zeros(50), numpy.exp(0.7 * numpy.random.default_rng(2).normal(size=50))),
}


@pytest.mark.parametrize("case", CLASSES)
def test_classes_of_unlike_scores(case, tmp_path):
    """The best two of a row decide: classes that are never among them, and the errors of those, do not."""
    offsets, sizes = CLASSES[case]
    random, changed, count = numpy.random.default_rng(3), 0, 0
    weight = (random.normal(0, 1 / 8, (64, 50)) * sizes).astype("f4")
    bias = offsets.astype("f4")
    path = tmp_path / "m.onnx"
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]>
        g (float[256, 64] x) => (int64[256, 1] y) { m = MatMul (x, w) s = Add (m, b) y = ArgMax <axis = -1> (s) }""")
    model.graph.initializer.extend([onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(bias, "b")])
    onnx.save(model, path)
    arguments = ["--check", path, "--precision", "bf16", "--input", "x~0,1", "--format", "json", "--fail-on", "never"]
    [decision] = json.loads(run_mpopt(*arguments, check=True).stdout)["decisions"]
    for _ in range(40):
        x = random.normal(0, 1, (256, 64)).astype("f4")
        product = stored(stored(x, "bf16") @ stored(weight, "bf16"), "bf16")
        low = stored(product + stored(bias, "bf16"), "bf16")
        changed, count = changed + ((x @ weight + bias).argmax(1) != low.argmax(1)).sum(), count + 256
    assert 0.5 < decision["changed"] / (changed / count) < 2
