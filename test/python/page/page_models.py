"""Models whose reports have something on every page."""

from __future__ import annotations

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper
from tool import run_mpopt

WIDTH = 16
EVERYTHING = ("--min-certainty", "possible", "--fail-on", "never")


def _save(path, nodes, weights, inputs, outputs):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array.astype(numpy.float32), name) for name, array in weights.items()])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())
    return path


def layers(path, ops: int, large: int | None = None):
    """Residual layers of 8 nodes each, named as exporters name modules. Layer `large` multiplies
    by 3000 and squares: FP16 overflows there."""
    draw = numpy.random.default_rng(0)
    nodes, weights, last = [], {}, "x"
    for layer in range(max(1, ops // 8)):
        base = f"/model/encoder/layer.{layer}"
        name = f"model.encoder.layer.{layer}"
        for part in ("query", "value"):
            weights[f"{name}.{part}.weight"] = draw.normal(0, WIDTH ** -.5, (WIDTH, WIDTH))
        weights[f"{name}.gain"] = numpy.full([WIDTH], 3000. if layer == large else 1.)
        weights[f"{name}.bias"] = numpy.zeros([WIDTH])

        def node(kind, place, inputs, base=base, **attributes):
            out = f"{base}/{place}/{kind}_output_0"
            nodes.append(helper.make_node(kind, inputs, [out], name=f"{base}/{place}/{kind}", **attributes))
            return out
        query = node("MatMul", "attention/query", [last, f"{name}.query.weight"])
        gate = node("Sigmoid", "attention", [query])
        product = node("Mul", "attention", [query, gate])
        value = node("MatMul", "attention/value", [product, f"{name}.value.weight"])
        summed = node("Add", "attention", [value, last])
        normal = node("LayerNormalization", "norm", [summed, f"{name}.gain", f"{name}.bias"], axis=-1)
        squared = node("Mul", "output", [normal, normal]) if layer == large else node("Tanh", "output", [normal])
        last = node("LayerNormalization", "output", [squared, f"{name}.one", f"{name}.bias"], axis=-1)
        weights[f"{name}.one"] = numpy.ones([WIDTH])
    nodes.append(helper.make_node("Identity", [last], ["y"], name="/model/Identity"))
    return _save(path, nodes, weights, [("x", [4, WIDTH])], ["y"])


def classifier(path):
    """Three layers to train; gradients of the first are small."""
    draw = numpy.random.default_rng(0)
    weights = {"first.weight": draw.normal(0, 1e-3, (WIDTH, WIDTH)), "second.weight": draw.normal(0, .02, (WIDTH, WIDTH)),
               "head.weight": draw.normal(0, .05, (WIDTH, 4))}
    nodes = [helper.make_node("MatMul", ["x", "first.weight"], ["a"], name="/first/MatMul"),
             helper.make_node("Relu", ["a"], ["b"], name="/act/Relu"),
             helper.make_node("MatMul", ["b", "second.weight"], ["c"], name="/second/MatMul"),
             helper.make_node("Relu", ["c"], ["d"], name="/act_1/Relu"),
             helper.make_node("MatMul", ["d", "head.weight"], ["logits"], name="/head/MatMul")]
    return _save(path, nodes, weights, [("x", [8, WIDTH])], ["logits"])


HOSTILE = [
    "</script><script>window.executed = 1</script>", "<img src=x onerror='window.executed=1'>", "\"><svg onload=window.executed=1>",
    "';window.executed=1;//", "${window.executed=1}", "{{constructor.constructor('window.executed=1')()}}", "<!--", "-->", "]]>",
    "&lt;b&gt;&amp;", "a\u202eb\u2066c\u2069", "\u200b\u200d\ufeff", "ℵ日本語🙂", "..//../%2e%2e", "__proto__", "constructor", "toString",
    "<!-- data -->", "javascript:window.executed=1", "\\u003cscript\\u003e", " ", "\t\r\nname", "a/b/c" * 20, "x" * 4000,
    "<style>*{display:none}</style>", "<base href='//example.org/'>", "\x00zero", "\x1b[31mred", "hasOwnProperty", "<iframe srcdoc=x>",
]


def hostile(path, count: int):
    """Multiplications past the end of FP16, with names that mean something elsewhere: as names of
    values, of nodes, of inputs and of weights."""
    draw = numpy.random.default_rng(1)

    def name(index):
        base = HOSTILE[index % len(HOSTILE)]
        if index < len(HOSTILE):
            return base
        # Mixed with others, and cut anywhere.
        other = HOSTILE[int(draw.integers(len(HOSTILE) - 8))]
        cut = int(draw.integers(len(other) + 1))
        return f"{base[:200]}{other[:cut]}{index}"
    names = [name(index) for index in range(count)]
    nodes, weights, last = [], {"w " + names[0]: numpy.full([1], 300.)}, "in " + names[1]
    for index, own in enumerate(names):
        out = f"{index}{own}"
        nodes.append(helper.make_node("Mul" if index < 4 else "Tanh", [last, "w " + names[0]] if index < 4 else [last], [out], name=own))
        last = out
    return _save(path, nodes, weights, [("in " + names[1], [2])], [last])


def report(model, folder, *options):
    file = folder / f"{model.stem}.html"
    done = run_mpopt("--check", model, *EVERYTHING, *options, "--format", "html", "-o", file)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="session")
def small(folder):
    return report(layers(folder / "small.onnx", 64, large=3), folder, "--precision", "fp16")


@pytest.fixture(scope="session")
def trained(folder):
    return report(classifier(folder / "classifier.onnx"), folder, "--train", "--memory", "--optimizer", "adamw",
                  "--precision", "autocast-fp16", "--loss", "cross-entropy")
