"""Codes beside the float model's numbers (--against): what quantisation explains, what channels' factors that are taken
back explain, and other numbers (MP623)."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from quantized_networks import FACTOR, WIDTH, judge, make_network, measure, quantize


def change(source, target, name: str, function) -> None:
    model = onnx.load(source)
    [tensor] = [tensor for tensor in model.graph.initializer if tensor.name == name]
    values = numpy_helper.to_array(tensor)
    tensor.CopyFrom(numpy_helper.from_array(function(values).astype(values.dtype), name))
    onnx.save(model, target)


def foreign(report) -> list[str]:
    return [finding["message"] for finding in report["findings"] if finding["rule"] == "MP623"]


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "net.onnx"
    make_network(path)
    return path


def assert_near(report, measured: float) -> None:
    [effect] = report["effects"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR, (measured, effect)


def test_equalised_channels(tmp_path):
    """The second layer divides what the first one multiplies; a factor that nothing takes back is another network."""
    path, equal, codes = tmp_path / "float.onnx", tmp_path / "equal.onnx", tmp_path / "codes.onnx"
    make_network(path)
    model = onnx.load(path)
    model.graph.node[-1].input[1] = "h1"  # the sum reads what no factor changes
    onnx.save(model, path)
    factors = np.geomspace(0.3, 3, WIDTH)
    change(path, equal, "w0", lambda w: w * factors)
    change(equal, equal, "b0", lambda b: b * factors)
    quantize(equal, codes, weight_type=QuantType.QInt8, per_channel=True, activation_type=QuantType.QUInt16)
    assert foreign(judge(codes, "--against", str(path)))
    change(equal, equal, "w1", lambda w: w / factors[:, None])
    quantize(equal, codes, weight_type=QuantType.QInt8, per_channel=True, activation_type=QuantType.QUInt16)
    report = judge(codes, "--against", str(path))
    assert not foreign(report)
    assert_near(report, measure(path, codes))


@pytest.mark.parametrize("factor", (1, 4))
def test_bias_of_another_scale(factor, network, tmp_path):
    path = tmp_path / "codes.onnx"
    quantize(network, path, weight_type=QuantType.QInt8, per_channel=True)
    change(path, path, "b1_quantized", lambda codes: codes // factor)
    found = foreign(judge(path, "--against", str(network)))
    assert len(found) == (factor > 1)
    if found:
        assert "4 times too small for 'b1'" in found[0]


@pytest.mark.parametrize("swapped", (False, True))
def test_codes_in_blocks(swapped, tmp_path):
    """Codes of 4 bits, the even ones in the low bits, or in the high ones."""
    floats, path, random = tmp_path / "float.onnx", tmp_path / "codes.onnx", np.random.default_rng(2)
    weight = random.normal(0, WIDTH ** -0.5, (WIDTH, WIDTH)).astype("f4")
    blocks = weight.T.reshape(WIDTH, 2, WIDTH // 2)
    scales = np.abs(blocks).max(2) / 7
    codes = (np.clip(np.rint(blocks / scales[..., None]), -8, 7) + 8).astype("u1")
    low, high = codes[..., 0::2], codes[..., 1::2]
    packed = high | low << 4 if swapped else low | high << 4
    product = helper.make_node("MatMulNBits", ["x", "codes", "scales"], ["y"], "product", domain="com.microsoft",
                               K=WIDTH, N=WIDTH, bits=4, block_size=WIDTH // 2)
    for target, node, weights in ((floats, helper.make_node("MatMul", ["x", "w"], ["y"], "product"), {"w": weight}),
                                  (path, product, {"codes": packed, "scales": scales.reshape(-1)})):
        graph = helper.make_graph([node], "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", WIDTH])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", WIDTH])],
                                  [numpy_helper.from_array(value, name) for name, value in weights.items()])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), target)
    report = judge(path, "--against", str(floats))
    assert len(foreign(report)) == swapped
    assert_near(report, measure(floats, path))


def test_codes_of_products_of_codes(network, tmp_path):
    """Layers that quantise their input at run time: the names of codes are a quantiser's."""
    path = tmp_path / "codes.onnx"
    quantize_dynamic(network, path, weight_type=QuantType.QInt8)
    report = judge(path, "--against", str(network))
    assert not foreign(report)
    assert_near(report, measure(network, path))
    change(path, path, "w1_quantized", lambda codes: np.roll(codes, 1))
    [message] = foreign(judge(path, "--against", str(network)))
    assert "not those of 'w1'" in message
