"""Gradients of a layer whose experts a rounded router chooses, beside a step whose products have operands of FP8."""

from __future__ import annotations

import json

import onnx.parser
import pytest
from tool import run_mpopt

torch = pytest.importorskip("torch", reason="torch is not in this environment")

TOKENS, WIDTH, EXPERTS = 1024, 32, 4
#: The tolerance of estimates of gradients: gates of contested tokens are smaller than others, which the estimate does not know.
FACTOR = 2
CHOICES = {"largest": "m = ReduceMax <axes = [-1], keepdims = 1> (p) b = Equal (p, m) k = Cast <to = 1> (b)",
           "topk": "v, i = TopK <axis = -1> (p, one) o = OneHot <axis = -1> (i, count, ends) k = ReduceSum <keepdims = 0> (o, middle)"}
GRAPH = """<ir_version: 10, opset_import: ["" : 17]>
g (float[1024, 32] x) => (float[1024, 32] y)
<int64[1] one = {{1}}, int64[1] first = {{0}}, int64[1] middle = {{1}}, int64[1] last = {{2}},
 int64 count = {{4}}, float[2] ends = {{0, 1}}> {{
  l = MatMul (x, router) p = Softmax <axis = -1> (l) {choice}
  g = Mul (p, k) t = Transpose <perm = [1, 0]> (g) u = Unsqueeze (t, last) w = Unsqueeze (x, first)
  a = MatMul (w, experts) s = Mul (a, u) y = ReduceSum <keepdims = 0> (s, first)
}}"""


def read(x, dtype):
    most = torch.finfo(dtype).max
    scale = x.abs().max() / most
    return (x / scale).clamp(-most, most).to(dtype).float() * scale


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, forms):
        ctx.save_for_backward(x, w)
        ctx.forms = forms
        return read(x, forms[0]) @ read(w, forms[0]) if forms else x @ w

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        if ctx.forms:
            x, w, dy = read(x, ctx.forms[0]), read(w, ctx.forms[0]), read(dy, ctx.forms[1])
        return dy @ w.mT, x.mT @ dy, None


def step(weights, forms):
    random = torch.Generator().manual_seed(3)
    x, target = torch.randn(2, TOKENS, WIDTH, generator=random)
    # Far larger than results, so that terms of a gradient are independent.
    target *= 8
    router, experts = (w.clone().requires_grad_() for w in weights)
    p = torch.softmax(Product.apply(x, router, forms), -1)
    gates = p * torch.nn.functional.one_hot(p.argmax(-1), EXPERTS)
    y = (Product.apply(x.expand(EXPERTS, *x.shape), experts, forms) * gates.T[..., None]).sum(0)
    ((y - target) ** 2).mean().backward()
    return router.grad, experts.grad


@pytest.mark.parametrize("choice", CHOICES)
def test_choices_count(tmp_path, choice):
    random = torch.Generator().manual_seed(1)
    weights = [torch.randn(WIDTH, EXPERTS, generator=random) / WIDTH ** 0.5, torch.randn(EXPERTS, WIDTH, WIDTH, generator=random) / WIDTH ** 0.5]
    model = onnx.parser.parse_model(GRAPH.format(choice=CHOICES[choice]))
    model.graph.initializer.extend(onnx.numpy_helper.from_array(w.numpy(), name) for name, w in zip(("router", "experts"), weights))
    onnx.save(model, tmp_path / "net.onnx")
    done = run_mpopt("--check", tmp_path / "net.onnx", "--train", "--loss", "mse:y,t", "--precision", "fp8:current", "--format", "json", "--fail-on",
                     "never", "--input", "x=-8:8", "--input", "x~0,1", "--input", "t=-40:40", "--input", "t~0,8", check=True)
    expected = {each["parameter"]: each["expected_error"] for each in json.loads(done.stdout)["training"]["gradients"]}
    exact, moved = step(weights, None), step(weights, (torch.float8_e4m3fn, torch.float8_e5m2))
    for name, a, b in zip(("router", "experts"), exact, moved):
        true = float((a - b).norm() / a.norm())
        assert true / FACTOR < expected[name] < FACTOR * true, name
