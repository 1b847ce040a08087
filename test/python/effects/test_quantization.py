"""The error that quantisation is expected to bring into an output against ONNX Runtime's run of the
float network and of the file that its quantisers made, calibrated rightly and on inputs ten times too small."""

from __future__ import annotations

import json
import re

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from quantized_networks import FACTOR, WIDTH, judge, make_network, measure, quantize
from tool import run_mpopt

FORMS = {
    "qdq": {},
    "qoperator": {"quant_format": QuantFormat.QOperator},
    "signed": {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8},
    "channels": {"per_channel": True},
    "wide": {"activation_type": QuantType.QUInt16},
    # Weights in floats, which the file quantises itself.
    "pairs": {"extra_options": {"AddQDQPairToWeight": True}},
}


class Images(CalibrationDataReader):
    def __init__(self, images):
        self.rest = iter([{"x": image} for image in images])

    def get_next(self):
        return next(self.rest, None)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "net.onnx"
    make_network(path)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_form(form, network, tmp_path):
    path = tmp_path / "codes.onnx"
    quantize(network, path, **{"weight_type": QuantType.QInt8, **FORMS[form]})
    report, measured = judge(path), measure(network, path)
    [effect] = report["effects"]
    assert report["precision"] == "as-is"
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    assert not effect["by"]["saturation"] and effect["by"]["weights"] and effect["by"]["activations"]
    assert not [finding for finding in report["findings"] if finding["rule"] in ("MP602", "MP603", "MP609")]


def test_dynamic(network, tmp_path):
    path = tmp_path / "codes.onnx"
    quantize_dynamic(network, path, weight_type=QuantType.QInt8)
    [effect], measured = judge(path)["effects"], measure(network, path)
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    assert effect["by"]["weights"] and effect["by"]["activations"]


@pytest.mark.parametrize("size", (32, WIDTH))
@pytest.mark.parametrize("axis", (0, 1))
def test_blocks_of_4_bits(axis, size, network, tmp_path):
    """Weights in blocks along either axis, the scale of each that which makes its largest number, whatever its sign,
    the least code."""
    model, path = onnx.load(network), tmp_path / "codes.onnx"
    weights = [tensor for tensor in model.graph.initializer if tensor.name.startswith("w")]
    for tensor in weights:
        blocks = np.moveaxis(numpy_helper.to_array(tensor), axis, 0).reshape(-1, size, WIDTH)
        scale = np.take_along_axis(blocks, np.abs(blocks).argmax(1, keepdims=True), 1) / -8
        numbers = np.moveaxis(np.rint(blocks / scale).clip(-8, 7).reshape(WIDTH, WIDTH), 0, axis)
        model.graph.initializer.remove(tensor)
        for name, array in (("codes", numbers.astype(ml_dtypes.int4)), ("scale", np.moveaxis(scale[:, 0], 0, axis))):
            model.graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(array), f"{tensor.name}.{name}"))
        model.graph.node.insert(0, helper.make_node("DequantizeLinear", [f"{tensor.name}.codes", f"{tensor.name}.scale"],
                                                    [tensor.name], axis=axis, block_size=size))
    model.opset_import[0].version, model.ir_version = 21, 10
    onnx.save(model, path)
    report, measured = judge(path), measure(network, path)
    [effect] = report["effects"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    assert "MP601" not in [finding["rule"] for finding in report["findings"]]


def test_dynamic_lstm(tmp_path):
    """Weights of ONNX Runtime's quantised LSTM, which codes hold in another layout, and its input."""
    float_file, path, random = tmp_path / "lstm.onnx", tmp_path / "codes.onnx", np.random.default_rng(5)
    weights = [numpy_helper.from_array(random.normal(0, 0.2, (1, 4 * WIDTH, WIDTH)).astype("f4"), name) for name in "wr"]
    weights += [numpy_helper.from_array(np.array(shape), name) for name, shape in (("steps", [4, -1, WIDTH]), ("rows", [-1, WIDTH]))]
    nodes = [helper.make_node("Reshape", ["x", "steps"], ["s"]),
             helper.make_node("LSTM", ["s", "w", "r"], ["h"], "lstm", hidden_size=WIDTH),
             helper.make_node("Reshape", ["h", "rows"], ["y"])]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", WIDTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", WIDTH])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), float_file)
    quantize_dynamic(float_file, path, weight_type=QuantType.QInt8)
    assert "DynamicQuantizeLSTM" in {node.op_type for node in onnx.load(path).graph.node}
    [effect], measured = judge(path)["effects"], measure(float_file, path)
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    assert effect["by"]["weights"] and effect["by"]["activations"]


def test_calibrated_on_small_inputs(network, tmp_path):
    path = tmp_path / "codes.onnx"
    quantize(network, path, factor=0.1, weight_type=QuantType.QInt8)
    report, measured = judge(path), measure(network, path)
    [effect] = report["effects"]
    assert measured > 0.5 and effect["expected_error"] > 0.25
    assert effect["by"]["saturation"] > effect["by"]["weights"]
    [first] = [finding for finding in report["findings"] if finding["severity"] == "error"][:1]
    assert (first["rule"], first["tensor"]) == ("MP602", "x")


def test_outlier_channel(tmp_path):
    network, path = tmp_path / "net.onnx", tmp_path / "codes.onnx"
    make_network(network, outlier=400)
    quantize(network, path, weight_type=QuantType.QInt8)
    [found] = [finding for finding in judge(path)["findings"] if finding["rule"] == "MP604"]
    assert "63 of 64 channels" in found["message"]
    quantize(network, path, weight_type=QuantType.QInt8, per_channel=True)
    assert not [finding for finding in judge(path)["findings"] if finding["rule"] == "MP604"]


def test_channels_of_one_weight(tmp_path):
    """The channel whose step is 400 times as wide is the one whose gradient is so much smaller."""
    network, path = tmp_path / "net.onnx", tmp_path / "codes.onnx"
    make_network(network, outlier=400, divided=True)
    model = onnx.load(network)
    [weight] = [tensor for tensor in model.graph.initializer if tensor.name == "w0"]
    numbers = numpy_helper.to_array(weight)
    scale = (np.abs(numbers).max(0) / 127).astype("f4")
    codes = np.rint(numbers / scale).astype("i1")
    weight.CopyFrom(numpy_helper.from_array(codes, "codes"))
    model.graph.initializer.append(numpy_helper.from_array(scale, "scale"))
    model.graph.node.insert(0, helper.make_node("DequantizeLinear", ["codes", "scale"], ["w0"], "read", axis=1))
    onnx.save(model, path)
    [effect], measured = judge(path)["effects"], measure(network, path)
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR


def test_pairs_against_emulation(tmp_path):
    """u8 by s8 as a processor without VNNI adds them: vpmaddubsw, exactly, in NumPy."""
    random = np.random.default_rng(5)
    signs = np.sign(random.normal(size=(1, WIDTH)))
    numbers = random.normal(0, 0.05, (WIDTH, WIDTH)) + 0.15 * signs
    codes = np.clip(np.rint(numbers / (np.abs(numbers).max() / 127)), -127, 127)
    constants = {"one": np.float32(1 / 32), "zero": np.uint8(128), "w": codes.astype("i1"), "scale": np.float32(0.01)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "one", "zero"], ["q"], "write"),
             helper.make_node("DequantizeLinear", ["q", "one", "zero"], ["a"], "read"),
             helper.make_node("DequantizeLinear", ["w", "scale"], ["b"], "weights"),
             helper.make_node("MatMul", ["a", "b"], ["y"], "product")]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", WIDTH])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", WIDTH])],
                              [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
    path = tmp_path / "pairs.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    x = np.random.default_rng(3).normal(0, 1, (256, WIDTH))
    rows = np.clip(np.rint(x * 32) + 128, 0, 255)
    products = rows[:, :, None] * codes[None]
    pairs = products[:, 0::2] + products[:, 1::2]
    kept = np.clip(pairs, -32768, 32767)
    share = (pairs != kept).mean()
    exact = (pairs.sum(1) - 128 * codes.sum(0)) * 0.01 / 32
    error = np.abs((kept - pairs).sum(1)).max() * 0.01 / 32 / np.abs(exact).max()
    report = judge(path, "--target", "ort-cpu-avx2", "--dim", "N=256")
    [found] = [finding for finding in report["findings"] if finding["rule"] == "MP607"]
    said = float(found["message"].split(" are expected")[0].split()[-2]) / 100
    assert share / 2 < said < share * 2, (share, found["message"])
    [effect] = report["effects"]
    assert error / 2 < effect["expected_error"] < error * 2, (error, effect)
    assert not [finding for finding in judge(path)["findings"] if finding["rule"] == "MP607"]
    # One table over all targets has the same figures.
    done = run_mpopt("--advise", str(path), "--format", "json", "--input", "x~0,1", "--input", "x=-10:10", "--dim", "N=256")
    rows = {target: row for row in json.loads(done.stdout)["rows"] for target in row["targets"]}
    assert rows["ort-cpu-avx2"]["expected_error"] == pytest.approx(effect["expected_error"], rel=1e-3)
    assert rows["ort-cpu-vnni"]["fine"] and not rows["ort-cpu-avx2"]["fine"]
    assert "not on ort-cpu-avx2" in json.loads(done.stdout)["reason"]


def test_against_the_float_model(network, tmp_path):
    """Codes that are symmetric around 0 do not replace the Relus that the file lacks."""
    path, bad = tmp_path / "codes.onnx", tmp_path / "bad.onnx"
    quantize(network, path, weight_type=QuantType.QInt8, activation_type=QuantType.QInt8, per_channel=True)
    report, measured = judge(path, "--against", str(network)), measure(network, path)
    assert "MP620" not in {finding["rule"] for finding in report["findings"]}
    assert measured / FACTOR < report["effects"][0]["expected_error"] < measured * FACTOR
    assert report["effects"][0]["by"]["weights"] != judge(path)["effects"][0]["by"]["weights"]
    # ONNX Runtime leaves the Relus out, as codes begin at 0 behind them; now these are symmetric.
    model = onnx.load(path)
    assert "Relu" not in {node.op_type for node in model.graph.node}
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.name in ("r0_scale", "r1_scale"):
            tensor.CopyFrom(numpy_helper.from_array((values * 255 / 127).astype("f4"), tensor.name))
        if tensor.name in ("r0_zero_point", "r1_zero_point"):
            tensor.CopyFrom(numpy_helper.from_array(np.zeros_like(values), tensor.name))
    onnx.save(model, bad)
    report, measured = judge(bad, "--against", str(network)), measure(network, bad)
    lost = [finding["message"] for finding in report["findings"] if finding["rule"] == "MP620"]
    assert len(lost) == 2 and "`relu0`" in lost[0] + lost[1]
    assert measured / FACTOR < report["effects"][0]["expected_error"] < measured * FACTOR
    assert "MP620" not in {finding["rule"] for finding in judge(bad)["findings"]}
    for arguments in ([network, "--against", network], [path, "--against", path], [path, "--against", tmp_path / "none"]):
        done = run_mpopt("--check", *arguments)
        assert done.returncode == 2 and "--against" in done.stderr and done.stderr.count("\n") == 1


def test_quantised_models_in_16_bits(network, tmp_path):
    """What a precision adds to a quantised model is asked for by its name."""
    path = tmp_path / "codes.onnx"
    quantize(network, path, weight_type=QuantType.QInt8)
    report = judge(path, "--precision", "fp16")
    assert report["precision"] == "fp16" and "by" not in report["effects"][0]


def fixes_of(report, rule: str) -> list[dict]:
    return [fix for finding in report["findings"] if finding["rule"] == rule for fix in finding["fixes"]]


def test_tried_scale(network, tmp_path):
    """The file with the scale that a fix states is off by the error that it states."""
    path, mended = tmp_path / "codes.onnx", tmp_path / "mended.onnx"
    quantize(network, path, weight_type=QuantType.QInt8, per_channel=True)
    model = onnx.load(path)
    scales = {tensor.name: tensor for tensor in model.graph.initializer}
    scales["x_scale"].CopyFrom(numpy_helper.from_array(
        (numpy_helper.to_array(scales["x_scale"]) / 10).astype("f4"), "x_scale"))
    onnx.save(model, path)
    [text] = [fix["text"] for fix in fixes_of(judge(path), "MP602") if fix["text"].startswith("give 'x'")]
    found = re.fullmatch(r"give 'x' the scale (\S+) and zero point (\S+), for .*: 'y' is then off by (\S+) %, now off by .*", text)
    scale, zero, reached = map(float, found.groups())
    scales["x_scale"].CopyFrom(numpy_helper.from_array(np.float32(scale), "x_scale"))
    scales["x_zero_point"].CopyFrom(numpy_helper.from_array(np.int8(zero), "x_zero_point"))
    onnx.save(model, mended)
    measured = measure(network, mended)
    assert measured / FACTOR < reached / 100 < measured * FACTOR
    assert judge(mended)["effects"][0]["expected_error"] == pytest.approx(reached / 100, rel=0.1)


def make_weights_only(source, target, by_channel: bool) -> None:
    """The first weight in 8 bits, all else in floats."""
    model = onnx.load(source)
    [w] = [tensor for tensor in model.graph.initializer if tensor.name == "w0"]
    values = numpy_helper.to_array(w)
    scale = (np.abs(values).max(axis=0) if by_channel else np.abs(values).max()) / 127
    codes = np.clip(np.round(values / scale), -127, 127).astype("i1")
    model.graph.initializer.remove(w)
    model.graph.initializer.extend([numpy_helper.from_array(codes, "w0_quantized"),
                                    numpy_helper.from_array(np.asarray(scale, "f4"), "w0_scale")])
    node = helper.make_node("DequantizeLinear", ["w0_quantized", "w0_scale"], ["w0"], "dequantize", axis=1)
    model.graph.node.insert(0, node)
    onnx.save(model, target)


def test_tried_channels(tmp_path):
    network, path = tmp_path / "net.onnx", tmp_path / "codes.onnx"
    make_network(network, outlier=400, divided=True)
    make_weights_only(network, path, by_channel=False)
    [text] = [fix["text"] for fix in fixes_of(judge(path), "MP604") if "a scale of its own" in fix["text"]]
    reached = float(re.search(r"is then off by (\S+) %", text)[1]) / 100
    make_weights_only(network, path, by_channel=True)
    measured = measure(network, path)
    assert measured / FACTOR < reached < measured * FACTOR


def test_no_fix_without_a_finding(network, tmp_path):
    path = tmp_path / "codes.onnx"
    quantize(network, path, weight_type=QuantType.QInt8, per_channel=True)
    assert not [finding for finding in judge(path)["findings"] if finding["fixes"]]


def test_undeclared_input(network, tmp_path):
    """The codes of an input's quantiser say what was met where nothing is declared."""
    path = tmp_path / "codes.onnx"
    quantize(network, path, factor=0.1, weight_type=QuantType.QInt8)
    report = json.loads(run_mpopt("--check", str(path), "--format", "json", "--dim", "N=16", "--fail-on", "never").stdout)
    [assumed] = report["assumptions"]
    assert assumed["source"] == "model" and 0.3 < assumed["hi"] < 0.6
    assert not [finding for finding in report["findings"] if finding["rule"] == "MP602"]


@pytest.mark.parametrize("value", (0, 100))
def test_border_of_codes(value, tmp_path):
    """A border of the code 0 where 100 stands for 0, before a layer."""
    floats, path, random = tmp_path / "float.onnx", tmp_path / "codes.onnx", np.random.default_rng(4)
    weights = [numpy_helper.from_array(np.array([0, WIDTH // 2, 0, WIDTH // 2]), "pads"),
               numpy_helper.from_array(random.normal(0, 0.1, (2 * WIDTH, WIDTH)).astype("f4"), "w")]
    codes = [numpy_helper.from_array(np.array(0.04, "f4"), "scale"), numpy_helper.from_array(np.array(100, "u1"), "zero"),
             numpy_helper.from_array(np.array(value, "u1"), "border")]
    layer = helper.make_node("MatMul", ["p", "w"], ["y"], "layer")
    pair = ["scale", "zero"]
    for target, nodes, more in (
            (floats, [helper.make_node("Pad", ["x", "pads"], ["p"], "pad"), layer], []),
            (path, [helper.make_node("QuantizeLinear", ["x", *pair], ["q"]), helper.make_node("Pad", ["q", "pads", "border"], ["b"], "pad"),
                    helper.make_node("DequantizeLinear", ["b", *pair], ["p"]), layer], codes)):
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", WIDTH])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", WIDTH])], weights + more)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), target)
    report, measured = judge(path), measure(floats, path)
    [effect] = report["effects"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    assert [finding["rule"] for finding in report["findings"] if finding["op"]["name"] == "pad"] == ["MP609"] * (value == 0)


def test_dead_channels_in_front_of_a_norm(tmp_path):
    """Three channels are 0 for all images, and the norm divides them by 1e-6: no error of a weight wakes them."""
    floats, path, random = tmp_path / "float.onnx", tmp_path / "codes.onnx", np.random.default_rng(7)
    channels = 24
    sizes = np.exp(random.uniform(np.log(0.004), np.log(4), (channels, 1, 1, 1)))
    weights = {"w0": random.normal(0, 0.6, (channels, 3, 1, 1)), "w1": random.normal(0, 0.4, (channels, 1, 3, 3)) * sizes,
               "w2": random.normal(0, 0.3, (10, channels, 1, 1)), "one": np.ones(channels), "none": np.zeros(channels)}
    assert (weights["w0"].max(1) < 0).sum() == 3
    nodes = [helper.make_node("Conv", ["x", "w0"], ["c0"]), helper.make_node("Relu", ["c0"], ["r0"]),
             helper.make_node("Conv", ["r0", "w1"], ["c1"], group=channels, pads=[1] * 4),
             helper.make_node("InstanceNormalization", ["c1", "one", "none"], ["n1"], epsilon=1e-12),
             helper.make_node("Relu", ["n1"], ["r1"]), helper.make_node("Conv", ["r1", "w2"], ["c2"]),
             helper.make_node("GlobalAveragePool", ["c2"], ["y"])]
    shape, images = [4, 3, 12, 12], [random.uniform(0, 1, (4, 3, 12, 12)).astype("f4") for _ in range(4)]
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 10, 1, 1])],
                              [numpy_helper.from_array(value.astype("f4"), name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), floats)
    quantize_static(floats, path, Images(images), weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["Conv"],
                    extra_options={"OpTypesToExcludeOutputQuantization": ["Conv"]})
    exact, seen = (np.stack([onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": image})[0]
                             for image in images]) for model in (floats, path))
    measured = np.abs(seen - exact).max() / np.abs(exact).max()
    done = run_mpopt("--check", str(path), "--format", "json", "--fail-on", "never", "--input", "x=0:1")
    [effect] = json.loads(done.stdout)["effects"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR


@pytest.mark.parametrize("transposed", [False, True])
def test_dead_channel_of_many(transposed, tmp_path):
    """ONNX Runtime gives a channel of zeros the scale 1, which is no step of its errors. Ranges keep fewer than 66 x 64
    groups apart."""
    floats, path, random = tmp_path / "float.onnx", tmp_path / "codes.onnx", np.random.default_rng(3)
    weight = random.normal(0, 0.1, (66, 64)).astype("f4")
    weight[33] = 0
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transB=int(transposed))
    graph = helper.make_graph([node], "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [32, 64])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [32, 66])],
                              [numpy_helper.from_array(weight if transposed else weight.T.copy(), "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), floats)
    rows = [random.normal(0, 1, (32, 64)).astype("f4") for _ in range(4)]
    quantize_static(floats, path, Images(rows), weight_type=QuantType.QInt8, per_channel=True)
    scales = [tensor for tensor in onnx.load(path).graph.initializer if tensor.name == "w_scale"]
    assert numpy_helper.to_array(scales[0])[33] == 1
    exact, seen = (np.stack([onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": batch})[0]
                             for batch in rows]) for model in (floats, path))
    measured = np.abs(seen - exact).max() / np.abs(exact).max()
    done = run_mpopt("--check", str(path), "--format", "json", "--fail-on", "never", "--input", "x~0,1")
    [effect] = json.loads(done.stdout)["effects"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR


def test_weights_that_the_file_quantises(tmp_path):
    """Channels differ by what a folded norm leaves: without the elements of weights behind a pair, activations grow by a
    factor in each of eight layers, and their quantisers seem to clip them."""
    floats, path, random = tmp_path / "float.onnx", tmp_path / "codes.onnx", np.random.default_rng(5)
    nodes, weights, value, channels = [], {}, "x", 3
    for layer in range(8):
        gains = np.exp(random.normal(0, 0.5, (24, 1, 1, 1)))
        weights[f"w{layer}"] = random.normal(0, (2 / channels / 9) ** 0.5, (24, channels, 3, 3)) * gains
        nodes += [helper.make_node("Conv", [value, f"w{layer}"], [f"c{layer}"], pads=[1] * 4),
                  helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"])]
        value, channels = f"r{layer}", 24
    nodes.append(helper.make_node("GlobalAveragePool", [value], ["y"]))
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3, 12, 12])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 24, 1, 1])],
                              [numpy_helper.from_array(array.astype("f4"), name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), floats)
    images = [random.normal(0, 1, (4, 3, 12, 12)).astype("f4") for _ in range(4)]
    quantize_static(floats, path, Images(images), weight_type=QuantType.QInt8, per_channel=True,
                    extra_options={"AddQDQPairToWeight": True})
    exact, seen = (np.stack([onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": image})[0]
                             for image in images]) for model in (floats, path))
    measured = np.abs(seen - exact).max() / np.abs(exact).max()
    report = json.loads(run_mpopt("--check", str(path), "--format", "json", "--fail-on", "never", "--input", "x~0,1").stdout)
    [effect] = report["effects"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    assert not [finding for finding in report["findings"] if finding["rule"] == "MP602"]
