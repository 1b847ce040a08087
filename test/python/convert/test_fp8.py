"""mpopt --convert --to fp8-qdq: pairs in E4M3 with the scales of --scales."""

import json

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper, parser
from tool import run_mpopt

E4M3 = ml_dtypes.float8_e4m3fn
RANDOM = np.random.default_rng(0)
TEXT = """g (float[8,16] x) => (float[8,4] y) {
  [first] h = Gemm <transB = 1> (x, v, b)
  [act] a = Relu (h)
  [second] y = MatMul (a, w)
}"""
WEIGHTS = {"v": RANDOM.standard_normal((32, 16)).astype(np.float32),
           "w": RANDOM.standard_normal((32, 4)).astype(np.float32) * np.float32([1, 1e-3, 1, 30]),
           "b": np.zeros(32, np.float32)}
X = RANDOM.standard_normal((8, 16)).astype(np.float32)


def model(text=TEXT, weights=WEIGHTS, opset=19, **more):
    made = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]>\n{text}')
    for name, array in (weights | more).items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made


def convert(folder, source, *options, status=0):
    onnx.save(source, folder / "m.onnx")
    done = run_mpopt("--convert", folder / "m.onnx", "-o", folder / "o.onnx", "--to", "fp8-qdq", "--report",
                     folder / "r.json", "--keep-io-types", *options)
    assert done.returncode == status, done.stderr
    if status:
        assert not (folder / "o.onnx").exists() and len(done.stderr.splitlines()) == 1
        return done.stderr
    made = onnx.load(folder / "o.onnx")
    onnx.checker.check_model(made, full_check=True)
    onnx.shape_inference.infer_shapes(made, check_type=True, strict_mode=True, data_prop=True)
    return made, json.loads((folder / "r.json").read_text())


def run(made, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # Its fusions take FP8 for integers: they are refused, or leave a Relu out.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(made.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"]).run(None, feed)


def coded(array, scales):
    """The numbers of a pair: saturated codes, times the scales."""
    scaled = np.clip(array / np.float32(scales), -448, 448)
    return scaled.astype(E4M3).astype(np.float32) * np.float32(scales)


def test_the_arithmetic(tmp_path):
    """On the CPU the file computes what NumPy does with its scales."""
    made, report = convert(tmp_path, model(), "--target", "ort-cpu")
    scales = {entry["tensor"]: np.float32(entry["scales"]) for entry in report["scaled"]}
    assert set(scales) == {"x", "v", "a", "w"} and len(scales["w"]) == 4 and len(scales["x"]) == 1
    hidden = np.maximum(coded(X, scales["x"]) @ coded(WEIGHTS["v"], scales["v"].reshape(-1, 1)).T, 0)
    wanted = coded(hidden, scales["a"]) @ coded(WEIGHTS["w"], scales["w"])
    # A sum in another order may move a number over the edge between two codes.
    np.testing.assert_allclose(run(made, {"x": X})[0], wanted, atol=np.abs(wanted).max() * 1e-2)
    exact = np.maximum(X @ WEIGHTS["v"].T, 0) @ WEIGHTS["w"]
    assert 1e-3 < np.abs(wanted - exact).max() / np.abs(exact).max() < 0.1


def test_the_same_scales_as_listed(tmp_path):
    _, report = convert(tmp_path, model())
    listed = tmp_path / "s.json"
    run_mpopt("--check", tmp_path / "m.onnx", "--precision", "fp8-e4m3", "--scales", listed, "--fail-on", "never")
    wanted = json.loads(listed.read_text())["tensors"]
    had = {entry["tensor"]: entry["scales"] for entry in report["scaled"]}
    assert wanted
    for name, entry in wanted.items():
        np.testing.assert_allclose(had[name], np.ravel(entry["scale"]), rtol=1e-6)


def test_the_file(tmp_path):
    """Weights are codes and nothing of FP32 is left of them; all else is BF16; again it is a copy."""
    made, report = convert(tmp_path, model())
    types = {tensor.name: tensor.data_type for tensor in made.graph.initializer}
    assert types["v_fp8"] == types["w_fp8"] == TensorProto.FLOAT8E4M3FN and not {"v", "w"} & set(types)
    assert types["b"] == TensorProto.BFLOAT16
    assert report["bytes"][1] < 0.35 * report["bytes"][0]
    assert not [entry for entry in report["kept"] if "Quantize" in entry["type"]]
    done = run_mpopt("--convert", tmp_path / "o.onnx", "-o", tmp_path / "p.onnx", "--to", "fp8-qdq", "--keep-io-types")
    assert done.returncode == 0 and (tmp_path / "o.onnx").read_bytes() == (tmp_path / "p.onnx").read_bytes()


def test_verified(tmp_path):
    np.savez(tmp_path / "f.npz", x=X[None])
    _, report = convert(tmp_path, model(), "--verify", tmp_path / "f.npz")
    assert 1e-3 < report["verified"]["outputs"][0]["error"] < 0.1


def test_weights_with_other_readers_and_convolutions(tmp_path):
    text = """g (float[1,3,8,8] x) => (float[1,4,8,8] y, float[4,3,3,3] z) {
      [conv] h = Conv <pads = [1, 1, 1, 1]> (x, k)
      [other] z = Mul (k, two)
      [back] y = ConvTranspose <pads = [1, 1, 1, 1]> (h, t)
    }"""
    weights = {"k": RANDOM.standard_normal((4, 3, 3, 3)).astype(np.float32), "two": np.float32(2),
               "t": RANDOM.standard_normal((4, 4, 3, 3)).astype(np.float32)}
    source = model(text, weights)
    made, _ = convert(tmp_path, source, "--target", "ort-cpu")
    names = {tensor.name for tensor in made.graph.initializer}
    assert {"k", "k_fp8", "t_fp8"} <= names and "t" not in names
    feed = {"x": RANDOM.standard_normal((1, 3, 8, 8)).astype(np.float32)}
    wanted, had = run(source, feed), run(made, feed)
    np.testing.assert_array_equal(wanted[1], had[1])
    assert 1e-3 < np.abs(wanted[0] - had[0]).max() / np.abs(wanted[0]).max() < 0.15


@pytest.mark.parametrize(("source", "line"), [
    (model(opset=17), "FP8 came with 19: --opset raises it"),
    (model("g (float[4] x) => (float[4] y) { y = Tanh (x) }", {}), "no product"),
])
def test_refused(tmp_path, source, line):
    assert line in convert(tmp_path, source, status=2)
