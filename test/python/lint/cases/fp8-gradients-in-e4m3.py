# case: delayed scaling
import transformer_engine.pytorch as te
from transformer_engine.common import recipe
scaling = recipe.DelayedScaling(margin=0, fp8_format=recipe.Format.E4M3)  # finds warning
with te.fp8_autocast(fp8_recipe=scaling):
    loss = model(x).mean()
loss.backward()
# case: by Accelerate
from accelerate import Accelerator
from accelerate.utils import TERecipeKwargs
kwargs = [TERecipeKwargs(fp8_format="E4M3")]  # finds warning
accelerator = Accelerator(mixed_precision="fp8", kwargs_handlers=kwargs)
accelerator.backward(loss)
# case: hybrid, blocks, and no training
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling, Float8BlockScaling, Format
scaling = DelayedScaling(fp8_format=Format.HYBRID)
blocks = Float8BlockScaling(fp8_format=Format.E4M3)
loss.backward()
# case: inference
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling, Format
with te.fp8_autocast(fp8_recipe=DelayedScaling(fp8_format=Format.E4M3)):
    y = model(x)
# case: in an autograd function
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        scale = gradient.abs().max().clamp(min=1e-12) / 448
        codes = (gradient / scale).clamp(-448, 448).to(torch.float8_e4m3fn)  # finds warning
        return (codes.float() * scale) @ w, (codes.float() * scale).t() @ x
# case: by a helper
import torch
from torch.autograd import Function

def cast(values):
    amax = values.abs().amax().clamp(min=1e-12)
    return (values * (448 / amax)).to(torch.float8_e4m3fn), amax / 448  # finds warning

class Product(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        codes, scale = cast(x)
        return (codes.float() * scale) @ w.t()

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        codes, scale = cast(gradient)
        return (codes.float() * scale) @ w, gradient.t() @ x
# case: by row, and E5M2
import torch

def cast(values, dtype):
    amax = values.abs().amax().clamp(min=1e-12)
    return (values * (torch.finfo(dtype).max / amax)).to(dtype), amax / torch.finfo(dtype).max

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        codes, scale = cast(x, torch.float8_e4m3fn)
        return (codes.float() * scale) @ w.t()

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        amax = gradient.abs().amax(-1, keepdim=True).clamp(min=1e-12)
        rows = (gradient * (448 / amax)).to(torch.float8_e4m3fn)
        codes, scale = cast(gradient, torch.float8_e5m2)
        return (rows.float() * amax / 448) @ w, (codes.float() * scale).t() @ x
