"""Cases of test_soundness.py: ops of ai.onnx.ml, which compute in float32."""

import numpy as np
from soundness_family import Cases

CASES = Cases(opset=17)
onnx_case = CASES.onnx_case


def _node(draw, op, *inputs, **attributes):
    return draw.node(op, *inputs, domain="ai.onnx.ml", **attributes)


def _numbers(draw, count, scale=3):
    values = draw.random.uniform(-scale, scale, count).astype(np.float32)
    return [float(value) for value in draw.format.round(values)]


@onnx_case
def features(draw):
    width = draw.integer(2, 4)
    x = draw.box((3, width), scale=draw.choice([0.5, 3, 30]))
    _node(draw, "Scaler", x, offset=_numbers(draw, width), scale=_numbers(draw, width))
    _node(draw, "Scaler", x, offset=_numbers(draw, 1), scale=_numbers(draw, 1))
    for norm in ("L1", "L2"):
        _node(draw, "Normalizer", x, norm=norm)
    _node(draw, "Binarizer", x, threshold=_numbers(draw, 1)[0])
    _node(draw, "ArrayFeatureExtractor", x, draw.constant(np.array([width - 1, 0])))
    _node(draw, "Imputer", x, imputed_value_floats=_numbers(draw, width),
          replaced_value_float=0.0)
    _node(draw, "OneHotEncoder", draw.box((4,), 0, 5, dtype=np.int64), cats_int64s=[1, 3, 5])


@onnx_case
def linear_models(draw):
    width, targets = draw.integer(2, 4), draw.integer(2, 3)
    x = draw.box((3, width), scale=draw.choice([0.5, 3, 30]))
    model = {"coefficients": _numbers(draw, width * targets), "intercepts": _numbers(draw, targets)}
    _node(draw, "LinearRegressor", x, targets=targets, **model)
    _node(draw, "LinearClassifier", x, classlabels_ints=list(range(10, 10 + targets)),
          outputs=2, post_transform=draw.choice(["NONE", "SOFTMAX"]), **model)


def _forest(draw, kind, targets, count):
    """Stumps: a leaf on either side names one target each, or several."""
    nodes = {name: [] for name in ("treeids", "nodeids", "featureids", "values",
                                   "truenodeids", "falsenodeids", "modes")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(count):
        for node, mode in enumerate(["BRANCH_LEQ", "LEAF", "LEAF"]):
            inner = node == 0
            row = (tree, node, draw.integer(0, 1), _numbers(draw, 1)[0],
                   int(inner), 2 * int(inner), mode)
            for name, value in zip(nodes, row, strict=True):
                nodes[name].append(value)
            named = draw.random.permutation(targets)[:draw.integer(1, targets)]
            for target in [] if inner else named:
                for name, value in zip(leaves, (tree, node, int(target), _numbers(draw, 1)[0]),
                                       strict=True):
                    leaves[name].append(value)
    return {**{f"nodes_{name}": values for name, values in nodes.items()},
            **{f"{kind}_{name}": values for name, values in leaves.items()}}


@onnx_case
def forests(draw):
    x = draw.box((5, 2), scale=draw.choice([0.5, 3]))
    targets, trees = draw.integer(1, 3), draw.integer(1, 6)
    aggregate = draw.choice(["SUM", "AVERAGE", "MIN", "MAX"])
    base = {} if draw.integer(0, 1) else {"base_values": _numbers(draw, targets)}
    _node(draw, "TreeEnsembleRegressor", x, n_targets=targets, aggregate_function=aggregate,
          **_forest(draw, "target", targets, trees), **base)
    classes = draw.integer(2, 4)
    transform = draw.choice(["NONE", "LOGISTIC", "SOFTMAX"])
    _node(draw, "TreeEnsembleClassifier", x, classlabels_int64s=list(range(classes)), outputs=2,
          post_transform=transform, **_forest(draw, "class", classes, trees))
    # Leaves of two classes that name the second one only.
    _node(draw, "TreeEnsembleClassifier", x, classlabels_int64s=[0, 1], outputs=2,
          post_transform=transform, **{**(one := _forest(draw, "class", 1, trees)),
                                       "class_ids": [1] * len(one["class_ids"])})


@onnx_case
def tables(draw):
    keys = list(range(4))
    x = draw.box((6,), 0, 6, dtype=np.int64)
    _node(draw, "LabelEncoder", x, keys_int64s=keys, values_floats=_numbers(draw, 4),
          default_float=_numbers(draw, 1)[0])
    _node(draw, "LabelEncoder", x, keys_int64s=keys, values_int64s=[7, -3, 2, 2])
