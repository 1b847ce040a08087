"""The error that quantisation is expected to bring into outputs of PyTorch's quantised files, against runs of the
float network and of the quantised one: ops of `quantized_decomposed` and torchao in exported programs, weights that
are cast from codes, and quantised archives of TorchScript."""

from __future__ import annotations

import copy
import json
import logging
import warnings

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
from tool import run_mpopt
from torch import nn

ops = torch.ops.quantized_decomposed
WIDTH = 64
#: The tolerance of an estimate of one run's largest error.
FACTOR = 3

torchao = torch.library.Library("torchao", "FRAGMENT")
torchao.define("choose_qparams_affine(Tensor input, str mapping_type, int[] block_size, ScalarType target_dtype, "
               "int? quant_min=None, int? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, "
               "ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)")
torchao.define("quantize_affine(Tensor input, int[] block_size, Tensor scale, Tensor? zero_point, "
               "ScalarType output_dtype, int? quant_min=None, int? quant_max=None) -> Tensor")
torchao.define("dequantize_affine(Tensor input, int[] block_size, Tensor scale, Tensor? zero_point, "
               "ScalarType input_dtype, int? quant_min=None, int? quant_max=None, "
               "ScalarType output_dtype=float) -> Tensor")


def spread(parameter, block_size):
    for axis, block in enumerate(block_size):
        parameter = parameter.repeat_interleave(block, axis)
    return parameter


def choose(input, mapping_type, block_size, target_dtype, quant_min=None, quant_max=None, *rest, **more):
    scale = input.abs().amax(-1, keepdim=True).clamp(min=1e-7) / ((quant_max - quant_min) / 2)
    return scale, torch.zeros_like(scale, dtype=torch.int8)


def quantize(input, block_size, scale, zero_point, output_dtype, quant_min=None, quant_max=None):
    scale, zero = spread(scale, block_size), spread(zero_point, block_size)
    return (torch.round(input / scale) + zero).clamp(quant_min, quant_max).to(output_dtype)


def dequantize(input, block_size, scale, zero_point, input_dtype, quant_min=None, quant_max=None,
               output_dtype=torch.float32):
    return ((input - spread(zero_point, block_size).float()) * spread(scale, block_size)).to(output_dtype)


for name, function in (("choose_qparams_affine", choose), ("quantize_affine", quantize),
                       ("dequantize_affine", dequantize)):
    torchao.impl(name, function, "CPU")
    torchao.impl(name, function, "Meta")


class Layers(nn.Module):
    """Two layers and a residual sum. `product` computes a layer."""

    def __init__(self, product=None, calibrate=1.0):
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.weights = nn.ParameterList(torch.randn(WIDTH, WIDTH, generator=generator) / 8 for _ in range(3))
        self.product, self.calibrate = product or (lambda self, x, w: x @ w.t()), calibrate

    def forward(self, x):
        h = torch.relu(self.product(self, x, self.weights[0]))
        return self.product(self, torch.relu(self.product(self, h, self.weights[1])) + h, self.weights[2])


def codes(weight, most=127, group=WIDTH):
    """Codes of a weight, one scale for each `group` elements of a row, and zero points."""
    blocks = weight.detach().reshape(WIDTH, -1, group)
    scale = blocks.abs().amax(-1) / most
    found = (blocks / scale[..., None]).round().to(torch.int8).reshape(WIDTH, WIDTH)
    return found, scale, torch.zeros_like(scale, dtype=torch.int8)


class Quantized(Layers):
    """The weights are buffers of codes, scales and zero points; `most` and `group` as in codes()."""

    def __init__(self, product, most=127, group=WIDTH, **more):
        super().__init__(product, **more)
        for index, weight in enumerate(self.weights):
            for name, value in zip(("codes", "scale", "zero"), codes(weight, most, group)):
                self.register_buffer(f"{name}{index}", value)
        del self.weights
        self.weights = range(3)

    def parts(self, index):
        return (getattr(self, f"{name}{index}") for name in ("codes", "scale", "zero"))


def channels(self, index):
    code, scale, zero = self.parts(index)
    return ops.dequantize_per_channel(code, scale.flatten(), zero.flatten().long(), 0, -128, 127, torch.int8)


def static(self, x, index):
    step = self.calibrate * 8 / 255
    args = (step, 127 if index == 0 else 0, 0, 255, torch.uint8)
    return ops.dequantize_per_tensor(ops.quantize_per_tensor(x, *args), *args) @ channels(self, index).t()


def dynamic(self, x, index):
    scale, zero = ops.choose_qparams.tensor(x, 0, 255, 2.0**-12, torch.uint8)
    args = (scale, zero, 0, 255, torch.uint8)
    return ops.dequantize_per_tensor.tensor(ops.quantize_per_tensor.tensor(x, *args), *args) @ channels(self, index).t()


def tokens(self, x, index):
    code, scale, zero = self.parts(index)
    step, at = torch.ops.torchao.choose_qparams_affine(x, "SYMMETRIC", [1, WIDTH], torch.int8, -128, 127, 1e-7,
                                                       torch.float32, torch.int8, True)
    numbers = torch.ops.torchao.quantize_affine(x, [1, WIDTH], step, at, torch.int8, -128, 127)
    numbers = torch.ops.torchao.dequantize_affine(numbers, [1, WIDTH], step, at, torch.int8, -128, 127)
    return numbers @ torch.ops.torchao.dequantize_affine(code, [1, 32], scale, zero, torch.int8, -8, 7).t()


def behind(self, x, index):
    """The product of codes as they are, times the scales: torchao's weight-only layer."""
    code, scale, _ = self.parts(index)
    return (x @ code.t().to(torch.float32)) * scale.flatten()


def integers(self, x, index):
    """PyTorch's product of codes, of rows that are quantised by hand."""
    code, scale, _ = self.parts(index)
    step = x.abs().amax(-1, keepdim=True).clamp(min=1e-7) / 127
    numbers = torch.round(x / step).clamp(-127, 127).to(torch.int8)
    return torch._int_mm(numbers, code.t()).to(torch.float32) * step * scale.flatten()


def integers_of_torchao(self, x, index):
    """The same of rows that torchao quantises, by a list of their scales."""
    code, scale, _ = self.parts(index)
    step, at = torch.ops.torchao.choose_qparams_affine(x, "SYMMETRIC", [1, WIDTH], torch.int8, -128, 127, 1e-7,
                                                       torch.float32, torch.int8, True)
    numbers = torch.ops.torchao.quantize_affine(x, [1, WIDTH], step, at, torch.int8, -128, 127).reshape(2, -1, WIDTH)
    return torch._int_mm(numbers.reshape(-1, WIDTH), code.t()).to(torch.float32) * step.reshape(-1, 1) * scale.flatten()


def offset(self, x, index):
    """The same with codes that are made unsigned for kernels of a CPU, which torchao takes away again from the sums."""
    code, scale, _ = self.parts(index)
    step, at = torch.ops.torchao.choose_qparams_affine(x, "SYMMETRIC", [1, WIDTH], torch.int8, -128, 127, 1e-7,
                                                       torch.float32, torch.int8, True)
    numbers = torch.ops.torchao.quantize_affine(x, [1, WIDTH], step, at, torch.int8, -128, 127)
    raised = (numbers.to(torch.int32) + 128).to(torch.uint8)
    weights = code.t()
    sums = torch._int_mm(raised, weights) - weights.to(torch.int32).sum(0, keepdim=True, dtype=torch.int32) * 128
    return sums.to(torch.float32) * step * scale.flatten()


def zeros(self, x, index):
    """Weights of codes less their zero points, one a block of a row, written with ordinary ops."""
    code, scale, zero = self.parts(index)
    blocks = (code.reshape(WIDTH, -1, 32).float() - zero[..., None].float()) * scale[..., None]
    return x @ blocks.reshape(WIDTH, WIDTH).t()


def judge(path, *more):
    done = run_mpopt("--check", str(path), "--format", "json", "--fail-on", "never", "--input", "x~0,1", "--input",
                     "x=-10:10", *more)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    [effect] = report["effects"]
    return report, effect


def measure(exact, other, shape=(16, WIDTH)) -> float:
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        pairs = [(exact(x), other(x)) for x in (torch.randn(shape, generator=generator) for _ in range(6))]
    most = max(float(y.abs().max()) for y, _ in pairs)
    return max(float((z - y).abs().max()) for y, z in pairs) / most


def export(module, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(torch.export.export(module, (torch.zeros(16, WIDTH),)), path)


FORMS = {
    "static": Quantized(static),
    "dynamic": Quantized(dynamic),
    "tokens and blocks of 4 bits": Quantized(tokens, most=7, group=32),
    "scale behind the product": Quantized(behind),
    "product of codes": Quantized(integers),
    "product of codes of torchao": Quantized(integers_of_torchao),
    "product of codes with an offset": Quantized(offset),
    "zero points by hand": Quantized(zeros, most=7, group=32),
}
#: Their activations are floats.
OF_WEIGHTS = ("scale behind the product", "zero points by hand")


@pytest.mark.parametrize("form", FORMS)
def test_exported(form, tmp_path):
    path, module = tmp_path / "codes.pt2", FORMS[form]
    export(module, path)
    (report, effect), measured = judge(path), measure(Layers(), module)
    assert report["precision"] == "as-is" and not report["coverage"]["unmodelled"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
    assert effect["by"]["weights"] and not effect["by"]["saturation"]
    assert bool(effect["by"]["activations"]) == (form not in OF_WEIGHTS)
    assert not [finding for finding in report["findings"] if finding["rule"] in ("MP602", "MP603", "MP609")]


def test_a_product_without_a_model_is_unknown(tmp_path):
    """Codes that no known op reads: quantised all the same, and the op is named."""
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            code, scale, _ = codes(torch.randn(WIDTH, WIDTH))
            self.register_buffer("code", code)
            self.register_buffer("scale", scale.flatten())

        def forward(self, x):
            return torch._weight_int8pack_mm(x, self.code, self.scale)

    path = tmp_path / "codes.pt2"
    export(Packed(), path)
    report, effect = judge(path)
    assert report["precision"] == "as-is" and effect["expected_error"] is None
    assert "_weight_int8pack_mm" in effect["unknown"]


def test_exported_on_small_inputs(tmp_path):
    path, module = tmp_path / "codes.pt2", Quantized(static, calibrate=1 / 8)
    export(module, path)
    report, effect = judge(path)
    assert measure(Layers(), module) > 0.4 and effect["expected_error"] > 0.2
    assert effect["by"]["saturation"] > effect["by"]["weights"]
    assert "MP602" in [finding["rule"] for finding in report["findings"] if finding["severity"] == "error"]


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.first, self.second, self.last = nn.Conv2d(3, 16, 3), nn.Conv2d(16, 32, 3, stride=2), nn.Linear(32, 10)
        for layer in (self.first, self.second):
            nn.init.kaiming_normal_(layer.weight)

    def forward(self, x):
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.last(torch.flatten(nn.functional.adaptive_avg_pool2d(x, 1), 1))


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.norm, self.last = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 16)

    def forward(self, x):
        return self.last(self.norm(self.first(x) + x))


@pytest.mark.parametrize(("network", "shape"), [(Images, (4, 3, 18, 18)), (Normed, (16, WIDTH))])
def test_torchscript(network, shape, tmp_path):
    """A quantised average is rounded to the scale of what it averages; a quantised norm has a scale of its own."""
    logging.getLogger("torch.ao").setLevel(logging.ERROR)
    quantization = pytest.importorskip("torch.ao.quantization.quantize_fx")
    module, sample = network().eval(), torch.randn(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mapping = torch.ao.quantization.get_default_qconfig_mapping("fbgemm")
        prepared = quantization.prepare_fx(copy.deepcopy(module), mapping, (sample,))
        generator = torch.Generator().manual_seed(7)
        for _ in range(16):
            prepared(torch.randn(shape, generator=generator))
        converted = quantization.convert_fx(prepared)
        path = tmp_path / "codes.pt"
        torch.jit.trace(converted, sample).save(path)
    (report, effect), measured = judge(path), measure(module, converted, shape)
    assert not report["coverage"]["unmodelled"]
    assert measured / FACTOR < effect["expected_error"] < measured * FACTOR
