"""mpopt --instrument and --strip on ONNX files: outputs stay bit-identical, the
original comes back byte for byte, and `--probe-with outputs` tells the truth."""

import hashlib
import json
import pathlib

import numpy
import onnx
import onnxruntime
import pytest
import small_models
from onnx import TensorProto, helper, numpy_helper, parser
from tool import SHARED, ZOOS, run_mpopt


import mpopt

MODELS = SHARED / "onnx"
LEVELS = onnxruntime.GraphOptimizationLevel
KINDS = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16,
         "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64,
         "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


def instrument(model, folder, *options):
    """The probed file and its ledger; the original comes back from it."""
    probed = folder / "probed.onnx"
    done = run_mpopt("--instrument", model, "-o", probed, *options)
    assert done.returncode == 0, done.stderr
    assert f"ledger {probed}.probes.json" in done.stdout
    restored = folder / "restored.onnx"
    done = run_mpopt("--strip", probed, "-o", restored)
    assert done.returncode == 0, done.stderr
    assert restored.read_bytes() == model.read_bytes()
    ledger = json.loads((folder / "probed.onnx.probes.json").read_text())
    assert ledger["model_sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    return probed, ledger


def open_session(file, level=LEVELS.ORT_DISABLE_ALL, save=None):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    if save:
        options.optimized_model_filepath = str(save)
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def draw(session, sizes=None, seed=0):
    random = numpy.random.default_rng(seed)
    feed = {}
    for value in session.get_inputs():
        shape = [size if isinstance(size, int) else (sizes or {}).get(size, 2)
                 for size in value.shape]
        dtype = KINDS[value.type]
        feed[value.name] = (random.standard_normal(shape).astype(dtype)
                            if numpy.dtype(dtype).kind == "f"
                            else random.integers(0, 2, shape).astype(dtype))
    return feed


def run_both(original, probed, feed=None, level=LEVELS.ORT_DISABLE_ALL):
    """Without probes, with ones that do nothing, and with ones that record."""
    session = open_session(original, level)
    feed = feed or draw(session)
    names = [value.name for value in session.get_outputs()]
    expected = session.run(names, feed)
    idle = open_session(probed, level)
    assert [value.name for value in idle.get_inputs()] == [
        value.name for value in session.get_inputs()]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    recording = mpopt.probe_session(probed, record=f"{probed}.mprec", sess_options=options)
    results = [expected, idle.run(names, feed), recording.run(names, feed)]
    recording.recorder.close()
    return results


def assert_identical(results):
    expected, *others = results
    for result in others:
        for one, other in zip(expected, result, strict=True):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", sorted(small_models.models()))
@pytest.mark.parametrize("probes", ["findings", "all"])
def test_small_models(name, probes, tmp_path):
    file = tmp_path / "model.onnx"
    onnx.save(small_models.models()[name], file)
    probed, _ = instrument(file, tmp_path, "--probe", probes)
    onnx.load(probed, load_external_data=False)


# A zoo made by ../shared/zoo/make_zoo.py may be named, too.
RUNNABLE = sorted(MODELS.glob("*.onnx"))
RUNNABLE += sorted(file for zoo in ZOOS for file in zoo.glob("*/model.onnx"))


def name_of(path):
    return path.parent.name if path.stem == "model" else path.stem


@pytest.mark.skipif(not RUNNABLE, reason="no ../shared")
@pytest.mark.parametrize("original", RUNNABLE, ids=name_of)
def test_outputs_are_bit_identical(original, tmp_path):
    """With ONNX Runtime's optimisations off, and on the graph that it saves after
    them, whatever has a probe.

    ONNX Runtime has no FP16 kernels for most ops on a CPU: it casts around each op
    and cancels the casts between neighbours, even with optimisations off. A probe
    that reads the FP16 value between them needs the rounding, so an FP16 model is
    compared on its saved graph only, in which the casts are explicit."""
    try:
        session = open_session(original)
        feed = draw(session)
        session.run(None, feed)
    except Exception as error:  # noqa: BLE001: whatever the runtime throws
        pytest.skip(f"ONNX Runtime does not run it: {str(error)[:80]}")
    probed, ledger = instrument(original, tmp_path, "--probe", "all")
    assert len(ledger["probes"]) > 1
    halves = any(probe.get("file_dtype") == "f16" for probe in ledger["probes"])
    if not halves:
        assert_identical(run_both(original, probed, feed))
    for level in (LEVELS.ORT_DISABLE_ALL, LEVELS.ORT_ENABLE_EXTENDED):
        saved = tmp_path / f"saved{int(level)}.onnx"
        open_session(original, level, saved)
        if {value.name for value in open_session(saved).get_inputs()} != set(feed):
            # Of a file of IR 3 the runtime saves folded shapes as inputs.
            assert onnx.load(original).ir_version == 3 and not halves
            continue
        folder = tmp_path / f"level{int(level)}"
        folder.mkdir()
        probed, _ = instrument(saved, folder, "--probe", "all")
        assert_identical(run_both(saved, probed, feed))


BODIES = """
<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[4] x, int64 n, float[3, 4] rows) => (float[4] y, float[4] z, float[3, 4] s) {
  y = If (c) <
    then_branch = g1 () => (float[4] t) { te = Exp (x) t = Relu (te) },
    else_branch = g2 () => (float[4] e) {
      ee = Sqrt (x)
      e = If (c) <then_branch = g3 () => (float[4] dt) { dt = Exp (ee) },
                  else_branch = g4 () => (float[4] de) { de = Neg (ee) }>
    }>
  z = Loop (n, "", x) <
    body = b (int64 i, bool ci, float[4] v) => (bool co, float[4] w) {
      q = Mul (v, v)
      w = Add (q, x)
      co = Identity (ci)
    }>
  last, s = Scan <num_scan_inputs = 1,
    body = sb (float[4] state, float[4] row) => (float[4] next, float[4] out) {
      next = Add (state, row)
      out = Exp (next)
    }> (x, rows)
}"""


def test_probes_in_bodies(tmp_path):
    """Every tensor of bodies, nested ones too, although no byte may be appended
    there; what is inserted makes lengths around it longer."""
    file = tmp_path / "model.onnx"
    onnx.save(parser.parse_model(BODIES), file)
    probed, ledger = instrument(file, tmp_path, "--probe", "all")
    names = {probe["tensor"] for probe in ledger["probes"]}
    assert {"If_0/then_branch/te", "If_0/else_branch/ee", "If_0/else_branch/If_1/then_branch/dt",
            "Loop_1/body/q", "Scan_2/body/next", "Scan_2/body/out"} <= names
    onnx.checker.check_model(onnx.load(probed))
    for c in (True, False):
        feed = {"c": numpy.array(c), "x": numpy.float32([1, 2, 3, 4]) / 4, "n": numpy.array(3),
                "rows": numpy.ones((3, 4), numpy.float32)}
        assert_identical(run_both(file, probed, feed))
    # As many nodes as probes, each on the value that the ledger names.
    found = {}

    def collect(graph, path):
        for index, node in enumerate(graph.node):
            if node.domain == "mpopt":
                found[helper.get_node_attr_value(node, "id")] = path + node.input[0]
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    collect(attribute.g, f"{path}{node.op_type}_{index}/{attribute.name}/")

    collect(onnx.load(probed).graph, "")
    assert found == {probe["id"]: probe["tensor"] for probe in ledger["probes"]}


def test_long_bodies(tmp_path):
    """Lengths that need more bytes than before, at each level."""
    nodes = [helper.make_node("Exp", ["x"], ["v0"])]
    nodes += [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(300)]
    inner = helper.make_graph(nodes, "inner", [],
                              [helper.make_tensor_value_info("v300", TensorProto.FLOAT, [2])])
    for depth in range(5):
        name = f"o{depth}"
        inner = helper.make_graph(
            [helper.make_node("If", ["c"], [name], then_branch=inner, else_branch=inner)], name,
            [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])])
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], "g",
        [helper.make_tensor_value_info("c", TensorProto.BOOL, []),
         helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file = tmp_path / "model.onnx"
    onnx.save(model, file)
    probed, ledger = instrument(file, tmp_path, "--probe", "all")
    assert len(ledger["probes"]) == 2 + 64 * 301 + 63  # inputs, leaves, results of If
    assert_identical(run_both(file, probed, {"c": numpy.array(True),
                                             "x": numpy.float32([1, 2])}))


def test_old_initializers_stay_constant(tmp_path):
    """IR 3 lists initializers as inputs; from IR 4 on that would make them
    overridable. Gone after --instrument, back after --strip."""
    weight = numpy_helper.from_array(numpy.full((4,), 3, numpy.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]),
         helper.make_tensor_value_info("w", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])], [weight])
    file = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)],
                                ir_version=3), file)
    probed, _ = instrument(file, tmp_path, "--probe", "all")
    model = onnx.load(probed)
    assert [value.name for value in model.graph.input] == ["x"]
    assert model.ir_version == 8
    assert_identical(run_both(file, probed))


def test_original_bytes_are_untouched(tmp_path):
    """From IR 4 on, and without probes in bodies, the file only grows."""
    file = tmp_path / "model.onnx"
    onnx.save(small_models.models()["mlp"], file)
    probed, _ = instrument(file, tmp_path)
    assert probed.read_bytes().startswith(file.read_bytes())


# -- --probe-with outputs -------------------------------------------------------------------

EDGES = {"f16": (65520, False, 2.0**-25), "bf16": (511 * 2.0**119, False, 2.0**-134),
         "e4m3": (464, True, 2.0**-10), "e5m2": (61440, False, 2.0**-17)}


def expected_counts(x):
    x = x.astype(numpy.float64)
    finite = x[numpy.isfinite(x)]
    size = numpy.abs(finite)
    counts = [x.size, numpy.isnan(x).sum(), (x == numpy.inf).sum(), (x == -numpy.inf).sum(),
              (finite == 0).sum()]
    for edge, strict, flush in EDGES.values():
        counts += [((size > edge) if strict else (size >= edge)).sum(),
                   ((size > 0) & (size <= flush)).sum()]
    nonzero = size[size > 0]
    return counts, [finite.min(initial=numpy.inf), finite.max(initial=-numpy.inf),
                    size.max(initial=0), nonzero.min(initial=numpy.inf)]


CASES = [
    [0.0, -0.0, 1.0, -2.5], [numpy.nan, numpy.inf, -numpy.inf, 65519.0],
    [65520.0, -65520.0, 2.0**-25, 2.0**-24], [464.0, 465.0, 2.0**-10, 2.0**-17],
    [61439.0, 61440.0, 3.3e38, 511 * 2.0**119], [2.0**-134, 2.0**-133, 1e-44, -1e-45],
    [numpy.nan] * 4, [], [numpy.inf] * 3]


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16])
@pytest.mark.parametrize("opset", [10, 13, 18, 21])
def test_statistics_as_outputs(dtype, opset, tmp_path):
    graph = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["y"])], "g",
        [helper.make_tensor_value_info("x", dtype, ["n"])],
        [helper.make_tensor_value_info("y", dtype, ["n"])])
    file = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                ir_version=8), file)
    probed, ledger = instrument(file, tmp_path, "--probe", "all", "--probe-with", "outputs")
    onnx.checker.check_model(onnx.load(probed), full_check=True)
    session = open_session(probed)
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    for case in CASES:
        with numpy.errstate(over="ignore"):
            x = numpy.array(case).astype(kind)
        names = [value.name for value in session.get_outputs()]
        seen = dict(zip(names, session.run(None, {"x": x}), strict=True))
        assert seen["y"].tobytes() == (-x).tobytes()
        for probe in ledger["probes"]:
            value = x if probe["tensor"] == "x" else -x
            counts, extremes = expected_counts(value)
            found = f"mpopt.probe.{probe['id']}"
            assert seen[found + ".counts"].tolist() == counts
            assert seen[found + ".values"].tolist() == extremes


# -- refusals ---------------------------------------------------------------------------------

def refused(*arguments):
    done = run_mpopt(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if "warning" not in line]
    assert len(lines) == 1 and lines[0].startswith("mpopt: error: ")
    return lines[0]


def test_refusals(tmp_path):
    file, probed, out = tmp_path / "m.onnx", tmp_path / "p.onnx", tmp_path / "out.onnx"
    onnx.save(small_models.models()["mlp"], file)
    assert "needs -o" in refused("--instrument", file)
    assert "needs -o" in refused("--strip", file)
    assert "has no probes" in refused("--strip", file, "-o", out)
    assert "no tensor or op matches" in refused("--instrument", file, "-o", out, "--probe", "zzz")
    assert "regular expression" in refused("--instrument", file, "-o", out, "--probe", "(")
    assert "op or outputs" in refused("--instrument", file, "-o", out, "--probe-with", "x")
    assert "not standard input" in refused("--instrument", "-", "-o", out)
    assert "cannot write" in refused("--instrument", file, "-o", tmp_path / "no" / "out.onnx")
    text = tmp_path / "m.onnxtxt"
    text.write_text(small_models.texts()["mlp"])
    assert "ONNX as text" in refused("--instrument", text, "-o", out)
    assert run_mpopt("--instrument", file, "-o", probed).returncode == 0
    assert "has probes already" in refused("--instrument", probed, "-o", out)
    assert not out.exists() and not pathlib.Path(f"{out}.probes.json").exists()


def test_changed_files_are_not_stripped(tmp_path):
    file, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(small_models.models()["mlp"], file)
    probed, _ = instrument(file, tmp_path)
    good = probed.read_bytes()
    for position in range(0, len(good), 7):
        spoiled = tmp_path / "spoiled.onnx"
        spoiled.write_bytes(good[:position] + bytes([good[position] ^ 0x55]) + good[position + 1:])
        done = run_mpopt("--strip", spoiled, "-o", out)
        assert done.returncode in (0, 2)
        if done.returncode == 0:  # a byte of the tail that does not matter
            assert out.read_bytes() == file.read_bytes()
            out.unlink()
        assert not out.exists()
    for length in range(0, len(good), 11):
        spoiled.write_bytes(good[:length])
        assert run_mpopt("--strip", spoiled, "-o", out).returncode == 2


def test_external_weights_stay_where_they_are(tmp_path):
    weight = numpy_helper.from_array(numpy.ones((64, 64), numpy.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file = tmp_path / "model.onnx"
    onnx.save(model, file, save_as_external_data=True, location="model.data", size_threshold=0)
    probed, _ = instrument(file, tmp_path, "--probe", "all")
    assert_identical(run_both(file, probed))
    other = tmp_path / "other"
    other.mkdir()
    assert "same folder" in refused("--instrument", file, "-o", other / "out.onnx")


def test_carried_value_of_a_loop(tmp_path):
    """It belongs to the body, also where a cast of the precision stands in front."""
    def info(name, kind=TensorProto.FLOAT, dims=(2, 2)):
        return helper.make_tensor_value_info(name, kind, dims)
    body = helper.make_graph(
        [helper.make_node("MatMul", ["carried", "carried"], ["next"]),
         helper.make_node("Identity", ["go"], ["still"])], "body",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("carried")],
        [info("still", TensorProto.BOOL, []), info("next")])
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)
    graph = helper.make_graph([loop], "g", [info("n", TensorProto.INT64, []), info("x")],
                              [info("y")])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, ir_version=9,
                                opset_imports=[helper.make_opsetid("", 17)]), path)
    _, ledger = instrument(path, tmp_path, "--probe", "all", "--precision", "autocast-fp16")
    assert not ledger.get("unprobed")
    assert "loop/body/next" in {probe["tensor"] for probe in ledger["probes"]}
    ranges = tmp_path / "ranges"
    done = run_mpopt("--check", path, "--precision", "autocast-fp16", "--dump-ranges", ranges)
    assert done.returncode in (0, 1)
    assert "loop/body/carried" in json.loads(ranges.read_text())["tensors"]
