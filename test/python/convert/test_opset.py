"""mpopt --convert --opset: models of later opsets that compute what they did."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from tool import run_mpopt

LATEST = 24
RANDOM = np.random.default_rng(0)


def run(model, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feed)


def raised(folder, model, opset, status=0):
    """The model in FP32 at the opset; of a refusal the line."""
    onnx.save(model, folder / "m.onnx")
    done = run_mpopt("--convert", folder / "m.onnx", "-o", folder / "o.onnx", "--to", "fp32", "--opset", str(opset))
    assert done.returncode == status, done.stderr
    if status:
        assert len(done.stderr.splitlines()) == 1 and not (folder / "o.onnx").exists()
        return done.stderr
    made = onnx.load(folder / "o.onnx")
    onnx.checker.check_model(made, full_check=True)
    assert made.opset_import[0].version == opset
    return made


def node(op, inputs, outputs=("y",), **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def ints(*numbers):
    return np.array(numbers, np.int64)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


X = floats(2, 3, 4, 6)
#: Opset, node, further operands as constants.
CASES = {
    "clip": (9, node("Clip", ["x"], min=-0.5, max=0.25), {}),
    "clip, one side": (9, node("Clip", ["x"], max=0.25), {}),
    "pad": (9, node("Pad", ["x"], pads=[0, 0, 1, 2, 0, 0, 0, 1], value=2.0), {}),
    "slice": (9, node("Slice", ["x"], starts=[1, -3], ends=[4, 99], axes=[2, 3]), {}),
    "slice without axes": (9, node("Slice", ["x"], starts=[0, 1], ends=[1, 3]), {}),
    "top": (9, node("TopK", ["x"], ("y", "i"), k=2, axis=-1), {}),
    "upsample by attribute": (7, node("Upsample", ["x"], scales=[1.0, 1.0, 2.0, 1.5]), {}),
    "upsample, linear": (9, node("Upsample", ["x", "s"], mode="linear"), {"s": np.float32([1, 1, 2, 3])}),
    "resize up": (10, node("Resize", ["x", "s"]), {"s": np.float32([1, 1, 1.7, 2.3])}),
    "resize down": (10, node("Resize", ["x", "s"]), {"s": np.float32([1, 1, .6, .4])}),
    "resize, linear": (10, node("Resize", ["x", "s"], mode="linear"), {"s": np.float32([1, 1, .6, 1.4])}),
    "batch norm": (8, node("BatchNormalization", ["x", "a", "b", "m", "v"], epsilon=.1),
                   {"a": floats(3), "b": floats(3), "m": floats(3), "v": np.float32([1, 2, 3])}),
    "dropout": (9, node("Dropout", ["x"], ratio=0.3), {}),
    "softmax over rows": (11, node("Softmax", ["x"], axis=2), {}),
    "softmax of the last axis": (11, node("Softmax", ["x"], axis=3), {}),
    "softmax, default": (11, node("LogSoftmax", ["x"]), {}),
    "hardmax": (11, node("Hardmax", ["x"], axis=-2), {}),
    "unsqueeze": (11, node("Unsqueeze", ["x"], axes=[0, 2]), {}),
    "split": (11, node("Split", ["x"], ("y", "z"), axis=3, split=[2, 4]), {}),
    "split evenly": (11, node("Split", ["x"], ("y", "z"), axis=3), {}),
    "sum": (11, node("ReduceSum", ["x"], axes=[1, -1], keepdims=0), {}),
    "mean": (13, node("ReduceMean", ["x"], axes=[2]), {}),
    "largest of all": (13, node("ReduceMax", ["x"], keepdims=0), {}),
    "l2": (13, node("ReduceL2", ["x"], axes=[0, 1]), {}),
    "regions": (10, node("RoiAlign", ["x", "r", "i"], output_height=2, output_width=2, spatial_scale=1.0),
                {"r": np.float32([[0, 0, 3, 3]]), "i": ints(1)}),
    "grid": (16, node("GridSample", ["x", "g"], mode="bicubic"), {"g": np.tanh(floats(2, 3, 3, 2))}),
    "grid, default": (16, node("GridSample", ["x", "g"]), {"g": np.tanh(floats(2, 3, 3, 2))}),
    "scatter": (9, node("Scatter", ["x", "i", "u"], axis=3),
                {"i": np.zeros((2, 3, 4, 1), np.int64) + 2, "u": floats(2, 3, 4, 1)}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("opset", [13, 18, LATEST])
def test_the_same_numbers(tmp_path, case, opset):
    at, made, operands = CASES[case]
    if at > opset:
        pytest.skip("it is later")
    if case == "regions" and opset > 21:
        pytest.skip("ONNX Runtime has no RoiAlign of opset 22")
    graph = helper.make_graph([made], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
                              [helper.make_empty_tensor_value_info(name) for name in made.output],
                              [numpy_helper.from_array(array, name) for name, array in operands.items()])
    for output in graph.output:
        output.type.tensor_type.elem_type = TensorProto.INT64 if output.name == "i" else TensorProto.FLOAT
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", at)], ir_version=8)
    del source.graph.output[1:]
    wanted = run(source, {"x": X})
    source.graph.output[0].CopyFrom(helper.make_tensor_value_info(
        source.graph.output[0].name, source.graph.output[0].type.tensor_type.elem_type, wanted[0].shape))
    result = raised(tmp_path, source, opset)
    np.testing.assert_array_equal(wanted[0], run(result, {"x": X})[0])


def test_functions_and_bodies(tmp_path):
    """Names that repeat in branches, of other ranks, are not mixed up."""
    source = parser.parse_model("""<ir_version: 8, opset_import: ["" : 12, "own" : 1]>
      g (float[2,3,4] x, bool c) => (float[2,3,4] y) {
        [gate] t = If (c) <
          then_branch = yes () => (float[2,3,4] p) { h = Identity (x) p = Softmax <axis = 1> (h) },
          else_branch = no () => (float[2,3,4] q) {
            s = Constant <value = int64[2] {6, 4}> () h = Reshape (x, s) k = Softmax <axis = 1> (h)
            z = Constant <value = int64[3] {2, 3, 4}> () q = Reshape (k, z) }>
        y = own.Scaled (t)
      }
      <domain: "own", opset_import: ["" : 12]>
      Scaled (a) => (b) { m = ReduceSum <axes = [0]> (a) b = Div (a, m) }""")
    result = raised(tmp_path, source, 20)
    for c in (True, False):
        feed = {"x": floats(2, 3, 4), "c": np.array(c)}
        np.testing.assert_array_equal(run(source, feed)[0], run(result, feed)[0])


def test_in_the_type_of_the_model(tmp_path):
    """A limit of Clip has the type of what it clips."""
    source = parser.parse_model("""<ir_version: 8, opset_import: ["" : 10]>
      g (double[4] x) => (double[4] y) { h = Cast <to = 1> (x) k = Clip <max = 0.5> (h) y = Cast <to = 11> (k) }""")
    wide = parser.parse_model("""<ir_version: 8, opset_import: ["" : 10]>
      g (float16[4] x) => (float16[4] y) { y = Clip <min = 0.1, max = 0.5> (x) }""")
    raised(tmp_path, source, 13)
    onnx.save(wide, tmp_path / "m.onnx")
    done = run_mpopt("--convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--opset", "17")
    assert done.returncode == 0, done.stderr
    made = onnx.load(tmp_path / "o.onnx")
    onnx.checker.check_model(made, full_check=True)
    assert made.opset_import[0].version == 17
    x = np.float16([-1, 0.2, 0.7, 3])
    np.testing.assert_array_equal(run(made, {"x": x})[0], np.clip(x, np.float16(.1), np.float16(.5)))


def test_bf16_at_an_early_opset(tmp_path):
    """BF16 needs opset 13."""
    source = parser.parse_model("""<ir_version: 6, opset_import: ["" : 11]>
      g (float[4,8] x) => (float[4,8] y) { y = Softmax <axis = 1> (x) }""")
    onnx.save(source, tmp_path / "m.onnx")
    words = ["--convert", tmp_path / "m.onnx", "-o", tmp_path / "o.onnx", "--to", "mixed-bf16"]
    assert "--opset raises it" in run_mpopt(*words).stderr
    done = run_mpopt(*words, "--opset", "13")
    assert done.returncode == 0, done.stderr
    made = onnx.load(tmp_path / "o.onnx")
    onnx.checker.check_model(made, full_check=True)
    assert made.graph.output[0].type.tensor_type.elem_type == TensorProto.BFLOAT16
    again = run_mpopt("--convert", tmp_path / "o.onnx", "-o", tmp_path / "p.onnx", "--to", "mixed-bf16", "--opset", "13")
    assert again.returncode == 0 and (tmp_path / "o.onnx").read_bytes() == (tmp_path / "p.onnx").read_bytes()


@pytest.mark.parametrize(("at", "made", "opset", "line"), [
    (13, node("Relu", ["x"]), 12, "of opset 13, which is only raised"),
    (6, node("Relu", ["x"]), 13, "of opset 6, and there are rules from 7 on"),
    (13, node("Relu", ["x"]), LATEST + 1, f"there are rules up to {LATEST}"),
    (10, node("Resize", ["x", "s"]), 13, "on both sides of 1"),
    (11, node("Resize", ["x", "r", "s"], coordinate_transformation_mode="tf_half_pixel_for_nn"), 13, "no later form"),
])
def test_refused(tmp_path, at, made, opset, line):
    graph = helper.make_graph([made], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)],
                              [numpy_helper.from_array(np.float32([1, 1, .5, 2]), "s"),
                               numpy_helper.from_array(np.float32([]), "r")])
    source = helper.make_model(graph, opset_imports=[helper.make_opsetid("", at)], ir_version=8)
    assert line in raised(tmp_path, source, opset, status=2)
