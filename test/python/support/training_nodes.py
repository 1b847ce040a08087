"""Nodes of ONNX Runtime's training graphs, whose operators no other test runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from inference import make_model
from onnx import TensorProto, helper, numpy_helper

MS, PREVIEW = "com.microsoft", "ai.onnx.preview.training"
FLOAT, LONG, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MAP, IMAGE, ROW, ONE = (4, 6), (1, 2, 6, 6), (6,), (1,)

ELEMENTWISE = """ReluGrad SigmoidGrad TanhGrad LeakyReluGrad QuickGeluGrad GeluGrad FastGeluGrad
BiasGeluGrad_dX BiasFastGeluGrad_dX SoftmaxGrad SoftmaxGrad_13 LogSoftmaxGrad LogSoftmaxGrad_13
ZeroGradient InPlaceAccumulator InPlaceAccumulatorV2""".split()
LABELS = (LONG, (4,))
# Inputs: the shapes of floats, a dtype with it where it is another, or the numbers of a
# constant. Then the outputs, or how many there are.
NODES: dict[str, tuple[list, int | list, dict]] = {
    "DropoutGrad": ([MAP, (BOOL, MAP), np.float32(0.5)], 1, {}),
    "SoftmaxCrossEntropyLossInternal": ([MAP, LABELS], 2, {}),
    "SoftmaxCrossEntropyLossInternalGrad": ([(), MAP, LABELS], 1, {}),
    "SoftmaxCrossEntropyLossGrad": ([MAP, LABELS], 1, {}),
    "NegativeLogLikelihoodLossInternal": ([MAP, LABELS], 1, {}),
    "NegativeLogLikelihoodLossInternal2": ([MAP, LABELS], 1, {}),
    "LayerNormalizationGrad": ([MAP, MAP, ROW, (4, 1), (4, 1)], 3, {"axis": -1}),
    "InvertibleLayerNormalizationGrad": ([MAP, MAP, ROW, ROW, (4, 1)], 3, {"axis": -1}),
    "SimplifiedLayerNormalizationGrad": ([MAP, MAP, ROW, (4, 1)], 2, {"axis": -1}),
    "BatchNormalizationGrad": ([IMAGE, IMAGE, (2,), (2,), (2,)], 3, {}),
    "ConvGrad": ([(1, 3, 4, 4), IMAGE, (3, 2, 3, 3)], 3,
                 {"kernel_shape": [3, 3], "pads": [0, 0, 0, 0], "strides": [1, 1],
                  "dilations": [1, 1], "group": 1}),
    "GatherGrad": ([np.array(MAP), (LONG, (2,)), (2, 6)], 1, {"axis": 0}),
    "GatherElementsGrad": ([MAP, np.array(MAP), (LONG, MAP)], 1, {"axis": 0}),
    "GatherNDGrad": ([np.array(MAP), (LONG, (3, 1)), (3, 6)], 1, {"batch_dims": 0}),
    "SliceGrad": ([(2, 6), np.array(MAP), np.array([0]), np.array([2]), np.array([0]),
                   np.array([1])], 1, {}),
    "BroadcastGradientArgs": ([np.array(MAP), np.array(ROW)], 2, {}),
    "Scale": ([MAP, ()], 1, {}),
    "MixedPrecisionScale": ([(), MAP], 1, {"to": FLOAT}),
    "IsAllFinite": ([MAP, ROW], 1, {}),
    "ReduceAllL2": ([MAP, ROW], 1, {}),
    "SGDOptimizer": ([ONE, MAP, MAP], 1, {}),
    "AdamOptimizer": ([ONE, (LONG, ONE), MAP, MAP, MAP, MAP], 4, {}),
    # The new gradient is not modelled.
    "LambOptimizer": ([(BOOL, ONE), (), (), ONE, (LONG, ONE), MAP, MAP, MAP, MAP],
                      ["y0", "y1", "", "y3", "y4"], {}),
}
# Operators that take lists of tensors.
LISTS: dict[str, tuple[list, int]] = {
    "InplaceClipGradNorm": (["list"], 1),
    "SGDOptimizerV2": (["rate", "list", "list"], 2),
    "AdamWOptimizer": (["rate", "step", "list", "list", "list", "list"], 4),
}


def make_node(name: str, inputs: list, outputs, attributes: dict) -> onnx.ModelProto:
    values, constants = [], []
    for index, given in enumerate(inputs):
        if isinstance(given, (np.ndarray, np.generic)):
            constants.append(numpy_helper.from_array(np.asarray(given), f"x{index}"))
            continue
        kind, shape = given if given and isinstance(given[-1], tuple) else (FLOAT, given)
        values.append(helper.make_tensor_value_info(f"x{index}", kind, shape))
    made = [f"y{index}" for index in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(name, [f"x{index}" for index in range(len(inputs))], made,
                            domain=MS, **attributes)
    return make_model([node], values, filter(None, made), 17, constants, [MS])


def make_list(name: str, inputs: list, outputs: int) -> onnx.ModelProto:
    values = [helper.make_tensor_value_info("x", FLOAT, MAP),
              helper.make_tensor_value_info("rate", FLOAT, ONE),
              helper.make_tensor_value_info("step", LONG, ONE)]
    made = [f"y{index}" for index in range(outputs)]
    nodes = [helper.make_node("SequenceConstruct", ["x", "x"], ["list"]),
             helper.make_node(name, inputs, made, domain=MS)]
    return make_model(nodes, values, made, 17, domains=[MS])


def make_gradient() -> onnx.ModelProto:
    values = [helper.make_tensor_value_info("x", FLOAT, MAP)]
    nodes = [helper.make_node("Mul", ["x", "x"], ["y"]),
             helper.make_node("Gradient", ["x"], ["dx"], domain=PREVIEW, xs=["x"], y="y")]
    return make_model(nodes, values, ["dx"], 17, domains=[PREVIEW])


def get_models() -> Iterator[tuple[str, onnx.ModelProto]]:
    yield "Gradient", make_gradient()
    for name in ELEMENTWISE:
        yield name, make_node(name, [MAP, MAP], 1, {})
    for name, (inputs, outputs, attributes) in NODES.items():
        yield name, make_node(name, inputs, outputs, attributes)
    for name, (inputs, outputs) in LISTS.items():
        yield name, make_list(name, inputs, outputs)
