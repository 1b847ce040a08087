"""mpopt --convert: files that load, and compute what the source does, on small models made here.

ONNX's reference rounds where the file says so; ONNX Runtime says whether it can be run."""

import json
import os
import resource
import signal
import subprocess
import time

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator
from tool import MPOPT, run_mpopt

import mpopt

LOW = TensorProto.FLOAT16


def parse(text, weights=None, header='ir_version: 8, opset_import: ["" : 17]'):
    model = parser.parse_model(f"<{header}>\n{text}")
    for name, array in (weights or {}).items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return model


def convert(folder, model, *options, status=0):
    """The result, and the report; of a refusal the line."""
    source, out, report = folder / "m.onnx", folder / "out" / "m.onnx", folder / "r.json"
    out.parent.mkdir(exist_ok=True)
    if model is not None:
        onnx.save(model, source)
    done = run_mpopt("--convert", source, "-o", out, "--report", report, *options)
    assert done.returncode in ((0, 1) if "--write-anyway" in options else (status,)), done.stderr
    if status:
        assert not list(out.parent.iterdir()), "something is left behind"
        assert len(done.stderr.splitlines()) == 1
        return done.stderr.removeprefix("mpopt: error: ").strip()
    made = onnx.load(out)
    onnx.checker.check_model(str(out), full_check=True)
    onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True, data_prop=True)
    return made, json.loads(report.read_text())


def load(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(model, feed):
    load(model)
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, feed)


def node(model, name):
    return next(n for n in model.graph.node if n.name == name)


def types(model):
    inferred = onnx.shape_inference.infer_shapes(model)
    known = {v.name: v.type.tensor_type.elem_type for v in (
        *inferred.graph.value_info, *inferred.graph.input, *inferred.graph.output)}
    return known | {t.name: t.data_type for t in model.graph.initializer}


def weights(*shape, scale=1.0, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


X = weights(4, 8, seed=3)
NORM = """g (float[4,8] x) => (float[4,8] y) {
  [mm] h = MatMul (x, w)
  [up] u = Mul (h, k)
  [square] s = Mul (u, u)
  [mean] m = ReduceMean <axes = [-1]> (s)
  [root] r = Sqrt (m)
  [div] d = Div (u, r)
  [out] y = MatMul (d, w)
}"""
WEIGHTS = {"w": weights(8, 8, scale=.4), "k": np.float32(3000)}


def test_an_island(tmp_path):
    """What overflows is FP32, in one piece, with its constants; every node and cast has a reason."""
    source = parse(NORM, WEIGHTS)
    made, report = convert(tmp_path, source, "--keep-io-types")
    np.testing.assert_allclose(run(made, {"x": X})[0], run(source, {"x": X})[0], atol=5e-3)
    kept = {entry["node"] for entry in report["kept"]}
    assert kept >= {"square", "mean"} and not kept & {"mm", "out"}
    assert all(entry["why"] for entry in (*report["kept"], *report["casts"]))
    assert len(report["casts"]) == sum(n.op_type == "Cast" for n in made.graph.node)
    assert 0 <= report["expected_error"] < 0.005 and report["macs_fp32_share"] == 0
    assert next(t for t in made.graph.initializer if t.name == "w").raw_data
    made_by = {name: n for n in made.graph.node for name in n.output}
    for cast in (n for n in made.graph.node if n.op_type == "Cast"):
        assert made_by.get(cast.input[0], cast).op_type != "Cast" or cast.input[0] not in made_by


@pytest.mark.parametrize("options", [(), ("--keep-io-types",), ("--to", "fp16", "--write-anyway"), ("--to", "mixed-bf16")])
def test_again(tmp_path, options):
    """Converted again, no byte changes, and the terminal says so."""
    convert(tmp_path, parse(NORM, WEIGHTS), *options)
    first, second = tmp_path / "out" / "m.onnx", tmp_path / "again.onnx"
    done = run_mpopt("--convert", first, "-o", second, *options)
    assert done.returncode == 0 and "a copy" in done.stdout, done.stderr
    assert first.read_bytes() == second.read_bytes()


def test_back_to_fp32(tmp_path):
    source = parse(NORM, WEIGHTS)
    convert(tmp_path, source)
    done = run_mpopt("--convert", tmp_path / "out" / "m.onnx", "-o", tmp_path / "wide.onnx", "--to", "fp32")
    assert done.returncode == 0, done.stderr
    wide = onnx.load(tmp_path / "wide.onnx")
    assert {t.data_type for t in wide.graph.initializer} == {TensorProto.FLOAT}
    assert [n.op_type for n in wide.graph.node] == [n.op_type for n in source.graph.node]
    assert [v.name for v in wide.graph.output] == ["y"]
    np.testing.assert_allclose(run(wide, {"x": X})[0], run(source, {"x": X})[0], atol=5e-3)


def test_bodies_and_what_they_read(tmp_path):
    """A branch reads an FP32 value of the graph around it, which is cast once, there."""
    source = parse("""g (float[4,8] x, bool c) => (float[4,8] y) {
      [big] s = Mul (x, k)
      [gate] p = If (c) <
        then_branch = yes () => (float[4,8] t) { [shrink] d = Div (s, k) [act] t = Tanh (d) },
        else_branch = no () => (float[4,8] e) { [shrink] d2 = Div (s, k) [act] e = Relu (d2) }>
      [out] y = MatMul (p, w)
    }""", {"k": np.float32(60000), "w": WEIGHTS["w"]})
    made, _ = convert(tmp_path, source, "--keep-io-types", "--keep", "big", "--keep", "shrink")
    for c in (True, False):
        feed = {"x": X, "c": np.array(c)}
        np.testing.assert_allclose(run(made, feed)[0], run(source, feed)[0], atol=1e-2)
    branch = node(made, "gate").attribute[0].g
    assert [n.op_type for n in branch.node] == ["Div", "Cast", "Tanh"]


def test_quantised_pairs_keep_their_scales(tmp_path):
    source = parse("""g (float[4,8] x) => (float[4,8] y) {
      [mm] h = MatMul (x, w)
      [q] a = QuantizeLinear (h, s, z)
      [dq] b = DequantizeLinear (a, s, z)
      [act] t = Tanh (b)
      [out] y = MatMul (t, w)
    }""", {"w": WEIGHTS["w"], "s": np.float32(.03), "z": np.uint8(128)},
                   header='ir_version: 10, opset_import: ["" : 21]')
    made, report = convert(tmp_path, source, "--keep-io-types", "--max-error", "0.05")
    known = types(made)
    assert known["s"] == TensorProto.FLOAT and node(made, "q").input[1] == node(made, "dq").input[1] == "s"
    assert known[node(made, "mm").output[0]] == LOW == known[node(made, "act").output[0]]
    assert {entry["why"] for entry in report["kept"]} == {"scales keep their type"}
    load(made)


def test_unknown_ops_read_what_they_read(tmp_path):
    text = """g (float[4,8] x) => (float[4,8] y) {
      [before] h = MatMul (x, w)
      [mine] b = acme.ops.Mix (h)
      [after] y = MatMul (b, w)
    }"""
    source = parse(text, {"w": WEIGHTS["w"]}, header='ir_version: 8, opset_import: ["" : 17, "acme.ops" : 1]')
    source.graph.value_info.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [4, 8]))
    made, _ = convert(tmp_path, source)
    casts = {n.output[0]: n for n in made.graph.node if n.op_type == "Cast"}
    assert node(made, "mine").input[0] in casts and node(made, "after").input[0] in casts
    assert types(made)["b"] == TensorProto.FLOAT
    made, _ = convert(tmp_path, source, "--assume-fp16", "acme.ops::Mix")
    assert not [n for n in made.graph.node if n.op_type == "Cast"] and types(made)["b"] == LOW


def test_sequences_have_one_type(tmp_path):
    source = parse("""g (float[6,4] x) => (float[6,4] y, float[2,4] f) {
      [split] s = SplitToSequence <axis = 0> (x, two)
      [at] f = SequenceAt (s, zero)
      [cat] y = ConcatFromSequence <axis = 0> (s)
    }""", {"two": np.int64(2), "zero": np.int64(0)})
    made, _ = convert(tmp_path, source)
    assert [v.type.tensor_type.elem_type for v in (*made.graph.input, *made.graph.output)] == [LOW] * 3
    # Kept at one end, the sequence is FP32 at the other.
    made, _ = convert(tmp_path, source, "--keep-io-types", "--keep", "cat")
    known = types(made)
    assert node(made, "split").input[0] == "x" and known["x"] == TensorProto.FLOAT
    load(made)


@pytest.mark.parametrize("ir, opset", [(3, 7), (3, 8), (6, 11), (9, 20)])
def test_versions(tmp_path, ir, opset):
    """Of IR 3 weights are among the inputs; a weight of two types is there twice."""
    source = parse("""g (float[4,8] x) => (float[4,8] y) {
      [mm] h = MatMul (x, w)
      [act] a = Relu (h)
      [out] y = MatMul (a, w)
    }""", {"w": WEIGHTS["w"]}, header=f'ir_version: {ir}, opset_import: ["" : {opset}]')
    if ir < 4:
        source.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [8, 8]))
    made, _ = convert(tmp_path, source, "--keep-io-types", "--keep", "out")
    constants = {t.name: t.data_type for t in made.graph.initializer}
    assert sorted(constants.values()) == [TensorProto.FLOAT, LOW]
    if ir < 4:
        assert set(constants) < {v.name for v in made.graph.input}
    np.testing.assert_allclose(load(made).run(None, {"x": X})[0], load(source).run(None, {"x": X})[0], atol=1e-2)


def test_one_rounding(tmp_path):
    """Weights are those of NumPy's rounding; what is finite stays finite."""
    w = np.concatenate([weights(500, scale=10.0 ** 3), weights(500, scale=1e-6), [7e4, -7e4, np.inf, 65519, 1e-9]]).astype(np.float32)
    made, _ = convert(tmp_path, parse("g (float[N] x) => (float[N] y) { y = Add (x, w) }", {"w": w}), "--to", "fp16",
                      "--write-anyway", "--dim", "N=1005")
    with np.errstate(over="ignore"):
        wanted = w.astype(np.float16)
    wanted[np.isinf(wanted) & np.isfinite(w)] = np.sign(w[np.isinf(wanted) & np.isfinite(w)]) * np.float16(65504)
    np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[0]), wanted)


def test_dead_ends(tmp_path):
    """What nothing reads is neither kept nor cast, nor are weights left without a reader."""
    source = parse("""g (float[4,8] x, float[3] unused) => (float[4,8] y) {
      [mm] y = MatMul (x, w)
      [dead] d = Mul (y, huge)
      [dead2] e = Resize <mode = "nearest"> (x4, , scales)
      [shape] x4 = Reshape (d, four)
    }""", {"w": WEIGHTS["w"], "huge": np.float32(1e6), "scales": np.ones(4, np.float32), "four": np.array([1, 1, 4, 8]),
           "nobody": weights(5)})
    order = list(source.graph.node)
    del source.graph.node[:]
    source.graph.node.extend([order[0], order[1], order[3], order[2]])
    made, report = convert(tmp_path, source)
    assert [n.name for n in made.graph.node] == ["mm"] and not report["casts"]
    assert [t.name for t in made.graph.initializer] == ["w"]
    assert [v.name for v in made.graph.input] == ["x", "unused"]


def test_declared_values_follow(tmp_path):
    source = parse(NORM, WEIGHTS)
    source.graph.value_info.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 8]) for name in "hus")
    source.graph.value_info.append(helper.make_tensor_value_info("m", TensorProto.FLOAT, ["batch", 1]))
    made, _ = convert(tmp_path, source)
    inferred = types(made)
    for value in made.graph.value_info:
        assert value.type.tensor_type.elem_type == inferred[value.name]
        assert value.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert {v.name for v in made.graph.value_info} >= set("hsm")


def test_external_weights(tmp_path):
    """They go to one file beside the result, which does not need the source's."""
    source = parse("g (float[4,64] x) => (float[4,64] y) { [a] h = MatMul (x, w1)  [b] y = MatMul (h, w2) }",
                   {"w1": weights(64, 64, scale=.1), "w2": weights(64, 64, scale=.1, seed=1)})
    expected = run(source, {"x": weights(4, 64, seed=2)})[0]
    onnx.save(source, tmp_path / "m.onnx", save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0)
    convert(tmp_path, None, "--keep-io-types", "--keep", "b")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["m.onnx", "m.onnx.data"]
    for name in ("w1", "w2"):
        (tmp_path / name).unlink()
    made = onnx.load(tmp_path / "out" / "m.onnx")
    assert sorted(t.data_type for t in made.graph.initializer) == [TensorProto.FLOAT, LOW]
    session = onnxruntime.InferenceSession(str(tmp_path / "out" / "m.onnx"), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": weights(4, 64, seed=2)})[0], expected, atol=1e-2)
    # Weights that are gone are said to be, and the old result stays.
    before = (tmp_path / "out" / "m.onnx").read_bytes()
    done = run_mpopt("--convert", tmp_path / "m.onnx", "-o", tmp_path / "out" / "m.onnx")
    assert done.returncode == 2 and "are missing" in done.stderr
    assert (tmp_path / "out" / "m.onnx").read_bytes() == before


def test_the_error_that_is_asked_for(tmp_path):
    """Where it cannot be met the status is 1, and a file is written on request only."""
    source = parse("g (float[4,8] x) => (float[4,8] y) { [a] h = MatMul (x, w)  [b] y = Softmax (h) }", {"w": WEIGHTS["w"]})
    line = convert(tmp_path, source, "--to", "fp16", "--max-error", "1e-6", status=1)
    assert "and 0.000 % is asked for" in line
    done = run_mpopt("--convert", tmp_path / "m.onnx", "-o", tmp_path / "any.onnx", "--to", "fp16", "--max-error", "1e-6", "--write-anyway")
    assert done.returncode == 1 and (tmp_path / "any.onnx").exists()


def break_type(model):
    model.graph.initializer[0].data_type = TensorProto.DOUBLE


def break_cycle(model):
    model.graph.node[0].input[0] = "y"


def break_data(model):
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-5]


def break_attribute(model):
    model.graph.node[0].attribute.append(helper.make_attribute("nobody_knows_this", 3))


def break_ir(model):
    model.ir_version = 2**40


@pytest.mark.parametrize("spoil", [break_type, break_cycle, break_data, break_attribute, break_ir])
def test_broken_models(tmp_path, spoil):
    source = parse(NORM, WEIGHTS)
    spoil(source)
    assert convert(tmp_path, source, status=2).startswith(f"{tmp_path}/m.onnx: ")


def test_files_that_runtimes_take(tmp_path):
    """Stale shapes, nodes in no order, an op of the runtime in ONNX's domain."""
    source = parse("""g (float[4,8] x) => (float[4,8] y) {
      [mm] h = MatMul (x, w)
      [norm] n = SimplifiedLayerNormalization <axis = -1, epsilon = 0.00001> (h, g)
      [out] y = MatMul (n, w)
    }""", {"w": WEIGHTS["w"], "g": np.ones(8, np.float32)})
    source.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [4, 9]))
    nodes = list(source.graph.node)
    del source.graph.node[:]
    source.graph.node.extend(reversed(nodes))
    onnx.save(source, tmp_path / "m.onnx")
    done = run_mpopt("--convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx")
    assert done.returncode == 0, done.stderr
    made = onnx.load(tmp_path / "o.onnx")
    assert [n.name for n in made.graph.node] == ["mm", "norm", "out"]
    load(made)


def test_stale_shapes_are_mended(tmp_path):
    """Of inner values they go, of outputs they are those that inference finds."""
    source = parse("""g (float[4,8] x) => (float[5,8] y) {
      [mm] h = MatMul (x, w)
      [act] y = Relu (h)
    }""", {"w": WEIGHTS["w"]})
    source.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [4, 9]))
    made, _ = convert(tmp_path, source)
    assert [d.dim_value for d in made.graph.output[0].type.tensor_type.shape.dim] == [4, 8]


def test_a_copy_is_sorted(tmp_path):
    source = parse("g (float16[4,8] x) => (float16[4,8] y) { [b] y = Relu (h)  [a] h = Abs (x) }")
    made, report = convert(tmp_path, source)
    assert report["copied"] and [n.name for n in made.graph.node] == ["a", "b"]


def large(folder):
    """A source whose weights take a while to convert."""
    source = parse("g (float[4,2048] x) => (float[4,2048] y) { [a] h = MatMul (x, w1)  [b] y = MatMul (h, w2) }",
                   {"w1": weights(2048, 2048), "w2": weights(2048, 2048, seed=1)})
    onnx.save(source, folder / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    (folder / "out").mkdir()
    return [MPOPT, "--convert", folder / "m.onnx", "-o", folder / "out" / "m.onnx", "--to", "fp16", "--write-anyway"]


def test_a_killed_run_leaves_a_whole_file_or_none(tmp_path):
    command, start = large(tmp_path), time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    lasted = time.monotonic() - start
    for part in (.2, .5, .8, .95):
        for file in (tmp_path / "out").iterdir():
            file.unlink()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(lasted * part)
            process.send_signal(signal.SIGKILL)
        if (tmp_path / "out" / "m.onnx").exists():
            onnx.checker.check_model(str(tmp_path / "out" / "m.onnx"), full_check=True)


def test_a_full_disk(tmp_path):
    """A file may not grow past 1 MB: one line, and nothing is left."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = subprocess.run(large(tmp_path), preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stderr.startswith("mpopt: error: ") and len(done.stderr.splitlines()) == 1
    assert not os.listdir(tmp_path / "out")


def test_the_package(tmp_path):
    source = parse(NORM, WEIGHTS)
    made = mpopt.convert(source, keep=["out"], keep_io_types=True, inputs={"x": (-4, 4)})
    assert made.path is None and made.kept["out"] == "asked for by --keep" and made.expected_error < 0.005
    assert made.obstacle is None and made.raw["schema"] == "mpopt-convert/1"
    np.testing.assert_allclose(run(made.model, {"x": X})[0], run(source, {"x": X})[0], atol=5e-3)
    written = mpopt.convert(source, tmp_path / "o.onnx", keep=["out"], keep_io_types=True, inputs={"x": (-4, 4)})
    assert written.model == made.model
    with pytest.raises(mpopt.Error, match="and 0.000 % is asked for"):
        mpopt.convert(source, to="fp16", max_error=1e-7)
    assert mpopt.convert(source, to="fp16", max_error=1e-7, write_anyway=True).obstacle


STATE = """g (float[4] x, float[4] s) => (float[4] y, float[4] t) {
  d = Constant <value = float {0.9998}> ()
  e = Constant <value = float {0.0002}> ()
  [decay] a = Mul (s, d)
  [gain] b = Mul (x, e)
  [sum] t = Add (a, b)
  [out] y = Tanh (t)
}"""


def test_a_state_between_calls(tmp_path):
    """A decay that FP16 has as 1 is harmless in one call, and all there is after 1,500."""
    options = ["--input", "x=-1:1", "--input", "s=-1:1"]
    _, once = convert(tmp_path, parse(STATE), *options)
    assert not once["kept"]
    made, often = convert(tmp_path, parse(STATE), *options, "--state", "s=t:1500")
    assert {entry["node"] for entry in often["kept"]} >= {"decay", "sum"}
    assert {entry["name"]: entry["to"] for entry in often["io"]} == {"x": "float16", "s": "float", "y": "float16",
                                                                     "t": "float"}
    x, wide, low = np.ones(4, np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32)
    for _ in range(1500):
        wide = run(parse(STATE), {"x": x, "s": wide})[1]
        low = run(made, {"x": x.astype(np.float16), "s": low})[1]
    np.testing.assert_allclose(low, wide, rtol=1e-2)


@pytest.mark.parametrize(("state", "line"), [("q=t", "the model has no input 'q'"), ("s=q", "the model has no output 'q'"),
                                             ("s", "'s' is not IN=OUT[:CALLS]")])
def test_states_that_are_none(tmp_path, state, line):
    assert line in convert(tmp_path, parse(STATE), "--state", state, status=2)


def test_a_policy(tmp_path):
    """Ops that PyTorch's autocast has in FP32 stay there, though their error asks for nothing."""
    source = parse("g (float[4,8] x) => (float[4,8] y) { [soft] s = Softmax (x) [mm] y = MatMul (s, w) }",
                   {"w": WEIGHTS["w"]})
    assert not convert(tmp_path, source)[1]["kept"]
    _, report = convert(tmp_path, source, "--policy", "pytorch-cuda-2.14")
    assert [entry["node"] for entry in report["kept"]] == ["soft"]
    assert "pytorch-cuda-2.14" in report["kept"][0]["why"]


def test_verified_from_python(tmp_path):
    made = mpopt.convert(parse(STATE), verify=3, opset=18, states=["s=t:10"], inputs={"x": (-1, 1), "s": (-1, 1)})
    assert made.model.opset_import[0].version == 18
    assert 0 < made.verified["y"] < 1e-2 and set(made.verified) == {"y", "t"}


def test_an_empty_cache(tmp_path):
    """A constant without elements has no error."""
    source = parse("""g (float[4,8] x) => (float[4,8] y) {
      [grow] all = Concat <axis = 0> (cache, x)
      [mm] y = MatMul (all, w)
    }""", {"cache": np.zeros((0, 8), np.float32), "w": weights(8, 8, scale=.4)})
    made, report = convert(tmp_path, source, "--keep-io-types")
    assert report["expected_error"] < 0.005
    np.testing.assert_allclose(run(made, {"x": X})[0], run(source, {"x": X})[0], atol=5e-3)
