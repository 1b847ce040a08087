"""mpopt.to_float16: models of which some ops stay in FP32 load, and compute what the
original does.

ONNX Runtime says whether a model is sound; on the CPU it leaves out roundings to FP16, so
values are those of ONNX's reference, which rounds where the file says so."""

import json
import re
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from tool import BUILD


import mpopt  # noqa: E402

TYPES = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16,
         TensorProto.INT64: np.int64, TensorProto.BOOL: np.bool_}


def parse(text, opset=17, ir=8):
    """A model; nodes are named by their first results."""
    model = parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}]>\n{text}')

    def name(graph):
        for node in graph.node:
            node.name = f"n.{node.output[0]}"
            for attribute in node.attribute:
                name(attribute.g)

    name(model.graph)
    onnx.checker.check_model(model, full_check=True)
    return model


def run(model, feed, rounds=True):
    """The outputs, in FP32, as the file says; ONNX Runtime agrees that it can be run, and
    says the values if they are not to be rounded."""
    def cast(value):
        return np.asarray(feed[value.name]).astype(TYPES[value.type.tensor_type.elem_type])

    constants = {tensor.name for tensor in model.graph.initializer} - set(feed)
    inputs = {value.name: cast(value) for value in model.graph.input if value.name not in constants}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    theirs = session.run(None, inputs)
    if not rounds:
        return [np.asarray(their).astype(np.float32) for their in theirs]
    with np.errstate(all="ignore"):
        ours = ReferenceEvaluator(model).run(None, inputs)
    for value, their, our in zip(model.graph.output, theirs, ours, strict=True):
        assert their.shape == our.shape
        assert their.dtype == our.dtype == TYPES[value.type.tensor_type.elem_type]
    return [np.asarray(our).astype(np.float32) for our in ours]


def same(model, feed, original, rtol=4e-3, rounds=True):
    for ours, theirs in zip(run(model, feed, rounds), run(original, feed, rounds), strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


def types(model):
    """Of the inputs and outputs: 1 is FP32, 10 is FP16."""
    return [value.type.tensor_type.elem_type for value in (*model.graph.input,
                                                           *model.graph.output)]


def casts(model):
    return [node for node in model.graph.node if node.op_type == "Cast"]


X = {"x": np.random.default_rng(0).uniform(1, 4, (3, 16)).astype(np.float32)}

# Two ops that read one tensor, and a chain of ops between which values are past 65504.
READERS = """g (float[N, 16] x) => (float[N, 16] y)
  <float c = {300.0}, float two = {2.0}, float least = {0.5}> {
    s = Mul(x, c)
    q = Pow(s, two)
    h = Mul(s, s)
    m = ReduceMean <axes = [-1], keepdims = 1> (q)
    k = Add(h, m)
    r = Sqrt(k)
    n = Div(s, r)
    e = Max(n, least)
    y = Relu(e)
}"""
CHAIN = ["n.q", "n.h", "n.m", "n.k", "n.r"]


def test_two_readers_and_a_chain():
    original = parse(READERS)
    before = original.SerializeToString()
    plain = mpopt.to_float16(original)
    assert not np.isfinite(run(plain, X)[0]).all() or (run(plain, X)[0] == 0.5).all()
    half = mpopt.to_float16(original, CHAIN)
    same(half, X, original)
    assert original.SerializeToString() == before
    # s to FP32 once, and r to FP16.
    assert types(half) == [10, 10]
    assert [(node.input[0], node.attribute[0].i) for node in casts(half)] == [("s", 1), ("r", 10)]
    names = [node.name for node in half.graph.node]
    assert len(set(names)) == len(names)


def test_all_ops_kept_is_the_original():
    """Not a cast is left, and constants are as they were."""
    original = parse(READERS)
    half = mpopt.to_float16(original, [node.name for node in original.graph.node],
                            )
    assert types(half) == [1, 1] and not casts(half)
    np.testing.assert_array_equal(run(half, X)[0], run(original, X)[0])


def test_without_a_list():
    """Without a list everything becomes FP16 that has a form in it."""
    original = parse("""g (float[N, 16] x) => (float[N, 16] y) <float a = {2}, float b = {3}> {
        s = Max(x, a)
        t = Min(s, b)
        y = Relu(t)
    }""")
    half = mpopt.to_float16(original)
    assert not casts(half) and types(half) == [10, 10]
    same(half, X, original)


@pytest.mark.parametrize("suffix", [".json", ".ort.json", ".occ.json"])
def test_lists_of_the_tool(tmp_path, suffix):
    """What --keep-fp32 writes is enough, as a file and as what is in it."""
    original = parse(READERS)
    onnx.save(original, tmp_path / "m.onnx")
    keep = tmp_path / f"keep{suffix}"
    subprocess.run([BUILD / "bin" / "mpopt", "--check", tmp_path / "m.onnx", "--precision", "fp16",
                    "--input", "x=1:4", "--keep-fp32", keep, "--fail-on", "never"],
                   check=True, capture_output=True)
    half = mpopt.to_float16(tmp_path / "m.onnx", keep)
    same(half, X, original)
    assert half == mpopt.to_float16(original.SerializeToString(), json.loads(keep.read_text()),
                                    )


def test_lists_by_the_package(tmp_path):
    """From a verdict, and from a run."""
    original = parse(READERS)
    mpopt.check(original, precision="fp16", inputs={"x": (1, 4)}, keep_fp32=tmp_path / "k.json")
    probed = mpopt.instrument(original, tmp_path / "p.onnx", precision="fp16",
                              inputs={"x": (1, 4)}, dims={"N": 3})
    session = mpopt.probe_session(probed.path, record=tmp_path / "r.mprec")
    session.run(None, X)
    session.recorder.close()
    mpopt.confirm(tmp_path / "r.mprec", probed.ledger, keep_fp32=tmp_path / "c.json")
    for name in ("k.json", "c.json"):
        keep = json.loads((tmp_path / name).read_text())
        assert {op["name"] for op in keep["ops"]} >= {"n.q", "n.h"}
        same(mpopt.to_float16(original, tmp_path / name), X, original)


OUTPUT = """g (float[N, 16] x) => (float[N, 16] y, float[N, 16] z) <float c = {30000.0}> {
    s = Mul(x, x)
    y = Mul(s, c)
    z = Relu(s)
}"""


def test_output_past_the_range():
    original = parse(OUTPUT)
    half = mpopt.to_float16(original, ["n.y"])
    assert types(half) == [10, 1, 10]
    same(half, X, original)
    assert run(half, X)[0].max() > 65504
    narrow = mpopt.to_float16(original, ["n.y"], keep_io_types=False)
    assert types(narrow) == [10, 10, 10] and np.isinf(run(narrow, X)[0]).any()
    wide = mpopt.to_float16(original, ["n.y"], keep_io_types=True)
    assert types(wide) == [1, 1, 1]
    same(wide, X, original)
    some = mpopt.to_float16(original, ["n.y"], keep_io_types=["x", "z"])
    assert types(some) == [1, 10, 1]
    # An output that others read, too, keeps its name.
    chained = parse("""g (float[N, 16] x) => (float[N, 16] y, float[N, 16] z) <float c = {30000.0}> {
        y = Mul(x, c)
        s = Sqrt(y)
        z = Relu(s)
    }""")
    half = mpopt.to_float16(chained, ["n.y", "n.s"])
    assert types(half) == [1, 1, 10]
    same(half, X, chained)
    assert [value.name for value in half.graph.output] == ["y", "z"]


def test_input_past_the_range():
    original = parse("""g (float[N, 16] x) => (float[N, 16] y) <float c = {0.00001}> {
        s = Mul(x, c)
        y = Relu(s)
    }""")
    feed = {"x": X["x"] * 1e6}
    half = mpopt.to_float16(original, ["n.s"])
    assert types(half) == [1, 10]
    same(half, feed, original)


def test_integers_past_the_range(tmp_path):
    """The cast of an integer that FP16 does not hold is on the list, and stays."""
    original = parse("""g (int64[N, 16] i) => (float[N, 16] y) <float c = {1000.0}> {
        f = Cast <to = 1> (i)
        s = Div(f, c)
        y = Relu(s)
    }""")
    feed = {"i": np.arange(48).reshape(3, 16) * 5000}
    mpopt.check(original, precision="fp16", inputs={"i": (0, 240000)},
                keep_fp32=tmp_path / "keep.json")
    ops = json.loads((tmp_path / "keep.json").read_text())["ops"]
    assert [op["name"] for op in ops] == ["n.f", "n.s"]
    plain = mpopt.to_float16(original)
    assert np.isinf(run(plain, feed)[0]).any()
    half = mpopt.to_float16(original, tmp_path / "keep.json")
    assert types(half)[1] == 10
    same(half, feed, original)


@pytest.mark.parametrize("form", ["initializer", "node", "value_float"])
def test_constants_of_kept_ops_are_not_clamped(form):
    """Not even where an op in FP16 reads them, too."""
    constant = {"initializer": "", "node": "c = Constant <value = float {1000000.0}> ()",
                "value_float": "c = Constant <value_float = 1000000.0> ()"}[form]
    weights = "<float c = {1000000.0}>" if form == "initializer" else ""
    original = parse(f"""g (float[N, 16] x) => (float[N, 16] y, float[N, 16] z) {weights} {{
        {constant}
        s = Mul(x, c)
        y = Div(s, c)
        z = Min(x, c)
        u = Div(x, c)
        v = Relu(u)
    }}""")
    half = mpopt.to_float16(original, ["n.s", "n.y"])
    same(half, X, original)
    np.testing.assert_allclose(run(half, X)[0], X["x"], rtol=1e-6)


@pytest.mark.parametrize("text, keep", [
    ("""g (bool b, float[N, 16] x) => (float[N, 16] y) <float c = {30000.0}> {
        w = Mul(x, c)
        s = If (b) <
            then_branch = g1 () => (float[N, 16] t) {
                p = Mul(w, c)
                k = Sqrt(p)
                t = Div(k, c)
            },
            else_branch = g2 () => (float[N, 16] t2) { p2 = Relu(x)  t2 = Identity(p2) }>
        y = Relu(s)
    }""", ["n.w", "n.p", "n.k"]),
    ("""g (bool b, float[N, 16] x) => (float[N, 16] y) <float c = {30000.0}> {
        w = Mul(x, c)
        s = If (b) <
            then_branch = g1 () => (float[N, 16] t) { t = Div(w, c) },
            else_branch = g2 () => (float[N, 16] t2) { t2 = Identity(x) }>
        y = Relu(s)
    }""", ["n.w", "n.s"]),
    ("""g (bool b, float[N, 16] x) => (float[N, 16] y) <float c = {30000.0}, int64 n = {2}> {
        s = Loop (n, "", x) <
            body = body (int64 i, bool ci, float[N, 16] v) => (bool co, float[N, 16] o) {
                co = Identity (b)
                p = Mul(v, c)
                o = Div(p, c)
            }>
        y = Relu(s)
    }""", ["n.p", "n.o"])], ids=["inside", "whole", "loop"])
def test_bodies(text, keep):
    original = parse(text)
    half = mpopt.to_float16(original, keep)
    assert types(half)[-1] == 10
    for branch in (True, False):
        same(half, {**X, "b": np.array(branch)}, original)


def test_nodes_without_names_and_of_one_name():
    original = parse(READERS)
    for node in original.graph.node:
        node.name = {"Pow": "", "Mul": "mul"}.get(node.op_type, node.name)
    half = mpopt.to_float16(original, ["Pow_1", "mul", *CHAIN[2:]])
    # ONNX Runtime takes no two nodes of one name. Both are kept.
    same(half, X, parse(READERS))
    assert types(half) == [1, 10]


def test_weights_that_are_inputs():
    """Of IR 3, where all of them are."""
    original = parse(READERS)
    original.ir_version = 3
    original.graph.input.extend(helper.make_tensor_value_info(tensor.name, 1, tensor.dims)
                                for tensor in original.graph.initializer)
    half = mpopt.to_float16(original, CHAIN)
    same(half, X, parse(READERS))


def test_overridable_weights():
    original = parse(READERS)
    original.graph.input.append(helper.make_tensor_value_info("c", 1, []))
    half = mpopt.to_float16(original, CHAIN)
    assert types(half) == [10, 10, 10]
    feed = {**X, "c": np.float32(200)}
    same(half, feed, original)


def test_types_that_ops_fix():
    """A cast of integers, scales of Resize, and quantisation in FP32 alone."""
    original = parse("""g (float[1, 1, 3, 16] x, int64[1] i) => (float[1, 1, 6, 32] y)
      <float[4] scales = {1, 1, 2, 2}, float q = {0.25}, uint8 zero = {0}> {
        f = Cast <to = 1> (i)
        a = Add(x, f)
        r = Resize <mode = "nearest"> (a, "", scales)
        e = QuantizeLinear(r, q, zero)
        d = DequantizeLinear(e, q, zero)
        y = Relu(d)
    }""")
    feed = {"x": X["x"].reshape(1, 1, 3, 16), "i": np.array([3])}
    for keep in ([], ["n.a"], ["n.f", "n.y"], ["n.r", "n.d"]):
        # A sum that FP16 rounds may end up a step of 0.25 away; the reference lacks
        # DequantizeLinear of this opset.
        same(mpopt.to_float16(original, keep), feed, original, rtol=0.26,
             rounds=False)


def test_functions():
    original = parser.parse_model("""<ir_version: 9, opset_import: ["" : 17, "local" : 1]>
        g (float[N, 16] x) => (float[N, 16] y) { s = local.F (x)  y = Relu (s) }
        <domain: "local", opset_import: ["" : 17]>
        F (u) => (v) { c = Constant <value = float {2.0}> ()  v = Mul (u, c) }""")
    same(mpopt.to_float16(original), X, original)


def random_models():
    """Every way to keep some of a network's ops, as far as a few seeds have them."""
    network = """g (float[N, 16] x) => (float[N, 16] y, float[N, 4] p) {
        m = ReduceMean <axes = [-1], keepdims = 1> (x)
        d = Sub(x, m)
        q = Mul(d, d)
        v = ReduceMean <axes = [-1], keepdims = 1> (q)
        a = Add(v, eps)
        r = Sqrt(a)
        n = Div(d, r)
        g = Mul(n, gain)
        y = Add(g, x)
        h = MatMul(g, w)
        t = MatMul(y, w)
        u = Add(h, t)
        p = Softmax <axis = -1> (u)
    }"""
    generator = np.random.default_rng(5)
    weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in (
        ("eps", np.array(1e-5)), ("gain", generator.normal(1, 0.1, 16)),
        ("w", generator.normal(0, 0.1, (16, 4))))]
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {network}')
    model.graph.initializer.extend(weights)
    for node in model.graph.node:
        node.name = f"n.{node.output[0]}"
    names = [node.name for node in model.graph.node]
    return [(model, [name for name in names if generator.integers(2)]) for _ in range(12)]


def test_any_list():
    """Whatever is kept: one cast a tensor at most, none of a cast, and the same values."""
    for original, keep in random_models():
        half = mpopt.to_float16(original, keep)
        same(half, X, original, rtol=2e-2)
        made = {name: node for node in half.graph.node for name in node.output}
        sources = [(node.input[0], node.attribute[0].i) for node in casts(half)]
        assert len(set(sources)) == len(sources)
        assert not [source for source, _ in sources
                    if source in made and made[source].op_type == "Cast"]
        # Ops of the list read and give FP32 alone.
        inferred = onnx.shape_inference.infer_shapes(half, strict_mode=True)
        dtypes = {value.name: value.type.tensor_type.elem_type for value in (
            *inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output)}
        dtypes |= {tensor.name: tensor.data_type for tensor in half.graph.initializer}
        for node in half.graph.node:
            if node.op_type != "Cast":
                wanted = TensorProto.FLOAT if node.name in keep else TensorProto.FLOAT16
                assert {dtypes[name] for name in (*node.input, *node.output)} == {wanted}, node.name


@pytest.mark.parametrize("arguments, text", [
    ({"keep": ["n.q", "n.zz"]}, "keep: the model has no node 'n.zz'"),
    ({"keep": {"ops": 3}}, "keep: it is no list that --keep-fp32 wrote"),
    ({"keep": 3}, "keep: "), ({"keep": [3]}, "keep: names of nodes, not int"),
    ({"keep": "none.json"}, "keep: .*none.json"),
    ({"keep": "k.autocast.txt"}, "keep: .autocast.txt is for ModelOpt"),
    ({"keep_io_types": ["q"]}, "keep_io_types: the model has no input or output 'q'"),
    ({"keep_io_types": "x"}, "keep_io_types: a list of names"),
    ({"keep_io_types": 3}, "keep_io_types: "),
    ({"model": b"abc"}, "convert takes ONNX files"), ({"model": 3}, "a path or an ONNX model"),
    ({"model": "none.onnx"}, "the model: .*none.onnx")])
def test_errors(arguments, text):
    with pytest.raises(mpopt.Error) as raised:
        mpopt.to_float16(**{"model": parse(READERS), **arguments})
    assert re.match(text, str(raised.value)) and "\n" not in str(raised.value)


def test_converter_has_no_effect():
    with pytest.warns(DeprecationWarning, match="converter"):
        same(mpopt.to_float16(parse(READERS), CHAIN, converter="onnxruntime"), X, parse(READERS))


def test_weights_that_are_elsewhere(tmp_path):
    """A model that was loaded without them cannot be converted, its file can."""
    model = parse(READERS)
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0,
              location="m.bin")
    same(mpopt.to_float16(tmp_path / "m.onnx", CHAIN), X, parse(READERS))
    with pytest.raises(mpopt.Error, match="weights are in other files: give the model's path"):
        mpopt.to_float16(onnx.load(tmp_path / "m.onnx", load_external_data=False), CHAIN)


def test_bfloat16():
    original = parse(READERS)
    low = mpopt.to_bfloat16(original)
    assert types(low) == [TensorProto.BFLOAT16] * 2
    onnx.checker.check_model(low, full_check=True)
    with pytest.raises(mpopt.Error, match="BF16 came with 13"):
        mpopt.to_bfloat16(parse("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset=12))
