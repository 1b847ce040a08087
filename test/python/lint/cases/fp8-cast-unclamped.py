# case: a scale that was calibrated
import torch

class Linear(torch.nn.Module):
    def forward(self, x):
        scale = self.input_scale.to(torch.float32)
        codes = (x / scale).to(torch.float8_e4m3fn)  # finds warning
        return torch._scaled_mm(codes, self.weight, scale_a=scale, scale_b=self.weight_scale)
# case: a number
import torch
SCALE = 0.02
codes = (x.float() / SCALE).reshape(-1, 64).to(dtype=torch.float8_e4m3fn)  # finds warning
# case: limited before, behind and in place
import torch

class Linear(torch.nn.Module):
    def forward(self, x):
        a = (x / self.scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        limited = x.clamp(-self.most, self.most)
        b = (limited / self.scale).to(torch.float8_e4m3fn)
        c = x / self.scale
        c.clamp_(-448, 448)
        return a, b, c.to(torch.float8_e4m3fn)
# case: the tensor's own scale, and one that a caller has
import torch

def cast(x, scale):
    own = x.abs().max().clamp(min=1e-12) / 448
    return (x / own).to(torch.float8_e4m3fn), (x / scale).to(torch.float8_e4m3fn), (x / self.make_scale(x)).to(torch.bfloat16)
# case: a function that casts
import torch
from torch import nn

def static_quant(x, inv_scale, dtype=torch.float8_e4m3fn):
    return (x * inv_scale).to(dtype)  # finds warning

class Linear(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.register_buffer("weight", torch.empty(outer, inner, dtype=torch.float8_e4m3fn))
        self.register_buffer("input_scale", torch.ones(()))

    def forward(self, x):
        codes = static_quant(x, 1.0 / self.input_scale)
        return torch._scaled_mm(codes, self.weight.t(), scale_a=self.input_scale, scale_b=self.weight_scale, out_dtype=x.dtype)
# case: a function that limits
import torch
from torch import nn

def static_quant(x, inv_scale, dtype=torch.float8_e4m3fn):
    return (x * inv_scale).clamp(-448.0, 448.0).to(dtype)

class Linear(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.register_buffer("weight", torch.empty(outer, inner, dtype=torch.float8_e4m3fn))
        self.register_buffer("input_scale", torch.ones(()))

    def forward(self, x):
        codes = static_quant(x, 1.0 / self.input_scale)
        return torch._scaled_mm(codes, self.weight.t(), scale_a=self.input_scale, scale_b=self.weight_scale, out_dtype=x.dtype)
# case: the scale of a cache
import torch

def store(key, value, cache, k_scale, v_scale, slots):
    cache.key[slots] = (key / k_scale).to(torch.float8_e4m3fn)  # finds warning
    cache.value[slots] = (value / v_scale).clamp(-448, 448).to(torch.float8_e4m3fn)
# case: the scale of a cache, made there
import torch

def store(key, cache, slots):
    k_scale = key.abs().max().clamp(min=1e-12) / 448
    cache.key[slots] = (key / k_scale).to(torch.float8_e4m3fn)
