"""One-screen graphs with a numeric defect, or with its fix, and their inputs' boxes.

Inputs/defect_patterns.tsv says for each graph and dtype what is true of it, and why.
Graphs are ONNX text without their head; `x float[4,8] -50 50` is an input and its
box. Every result is a tensor whose name the table uses.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper, parser

TABLE = Path(__file__).parent / "Inputs" / "defect_patterns.tsv"
PRECISION = {"f32": "as-is", "f16": "fp16", "bf16": "bf16"}
STORED = {"f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}
TRUTH_VALUES = {"Greater", "Less", "LessOrEqual", "Equal", "Not", "And", "Or"}
ONNX_TYPE = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}

# name: (inputs, initializers, body)
GRAPHS = {
    # -- domains ---------------------------------------------------------------
    "log-of-square": (["x float[4,8] -50 50"], "float two = {2}", """
        s = Pow(x, two)
        y = Log(s)"""),
    "reciprocal-of-square": (["x float[4,8] -50 50"], "float two = {2}, float one = {1}", """
        s = Pow(x, two)
        y = Div(one, s)"""),
    "log-of-negative-mean": (["x float[4,8] 0.5 1"], "float c = {1.5}, int64[1] axes = {1}", """
        m = ReduceMean<keepdims = 1>(x, axes)
        d = Sub(m, c)
        y = Log(d)"""),
    "log-of-erf": (["x float[4,8] -50 50"], "", """
        e = Erf(x)
        y = Log(e)"""),
    "log-of-where-negative": (["x float[4,8] -50 50"], "float zero = {0}, float minus = {-1}", """
        c = Greater(x, zero)
        w = Where(c, x, minus)
        y = Log(w)"""),
    "log-of-where-positive": (["x float[4,8] -50 50"], "float zero = {0}, float one = {1}", """
        c = Greater(x, zero)
        w = Where(c, x, one)
        y = Log(w)"""),
    "log-of-max": (["x float[4,8] -50 50"], "float least = {0.001}", """
        w = Max(x, least)
        y = Log(w)"""),
    "acos": (["x float[4,8] -5 5"], "", """
        y = Acos(x)"""),
    "acos-of-clip": (["x float[4,8] -5 5"], "float lo = {-1}, float hi = {1}", """
        c = Clip(x, lo, hi)
        y = Acos(c)"""),
    "sqrt-of-relu": (["x float[4,8] -50 50"], "", """
        r = Relu(x)
        y = Sqrt(r)"""),
    "sqrt-of-difference": (["x float[4,8] -50 50", "z float[4,8] -50 50"], "", """
        d = Sub(x, z)
        y = Sqrt(d)"""),
    "log-of-clip-1e-8": (["x float[4,8] 0 1"], "float lo = {1e-8}, float hi = {1}", """
        c = Clip(x, lo, hi)
        y = Log(c)"""),
    "log-of-clip-1e-6": (["x float[4,8] 0 1"], "float lo = {1e-6}, float hi = {1}", """
        c = Clip(x, lo, hi)
        y = Log(c)"""),
    # -- sigmoid ---------------------------------------------------------------
    "log-of-one-minus-sigmoid": (["x float[4,8] -20 20"], "float one = {1}", """
        p = Sigmoid(x)
        q = Sub(one, p)
        y = Log(q)"""),
    "log-of-sigmoid-of-minus": (["x float[4,8] -12 12"], "", """
        n = Neg(x)
        p = Sigmoid(n)
        y = Log(p)"""),
    "absorbed-epsilon": (["x float[4,8] -20 20"], "float one = {1}, float eps = {1e-10}", """
        o = Add(eps, one)
        p = Sigmoid(x)
        q = Sub(o, p)
        y = Log(q)"""),
    "epsilon-1e-10-on-difference": (["x float[4,8] -20 20"], "float one = {1}, float eps = {1e-10}", """
        p = Sigmoid(x)
        q = Sub(one, p)
        g = Add(q, eps)
        y = Log(g)"""),
    "epsilon-1e-4-on-difference": (["x float[4,8] -20 20"], "float one = {1}, float eps = {1e-4}", """
        p = Sigmoid(x)
        q = Sub(one, p)
        g = Add(q, eps)
        y = Log(g)"""),
    "cross-entropy-of-sigmoid": (["x float[4,8] -50 50", "t float[4,8] 0 1"], "float one = {1}", """
        h = Sigmoid(x)
        l = Log(h)
        a = Mul(t, l)
        u = Sub(one, h)
        m = Log(u)
        v = Sub(one, t)
        b = Mul(v, m)
        s = Add(a, b)
        y = Neg(s)"""),
    "cross-entropy-clip-1e-6": (["x float[4,8] -50 50", "t float[4,8] 0 1"],
                                "float one = {1}, float lo = {1e-6}, float hi = {0.999999}", """
        h0 = Sigmoid(x)
        h = Clip(h0, lo, hi)
        l = Log(h)
        a = Mul(t, l)
        u = Sub(one, h)
        m = Log(u)
        v = Sub(one, t)
        b = Mul(v, m)
        s = Add(a, b)
        y = Neg(s)"""),
    "cross-entropy-clip-1e-2": (["x float[4,8] -50 50", "t float[4,8] 0 1"],
                                "float one = {1}, float lo = {0.01}, float hi = {0.99}", """
        h0 = Sigmoid(x)
        h = Clip(h0, lo, hi)
        l = Log(h)
        a = Mul(t, l)
        u = Sub(one, h)
        m = Log(u)
        v = Sub(one, t)
        b = Mul(v, m)
        s = Add(a, b)
        y = Neg(s)"""),
    "cross-entropy-of-logits": (["x float[4,8] -50 50", "t float[4,8] 0 1"], "float one = {1}", """
        r = Relu(x)
        xt = Mul(x, t)
        d = Sub(r, xt)
        a = Abs(x)
        n = Neg(a)
        e = Exp(n)
        o = Add(one, e)
        l = Log(o)
        y = Add(d, l)"""),
    # -- softmax ---------------------------------------------------------------
    "log-of-softmax": (["x float[4,8] -25 25"], "", """
        p = Softmax<axis = 1>(x)
        y = Log(p)"""),
    "log-softmax": (["x float[4,8] -50 50"], "", """
        y = LogSoftmax<axis = 1>(x)"""),
    "cross-entropy-of-linear": (["x float[4,6] -50 50", "w float[6,8] -10 10", "t float[4,8] 0 1"],
                                "int64[1] axes = {1}", """
        z = MatMul(x, w)
        p = Softmax<axis = 1>(z)
        l = Log(p)
        m = Mul(t, l)
        s = ReduceSum<keepdims = 0>(m, axes)
        y = Neg(s)"""),
    "cross-entropy-of-linear-log-softmax": (
        ["x float[4,6] -50 50", "w float[6,8] -10 10", "t float[4,8] 0 1"], "int64[1] axes = {1}", """
        z = MatMul(x, w)
        l = LogSoftmax<axis = 1>(z)
        m = Mul(t, l)
        s = ReduceSum<keepdims = 0>(m, axes)
        y = Neg(s)"""),
    "cross-entropy-of-linear-clip": (
        ["x float[4,6] -50 50", "w float[6,8] -10 10", "t float[4,8] 0 1"],
        "int64[1] axes = {1}, float lo = {1e-6}, float hi = {1}", """
        z = MatMul(x, w)
        p = Softmax<axis = 1>(z)
        c = Clip(p, lo, hi)
        l = Log(c)
        m = Mul(t, l)
        s = ReduceSum<keepdims = 0>(m, axes)
        y = Neg(s)"""),
    "cross-entropy-of-linear-eps-1e-8": (
        ["x float[4,6] -50 50", "w float[6,8] -10 10", "t float[4,8] 0 1"],
        "int64[1] axes = {1}, float eps = {1e-8}", """
        z = MatMul(x, w)
        p = Softmax<axis = 1>(z)
        c = Add(p, eps)
        l = Log(c)
        m = Mul(t, l)
        s = ReduceSum<keepdims = 0>(m, axes)
        y = Neg(s)"""),
    "cross-entropy-of-linear-eps-1e-5": (
        ["x float[4,6] -50 50", "w float[6,8] -10 10", "t float[4,8] 0 1"],
        "int64[1] axes = {1}, float eps = {1e-5}", """
        z = MatMul(x, w)
        p = Softmax<axis = 1>(z)
        c = Add(p, eps)
        l = Log(c)
        m = Mul(t, l)
        s = ReduceSum<keepdims = 0>(m, axes)
        y = Neg(s)"""),
    "cross-entropy-of-mlp": (
        ["x float[4,6] -10 10", "w float[6,8] -10 10", "v float[8,8] -10 10"], "", """
        h = MatMul(x, w)
        r = Relu(h)
        z = MatMul(r, v)
        p = Softmax<axis = 1>(z)
        y = Log(p)"""),
    "cross-entropy-of-cnn": (
        ["x float[1,3,8,8] -10 10", "w float[8,3,3,3] -10 10"], "", """
        h = Conv(x, w)
        a = GlobalAveragePool(h)
        z = Flatten<axis = 1>(a)
        p = Softmax<axis = 1>(z)
        y = Log(p)"""),
    "softmax-unshifted": (["z float[4,8] -100 100"], "int64[1] axes = {1}", """
        e = Exp(z)
        s = ReduceSum<keepdims = 1>(e, axes)
        y = Div(e, s)"""),
    "softmax-shifted": (["z float[4,8] -100 100"], "int64[1] axes = {1}", """
        m = ReduceMax<keepdims = 1>(z, axes)
        d = Sub(z, m)
        e = Exp(d)
        s = ReduceSum<keepdims = 1>(e, axes)
        y = Div(e, s)"""),
    "pixel-softmax-unshifted": (["z float[1,4,8,8] -100 100"], "int64[1] axes = {1}", """
        e = Exp(z)
        s = ReduceSum<keepdims = 1>(e, axes)
        y = Div(e, s)"""),
    "pixel-softmax-shifted": (["z float[1,4,8,8] -100 100"], "int64[1] axes = {1}", """
        m = ReduceMax<keepdims = 1>(z, axes)
        d = Sub(z, m)
        e = Exp(d)
        s = ReduceSum<keepdims = 1>(e, axes)
        y = Div(e, s)"""),
    "logsumexp-unshifted": (["z float[4,8] -100 100"], "int64[1] axes = {1}", """
        e = Exp(z)
        s = ReduceSum<keepdims = 1>(e, axes)
        y = Log(s)"""),
    "logsumexp-shifted": (["z float[4,8] -100 100"], "int64[1] axes = {1}", """
        m = ReduceMax<keepdims = 1>(z, axes)
        d = Sub(z, m)
        e = Exp(d)
        s = ReduceSum<keepdims = 1>(e, axes)
        l = Log(s)
        y = Add(m, l)"""),
    # -- exponentials ----------------------------------------------------------
    "exp-of-12": (["x float[4,8] -12 12"], "", """
        y = Exp(x)"""),
    "exp-of-11": (["x float[4,8] -11 11"], "", """
        y = Exp(x)"""),
    "exp-of-shifted": (["x float[4,8] -50 50"], "int64[1] axes = {1}", """
        m = ReduceMax<keepdims = 1>(x, axes)
        d = Sub(x, m)
        y = Exp(d)"""),
    "exp-of-cancelling-sum": (["x float[4,8] -50 50", "z float[4,8] -50 50"], "", """
        a = Sub(x, z)
        b = Add(a, z)
        c = Sub(b, x)
        y = Exp(c)"""),
    "exp-of-batch-norm": (["x float[2,3,4] -5 5", "scale float[3] -2 -1", "var float[3] 0.01 1"],
                          "float[3] bias = {0, 0, 0}, float[3] mean = {0, 0, 0}", """
        b = BatchNormalization(x, scale, bias, mean, var)
        y = Exp(b)"""),
    "exp-of-logvar": (["v float[4,8] -100 100"], "", """
        y = Exp(v)"""),
    "exp-of-clipped-logvar": (["v float[4,8] -100 100"], "float lo = {-10}, float hi = {10}", """
        c = Clip(v, lo, hi)
        y = Exp(c)"""),
    "sqrt-of-exp-of-clip": (["v float[4,8] -200 200"], "float lo = {-100}, float hi = {87}", """
        c = Clip(v, lo, hi)
        e = Exp(c)
        y = Sqrt(e)"""),
    "exp-of-half": (["v float[4,8] -200 200"], "float lo = {-100}, float hi = {87}, float half = {0.5}", """
        c = Clip(v, lo, hi)
        h = Mul(c, half)
        y = Exp(h)"""),
    "exp-of-half-of-20": (["v float[4,8] -200 200"], "float lo = {-20}, float hi = {20}, float half = {0.5}", """
        c = Clip(v, lo, hi)
        h = Mul(c, half)
        y = Exp(h)"""),
    "softplus-written-out": (["z float[4,8] -200 200"], "float one = {1}", """
        e = Exp(z)
        o = Add(one, e)
        y = Log(o)"""),
    "softplus": (["z float[4,8] -200 200"], "", """
        y = Softplus(z)"""),
    # -- products and sums -----------------------------------------------------
    "product": (["x float[4,8] 1e20 1e21", "w float[4,8] 1e20 1e21"], "", """
        y = Mul(x, w)"""),
    "log-of-squared-product": (["x float[4,6] 1e15 1e16", "w float[6,8] 1e15 1e16"], "float two = {2}", """
        m = MatMul(x, w)
        s = Pow(m, two)
        y = Log(s)"""),
    "long-product": (["x float[1,4096] 50 50", "w float[4096,4] 1 1"], "", """
        y = MatMul(x, w)"""),
    "rms-norm-of-500": (["x float[4,64] -500 500"],
                        "float two = {2}, float eps = {1e-5}, int64[1] axes = {1}", """
        s = Pow(x, two)
        m = ReduceMean<keepdims = 1>(s, axes)
        e = Add(m, eps)
        r = Sqrt(e)
        y = Div(x, r)"""),
    "rms-norm-of-10": (["x float[4,64] -10 10"],
                       "float two = {2}, float eps = {1e-3}, int64[1] axes = {1}", """
        s = Pow(x, two)
        m = ReduceMean<keepdims = 1>(s, axes)
        e = Add(m, eps)
        r = Sqrt(e)
        y = Div(x, r)"""),
    "layer-norm-of-10": (["x float[4,64] -10 10"],
                         "float two = {2}, float eps = {1e-3}, int64[1] axes = {1}", """
        mean = ReduceMean<keepdims = 1>(x, axes)
        d = Sub(x, mean)
        s = Pow(d, two)
        m = ReduceMean<keepdims = 1>(s, axes)
        e = Add(m, eps)
        r = Sqrt(e)
        y = Div(d, r)"""),
    "layer-norm-eps-1e-12": (["x float[4,64] -10 10"],
                             "float two = {2}, float eps = {1e-12}, int64[1] axes = {1}", """
        mean = ReduceMean<keepdims = 1>(x, axes)
        d = Sub(x, mean)
        s = Pow(d, two)
        m = ReduceMean<keepdims = 1>(s, axes)
        e = Add(m, eps)
        r = Sqrt(e)
        y = Div(d, r)"""),
    # -- divisions -------------------------------------------------------------
    "divided-by-norm": (["x float[4,8] -50 50"], "int64[1] axes = {1}", """
        n = ReduceL2<keepdims = 1>(x, axes)
        y = Div(x, n)"""),
    "divided-by-guarded-norm": (["x float[4,8] -50 50"], "int64[1] axes = {1}, float least = {1e-3}", """
        n = ReduceL2<keepdims = 1>(x, axes)
        g = Max(n, least)
        y = Div(x, g)"""),
    "divided-by-mask-sum": (["x float[4,8] -50 50", "mask float[4,8] 0 1"], "int64[1] axes = {1}", """
        n = ReduceSum<keepdims = 1>(mask, axes)
        y = Div(x, n)"""),
    "divided-by-clipped-mask-sum": (["x float[4,8] -50 50", "mask float[4,8] 0 1"],
                                    "int64[1] axes = {1}, float one = {1}", """
        n = ReduceSum<keepdims = 1>(mask, axes)
        g = Max(n, one)
        y = Div(x, g)"""),
    "divided-by-max": (["x float[4,8] -50 50"], "int64[1] axes = {1}", """
        a = Abs(x)
        n = ReduceMax<keepdims = 1>(a, axes)
        y = Div(x, n)"""),
    "divided-by-max-eps-1e-7": (["x float[4,8] -50 50"], "int64[1] axes = {1}, float eps = {1e-7}", """
        a = Abs(x)
        n = ReduceMax<keepdims = 1>(a, axes)
        g = Add(n, eps)
        y = Div(x, g)"""),
    "divided-by-max-eps-1e-8": (["x float[4,8] -50 50"], "int64[1] axes = {1}, float eps = {1e-8}", """
        a = Abs(x)
        n = ReduceMax<keepdims = 1>(a, axes)
        g = Add(n, eps)
        y = Div(x, g)"""),
    "divided-by-keep-prob": (["x float[4,8] -50 50", "keep float[1] 0.1 0.9"], "", """
        y = Div(x, keep)"""),
    # -- guards ----------------------------------------------------------------
    "log-of-where-both": (["x float[4,8] -50 50", "z float[4,8] -50 50"], "float zero = {0}, float one = {1}", """
        c = Greater(x, zero)
        d = Greater(z, zero)
        n = And(c, d)
        w = Where(n, x, one)
        y = Log(w)"""),
    "log-of-where-neither": (["x float[4,8] -50 50", "z float[4,8] -50 50"], "float zero = {0}, float one = {1}", """
        c = LessOrEqual(x, zero)
        d = Greater(z, zero)
        n = Or(c, d)
        w = Where(n, one, x)
        y = Log(w)"""),
    "where-of-log": (["x float[4,8] -50 50"], "float zero = {0}, float one = {1}", """
        c = Greater(x, zero)
        w = Where(c, x, one)
        l = Log(w)
        y = Where(c, l, zero)"""),
    "sqrt-of-clip": (["x float[4,8] -50 50"], "float zero = {0}", """
        w = Clip(x, zero)
        y = Sqrt(w)"""),
    "entropy-eps-1e-4": (["x float[4,8] -25 25"], "float eps = {1e-4}, int64[1] axes = {1}", """
        p = Softmax<axis = 1>(x)
        c = Add(p, eps)
        l = Log(c)
        m = Mul(p, l)
        y = ReduceSum<keepdims = 0>(m, axes)"""),
    "cosine-of-guarded-norms": (["x float[4,8] -5 5", "z float[4,8] -5 5"], "int64[1] axes = {1}, float eps = {1e-3}", """
        n = ReduceL2<keepdims = 1>(x, axes)
        o = ReduceL2<keepdims = 1>(z, axes)
        np = Max(n, eps)
        op = Max(o, eps)
        a = Div(x, np)
        b = Div(z, op)
        ab = Mul(a, b)
        y = ReduceSum<keepdims = 0>(ab, axes)"""),
    "variance-of-squares-relu": (["x float[4,64] -10 10"], "float eps = {0.01}, int64[1] axes = {1}, float one = {1}", """
        q = Mul(x, x)
        m2 = ReduceMean<keepdims = 1>(q, axes)
        m = ReduceMean<keepdims = 1>(x, axes)
        mm = Mul(m, m)
        v = Sub(m2, mm)
        r = Relu(v)
        e = Add(r, eps)
        s = Sqrt(e)
        y = Div(one, s)"""),
    # -- lost digits -----------------------------------------------------------
    "added-and-taken-off": (["x float[4,8] 1 2"], "float c = {65504}", """
        s = Add(x, c)
        y = Sub(s, c)"""),
}


@dataclass
class Truth:
    case: str
    dtype: str
    bug: bool
    tensor: str
    rules: set[str]
    certainty: str  # of a bug: certain, likely or possible
    reason: str


def read_truths():
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            for dtype in row["dtypes"].split():
                yield Truth(row["case"], dtype, row["truth"] != "clean", row["tensor"],
                            set(row["rules"].split()), row["truth"], row["reason"])


@dataclass
class Pattern:
    model: onnx.ModelProto
    boxes: dict[str, tuple[float, float]]


def build(case: str) -> Pattern:
    inputs, constants, body = GRAPHS[case]
    boxes, declared = {}, []
    for line in inputs:
        name, kind, lo, hi = line.split()
        boxes[name] = (float(lo), float(hi))
        declared.append(f"{kind} {name}")
    text = (f'<ir_version: 8, opset_import: ["": 18]> g ({", ".join(declared)}) => (y) '
            f"<{constants}> {{{body}\n}}")
    model = parser.parse_model(text)
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    return Pattern(model, boxes)


# -- what happens in the dtype ---------------------------------------------------


def expand_sigmoids(nodes):
    """ONNX Runtime's own sigmoid clamps its argument: it is 0 from -18 down."""
    for node in nodes:
        if node.op_type != "Sigmoid":
            yield node
            continue
        (x,), (y,) = node.input, node.output
        one = helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])
        yield from (helper.make_node("Constant", [], [y + ".1"], value=one),
                    helper.make_node("Neg", [x], [y + ".n"]),
                    helper.make_node("Exp", [y + ".n"], [y + ".e"]),
                    helper.make_node("Add", [y + ".1", y + ".e"], [y + ".s"]),
                    helper.make_node("Reciprocal", [y + ".s"], [y]))


def rounded(model: onnx.ModelProto, dtype: str) -> onnx.ModelProto:
    """Computes in float32 and rounds every constant and result to the dtype."""
    emulated = onnx.ModelProto()
    emulated.CopyFrom(model)
    graph = emulated.graph
    written = {node.output[0] for node in graph.node}
    for constant in graph.initializer:
        if constant.data_type == TensorProto.FLOAT:
            values = numpy_helper.to_array(constant)
            with numpy.errstate(over="ignore"):
                stored = values.astype(STORED[dtype]).astype(numpy.float32)
            constant.CopyFrom(numpy_helper.from_array(stored, constant.name))
    nodes, outputs = [], []
    for node in expand_sigmoids(graph.node):
        name = node.output[0]
        inner = name not in written
        if dtype == "f32" or inner or node.op_type in TRUTH_VALUES:
            nodes.append(node)
        else:
            node.output[0] = name + ".wide"
            nodes += [node,
                      helper.make_node("Cast", [name + ".wide"], [name + ".stored"],
                                       to=ONNX_TYPE[dtype]),
                      helper.make_node("Cast", [name + ".stored"], [name], to=TensorProto.FLOAT)]
        if node.op_type not in TRUTH_VALUES and not inner:
            outputs.append(name)
    del graph.node[:], graph.output[:]
    graph.node.extend(nodes)
    graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
                        for name in outputs)
    return emulated


def draw(pattern: Pattern, dtype: str, random, kind: str) -> dict[str, numpy.ndarray]:
    """An input: anywhere in the box, at its ends, or where zero is."""
    feeds = {}
    for value in pattern.model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        lo, hi = pattern.boxes[value.name]
        if kind == "uniform":
            numbers = random.uniform(lo, hi, shape)
        elif kind == "corner":
            numbers = random.choice([lo, hi], shape)
        elif kind == "end":
            numbers = numpy.full(shape, random.choice([lo, hi]))
        else:
            numbers = numpy.full(shape, min(max(0.0, lo), hi))
        with numpy.errstate(over="ignore"):
            feeds[value.name] = numbers.astype(STORED[dtype]).astype(numpy.float32)
    return feeds


@dataclass
class Observed:
    """Tensors in which Inf or NaN first appears: share of the evaluations anywhere in
    the box, and whether any evaluation at all has it."""

    share: dict[str, float]
    seen: set[str]


def observe(pattern: Pattern, dtype: str, seed: int) -> Observed:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        rounded(pattern.model, dtype).SerializeToString(), options,
        providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    reads = {node.output[0]: set(node.input) for node in pattern.model.graph.node}
    random = numpy.random.default_rng(seed)
    plan = ["uniform"] * 64 + ["corner"] * 32 + ["end"] * 16 + ["zero"]
    share, seen = dict.fromkeys(names, 0.0), set()
    for kind in plan:
        feeds = draw(pattern, dtype, random, kind)
        results = dict(zip(names, session.run(names, feeds)))
        bad = {name for name, values in {**feeds, **results}.items()
               if not numpy.isfinite(values).all()}
        for name in names:
            if name in bad and not (reads[name] & bad & set(names)):
                seen.add(name)
                if kind == "uniform":
                    share[name] += 1 / 64
    return Observed(share, seen)
