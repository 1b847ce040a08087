"""--keep-fp32 for the converters: what they make of the list runs without Inf."""

import json
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator
from tool import run_mpopt


# The square (no Mul(s, s): of a node that reads a value twice, ONNX Runtime's converter
# makes two casts of one name) leaves float16 for every input, its root is small again; what is
# left is harmless.
GRAPH = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 16] x) => (float[N, 16] y) <float c = {300.0}, float two = {2.0}> {
  [a.scale] s = Mul(x, c)
  [b.square] q = Pow(s, two)
  [b.mean] m = ReduceMean <axes = [-1], keepdims = 1> (q)
  [b.root] r = Sqrt(m)
  [c.out] n = Div(s, r)
  [c.last] y = Relu(n)
}"""
OPTIONS = ["--precision", "fp16", "--select", "MP2", "--input", "x=0.5:4", "--input", "x~2,0.5", "--fail-on", "never"]


def model():
    # The parser has no syntax for names of nodes of this version: they are set by hand.
    parsed = parser.parse_model(re.sub(r"\[[^\]]*\] (?=\w+ =)", "", GRAPH))
    for node, name in zip(parsed.graph.node, re.findall(r"\[([^\]]*)\] (?=\w+ =)", GRAPH)):
        node.name = name
    onnx.checker.check_model(parsed)
    return parsed


def keep(tmp_path, suffix, graph=None, *options):
    file, list_file = tmp_path / "model.onnx", tmp_path / f"keep{suffix}"
    onnx.save(graph or model(), file)
    done = run_mpopt("--check", file, "--keep-fp32", list_file, *OPTIONS, *options)
    assert done.returncode == 0, done.stderr
    return list_file.read_text(), done.stderr


def sort(graph):
    """Converters append their casts; the reference runs nodes as they come."""
    known = {value.name for value in [*graph.input, *graph.initializer]} | {""}
    nodes, left = [], list(graph.node)
    while left:
        ready = [node for node in left if known.issuperset(node.input)]
        assert ready, "a cycle, or a value that nothing defines"
        nodes += ready
        known.update(name for node in ready for name in node.output)
        left = [node for node in left if node not in ready]
    del graph.node[:]
    graph.node.extend(nodes)


def run(converted):
    """As float16 hardware would: ONNX Runtime's CPU kernels compute float16 in float32 and
    drop the casts in between, so that it only says whether the model is sound."""
    onnxruntime.InferenceSession(
        converted.SerializeToString(), providers=["CPUExecutionProvider"])
    sort(converted.graph)
    feed = converted.graph.input[0]
    half = feed.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16
    x = np.random.default_rng(0).uniform(1, 4, (3, 16))
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(converted).run(
            None, {feed.name: x.astype(np.float16 if half else np.float32)})[0]


def names(text):
    return json.loads(text)["node_block_list"]


def test_json_names_the_reasons(tmp_path):
    text, _ = keep(tmp_path, ".json")
    document = json.loads(text)
    assert document["schema"] == "mpopt-keep/1"
    assert [op["name"] for op in document["ops"]] == ["b.square", "b.mean", "b.root"]
    assert all(op["why"] and all(re.fullmatch(r"[0-9a-f]{16}(-\d+)?", why) for why in op["why"])
               for op in document["ops"])
    assert [op["type"] for op in document["ops"]] == ["Pow", "ReduceMean", "Sqrt"]


@pytest.mark.parametrize("suffix", [".ort.json", ".occ.json"])
def test_same_ops_in_every_form(tmp_path, suffix):
    text, error = keep(tmp_path, suffix)
    assert names(text) == ["b.square", "b.mean", "b.root"]
    assert set(json.loads(text)) == {"node_block_list"} and "warning" not in error


def test_autocast_patterns_match_their_nodes_only(tmp_path):
    text, _ = keep(tmp_path, ".autocast.txt")
    patterns = text.splitlines()
    assert patterns == [r"b\.square$", r"b\.mean$", r"b\.root$"]
    # As AutoCast applies them.
    matched = [node.name for node in model().graph.node
               if any(re.match(pattern, node.name) for pattern in patterns)]
    assert matched == ["b.square", "b.mean", "b.root"]
    assert not any(re.match(pattern, "b_square") for pattern in patterns)
    assert not any(re.match(pattern, "b.square.1") for pattern in patterns)


def test_nodes_without_names_are_left_out(tmp_path):
    graph = model()
    for node in graph.graph.node:
        if node.op_type == "Sqrt":
            node.name = ""
    text, error = keep(tmp_path, ".ort.json", graph)
    assert names(text) == ["b.square", "b.mean"]
    assert "mpopt: warning: " in error and "1 of the ops to keep in FP32 have no name" in error
    # mpopt's own form has them.
    text, error = keep(tmp_path, ".json", graph)
    assert len(json.loads(text)["ops"]) == 3 and "warning" not in error


def test_nothing_to_keep(tmp_path):
    graph = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> '
                               "g (float[4, 16] x) => (float[4, 16] y) { y = Relu(x) }")
    text, _ = keep(tmp_path, ".occ.json", graph)
    assert names(text) == []


def test_onnxruntime_converter(tmp_path):
    float16 = pytest.importorskip("onnxruntime.transformers.float16")
    onnx_model = pytest.importorskip("onnxruntime.transformers.onnx_model")
    text, _ = keep(tmp_path, ".ort.json")
    broken = run(float16.convert_float_to_float16(model()))
    assert not np.isfinite(broken).all() or (broken == 0).any()
    # The converter rounds between two ops of the list; its own clean-up for mixed
    # precision takes these casts out.
    wrapper = onnx_model.OnnxModel(float16.convert_float_to_float16(model(), **json.loads(text)))
    wrapper.remove_cascaded_cast_nodes()
    np.testing.assert_allclose(run(wrapper.model).astype(np.float32), run(model()), rtol=4e-3)


def test_onnxconverter_common(tmp_path):
    float16 = pytest.importorskip("onnxconverter_common.float16")
    text, _ = keep(tmp_path, ".occ.json")
    broken = run(float16.convert_float_to_float16(model()))
    assert not np.isfinite(broken).all() or (broken == 0).any()
    kept = float16.convert_float_to_float16(model(), **json.loads(text))
    np.testing.assert_allclose(run(kept).astype(np.float32), run(model()), rtol=4e-3)


def test_modelopt(tmp_path):
    autocast = pytest.importorskip("modelopt.onnx.autocast")
    text, _ = keep(tmp_path, ".autocast.txt")
    converted = autocast.convert_to_mixed_precision(
        str(tmp_path / "model.onnx"), low_precision_type="fp16", data_max=float("inf"),
        nodes_to_exclude=text.splitlines())
    np.testing.assert_allclose(run(converted).astype(np.float32), run(model()), rtol=4e-3)
