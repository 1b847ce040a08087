"""Errors of gradients that positions have in common or share out, in FP8 as PyTorch rounds: the values of attention get nearly one error, so that the
gradient of their bias is as far off as the sum of the errors; a softmax's gradient adds up to 0, so that what keys have in common meets no error."""

import json

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from tool import run_mpopt  # noqa: E402

BATCH, POSITIONS, WIDTH = 4, 64, 48
SHAPE = [BATCH, POSITIONS, WIDTH]


def rounded(values, dtype):
    scale = values.abs().max() / torch.finfo(dtype).max
    return (values / scale).to(dtype).float() * scale


def product(x, w):
    """x w with both operands in FP8, and their gradients likewise."""
    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.stored = rounded(x, torch.float8_e4m3fn), rounded(w, torch.float8_e4m3fn)
            return ctx.stored[0] @ ctx.stored[1]

        @staticmethod
        def backward(ctx, dy):
            dy = rounded(dy, torch.float8_e5m2)
            return dy @ ctx.stored[1].T, torch.einsum("btk,btn->kn", ctx.stored[0], dy)
    return Layer.apply(x, w)


def expected_errors(path, nodes, held, inputs, output):
    shapes = {name: [BATCH, POSITIONS, POSITIONS] if name == "s" else SHAPE for name in inputs}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, output)],
                              [numpy_helper.from_array(w.astype("f4"), name) for name, w in held.items()])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), path)
    declared = [word for name, spread in inputs.items() for word in ("--input", f"{name}~0,{spread}")]
    done = run_mpopt("--check", path, "--train", "--precision", "fp8:current", "--loss", "mse:y", *declared, "--format", "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    return {g["parameter"]: g["expected_error"] for g in json.loads(done.stdout)["training"]["gradients"]}


def true_error(held, name, run):
    """Of the gradient of that parameter; `run(parameters, product, x)` is the network."""
    errors = []
    for seed in range(4):
        torch.manual_seed(seed)
        drawn = torch.randn(SHAPE), torch.randn(SHAPE), torch.randn(BATCH, POSITIONS, POSITIONS)
        gradients = []
        for made in (torch.matmul, product):
            parameters = {key: torch.tensor(w, dtype=torch.float32, requires_grad=True) for key, w in held.items()}
            loss = ((run(parameters, made, drawn[0], drawn[2]) - drawn[1]) ** 2).mean()
            gradients.append(torch.autograd.grad(loss, parameters[name])[0])
        errors.append(float((gradients[1] - gradients[0]).norm() / gradients[0].norm()))
    return float(numpy.mean(errors))


@pytest.mark.parametrize("spread", [0.1, 1.0])  # of the scores: probabilities are nearly even, or not
def test_bias_of_averaged_values(tmp_path, spread):
    draw = numpy.random.default_rng(3).normal
    held = {"v.weight": draw(0, WIDTH**-0.5, (WIDTH, WIDTH)), "v.bias": draw(0, 0.1, WIDTH), "out.weight": draw(0, WIDTH**-0.5, (WIDTH, WIDTH))}
    nodes = [helper.make_node("MatMul", ["x", "v.weight"], ["u"]), helper.make_node("Add", ["u", "v.bias"], ["v"]),
             helper.make_node("Softmax", ["s"], ["p"], axis=-1), helper.make_node("MatMul", ["p", "v"], ["o"]),
             helper.make_node("MatMul", ["o", "out.weight"], ["y"])]
    said = expected_errors(tmp_path / "m.onnx", nodes, held, {"x": 1, "s": spread}, SHAPE)["v.bias"]
    true = true_error(held, "v.bias", lambda p, product, x, s: product(
        torch.softmax(spread * s, -1) @ (product(x, p["v.weight"]) + p["v.bias"]), p["out.weight"]))
    assert true / 2 < said < true * 2, (said, true)


def test_queries_of_keys_with_a_common_part(tmp_path):
    draw = numpy.random.default_rng(3).normal
    held = {f"{name}.weight": draw(0, WIDTH**-0.5, (WIDTH, WIDTH)) for name in ("q", "k", "v", "out")} | {"k.bias": draw(0, 3, WIDTH)}
    nodes = [helper.make_node("MatMul", ["x", "q.weight"], ["q"]), helper.make_node("MatMul", ["x", "k.weight"], ["m"]),
             helper.make_node("Add", ["m", "k.bias"], ["k"]), helper.make_node("MatMul", ["x", "v.weight"], ["v"]),
             helper.make_node("Transpose", ["k"], ["t"], perm=[0, 2, 1]), helper.make_node("MatMul", ["q", "t"], ["a"]),
             helper.make_node("Mul", ["a", "scale"], ["s"]), helper.make_node("Softmax", ["s"], ["p"], axis=-1),
             helper.make_node("MatMul", ["p", "v"], ["o"]), helper.make_node("MatMul", ["o", "out.weight"], ["y"])]
    scale = numpy.array(WIDTH**-0.5)
    said = expected_errors(tmp_path / "m.onnx", nodes, held | {"scale": scale}, {"x": 1}, SHAPE)["q.weight"]

    def run(p, product, x, _):
        keys = product(x, p["k.weight"]) + p["k.bias"]
        scores = torch.softmax(product(x, p["q.weight"]) @ keys.mT * float(scale), -1)
        return product(scores @ product(x, p["v.weight"]), p["out.weight"])
    true = true_error(held, "q.weight", run)
    assert true / 2 < said < true * 2, (said, true)


def test_small_part_beside_a_large_one(tmp_path):
    """The first position has a gradient a thousand times as large as the others, and as much more of the error."""
    draw = numpy.random.default_rng(3).normal
    size = numpy.ones((1, POSITIONS + 1, 1))
    size[0, 0] = 1000
    held = {"weight": draw(0, WIDTH**-0.5, (WIDTH, WIDTH)), "out.weight": draw(0, WIDTH**-0.5, (WIDTH, WIDTH)), "first": draw(0, 1, (BATCH, 1, WIDTH))}
    nodes = [helper.make_node("MatMul", ["x", "weight"], ["u"]), helper.make_node("Concat", ["first", "u"], ["c"], axis=1),
             helper.make_node("MatMul", ["c", "out.weight"], ["z"]), helper.make_node("Mul", ["z", "size"], ["y"])]
    said = expected_errors(tmp_path / "m.onnx", nodes, held | {"size": size}, {"x": 1}, [BATCH, POSITIONS + 1, WIDTH])
    assert said["weight"] < 0.5, said


def test_positions_behind_a_mean_square_of_channels(tmp_path):
    """The gradient of a norm's mean square is one for all channels of a position, which are no positions for that: products over channels add up
    independent errors. Three layers of averages over positions behind such norms, whose errors positions have in common."""
    draw = numpy.random.default_rng(3).normal
    held = {f"{name}{layer}": draw(0, WIDTH**-0.5 / 2, (WIDTH, WIDTH)) for layer in range(3) for name in ("v", "o")}
    nodes, x = [helper.make_node("Softmax", ["s"], ["p"], axis=-1)], "x"
    for layer in range(3):
        own = [f"{name}{layer}" for name in ("square", "mean", "root", "norm", "value", "average", "out", "sum")]
        nodes += [helper.make_node("Pow", [x, "two"], own[:1]), helper.make_node("ReduceMean", own[:1], own[1:2], axes=[-1]),
                  helper.make_node("Sqrt", own[1:2], own[2:3]), helper.make_node("Div", [x, own[2]], own[3:4]),
                  helper.make_node("MatMul", [own[3], f"v{layer}"], own[4:5]), helper.make_node("MatMul", ["p", own[4]], own[5:6]),
                  helper.make_node("MatMul", [own[5], f"o{layer}"], own[6:7]),
                  helper.make_node("Add", [x, own[6]], ["y"] if layer == 2 else own[7:])]
        x = own[7]
    said = expected_errors(tmp_path / "m.onnx", nodes, held | {"two": numpy.array(2)}, {"x": 0.25, "s": 1}, SHAPE)

    def run(p, product, x, s):
        x = x / 4
        for layer in range(3):
            norm = x / (x**2).mean(-1, keepdim=True).sqrt()
            x = x + product(torch.softmax(s, -1) @ product(norm, p[f"v{layer}"]), p[f"o{layer}"])
        return x
    for name in ("v0", "o0"):
        true = true_error(held, name, run)
        assert true / 2 < said[name] < true * 2, (name, said[name], true)


def test_unit_vectors_in_front_of_a_loss_that_the_model_holds(tmp_path):
    """A shape that a norm is expanded to has no errors, whatever the tensor has; the gradient of -log softmax moves by P (e - sum P e) of the
    errors e of the logits, as that of a loss which is declared does."""
    draw = numpy.random.default_rng(3).normal
    classes, shape = 32, [64, WIDTH]
    held = {"w": draw(0, WIDTH**-0.5 / 4, (WIDTH, WIDTH)), "c": draw(0, 3, (WIDTH, classes))}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["u"]), helper.make_node("ReduceL2", ["u"], ["n"], axes=[-1]),
             helper.make_node("Shape", ["u"], ["size"]), helper.make_node("Expand", ["n", "size"], ["e"]), helper.make_node("Div", ["u", "e"], ["v"]),
             helper.make_node("MatMul", ["v", "c"], ["z"]), helper.make_node("SoftmaxCrossEntropyLoss", ["z", "t"], ["loss"])]
    tensors = [numpy_helper.from_array(w.astype("f4"), name) for name, w in held.items()]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, shape), value("t", TensorProto.INT64, shape[:1])],
                              [value("loss", TensorProto.FLOAT, [])], tensors)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), tmp_path / "m.onnx")
    done = run_mpopt("--check", tmp_path / "m.onnx", "--train", "--precision", "fp8:current", "--loss", "sum:loss", "--input", "x~0,1", "--input",
                     f"t=0:{classes - 1}", "--format", "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    said = {g["parameter"]: g["expected_error"] for g in json.loads(done.stdout)["training"]["gradients"]}
    torch.manual_seed(0)
    x, t = torch.randn([1, *shape]), torch.randint(0, classes, (shape[0],))
    gradients = []
    for made in (torch.matmul, product):
        p = {key: torch.tensor(w, dtype=torch.float32, requires_grad=True) for key, w in held.items()}
        u = made(x, p["w"])
        z = made(u / u.norm(dim=-1, keepdim=True), p["c"])[0]
        gradients.append(torch.autograd.grad(torch.nn.functional.cross_entropy(z, t), list(p.values())))
    for name, moved, exact in zip(held, gradients[1], gradients[0]):
        true = float((moved - exact).norm() / exact.norm())
        assert true / 1.5 < said[name] < true * 1.5, (name, said[name], true)
