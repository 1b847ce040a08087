# case: rows
import torch

def cast(x):
    scale = 448.0 / x.abs().amax(-1, keepdim=True)
    return (x * scale).to(torch.float8_e4m3fn)  # finds warning
# case: over the scale, and limited
import torch

def cast(x):
    amax = x.abs().max()
    scale = amax / torch.finfo(torch.float8_e4m3fn).max
    return (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)  # finds warning
# case: a limit that is too small
import torch

def cast(x):
    scale = 448.0 / x.abs().max().clamp(min=1e-38)
    return (x * scale).to(torch.float8_e4m3fn)  # finds warning
# case: limits
import torch
EPS = 1e-12

def cast(x):
    a = 448.0 / x.abs().max().clamp(min=EPS)
    b = torch.maximum(x.abs().amax(), self.least) / 448
    c = 448 / (x.abs().amax(-1, keepdim=True) + 1e-10)
    return (x * a).to(torch.float8_e4m3fn), (x / b).to(torch.float8_e4m3fn), (x * c).to(torch.float8_e4m3fn)
# case: the least normal number limits a quotient
import torch

def cast(x):
    scale = max(x.abs().max() / 448, torch.finfo(torch.float32).tiny)
    return (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
# case: zeros are asked for
import torch

def cast(x):
    amax = x.abs().max()
    if amax == 0:
        return x.to(torch.float8_e4m3fn), 1
    return (x / (amax / 448)).to(torch.float8_e4m3fn), amax / 448
# case: by functions of the file
import torch
from torch import nn

def choose_scale(tensor, dtype, block):
    quant_max = torch.finfo(dtype).max
    amax = tensor.abs().reshape(-1, block).amax(-1, keepdim=True)
    scale = amax / quant_max
    return scale

def quantize(tensor, scale, dtype):
    fp8_max = torch.finfo(dtype).max
    return (tensor.float() / scale).clamp(-fp8_max, fp8_max).to(dtype)  # finds warning

def from_hp(tensor, dtype=torch.float8_e4m3fn, block=128):
    scale = choose_scale(tensor, dtype, block)
    return quantize(tensor.reshape(-1, block), scale, dtype), scale

data, scale = from_hp(torch.zeros(128, 128))
# case: limited there
import torch
from torch import nn

def choose_scale(tensor, dtype, block):
    quant_max = torch.finfo(dtype).max
    amax = tensor.abs().reshape(-1, block).amax(-1, keepdim=True)
    scale = (amax / quant_max).clamp(min=torch.finfo(torch.float32).smallest_normal)
    return scale

def quantize(tensor, scale, dtype):
    fp8_max = torch.finfo(dtype).max
    return (tensor.float() / scale).clamp(-fp8_max, fp8_max).to(dtype)

def from_hp(tensor, dtype=torch.float8_e4m3fn, block=128):
    scale = choose_scale(tensor, dtype, block)
    return quantize(tensor.reshape(-1, block), scale, dtype), scale

data, scale = from_hp(torch.zeros(128, 128))
# case: a kernel
import torch
import triton
import triton.language as tl

@triton.jit
def act_quant_kernel(x_ptr, y_ptr, s_ptr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs).to(tl.float32)
    s = tl.max(tl.abs(x)) / 448.0
    y = x / s
    y = y.to(y_ptr.dtype.element_ty)  # finds warning
    tl.store(y_ptr + offs, y)
    tl.store(s_ptr + pid, s)

def act_quant(x, block_size=128):
    y = torch.empty_like(x, dtype=torch.float8_e4m3fn)
    s = x.new_empty(*x.size()[:-1], x.size(-1) // block_size, dtype=torch.float32)
    act_quant_kernel[(x.numel() // block_size,)](x, y, s, BLOCK_SIZE=block_size)
    return y, s
# case: a kernel with a limit
import torch
import triton
import triton.language as tl

@triton.jit
def act_quant_kernel(x_ptr, y_ptr, s_ptr, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offs = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offs).to(tl.float32)
    s = tl.max(tl.abs(x)) / 448.0
    s = tl.maximum(s, 1e-12)
    y = x / s
    y = y.to(y_ptr.dtype.element_ty)
    tl.store(y_ptr + offs, y)
    tl.store(s_ptr + pid, s)

def act_quant(x, block_size=128):
    y = torch.empty_like(x, dtype=torch.float8_e4m3fn)
    s = x.new_empty(*x.size()[:-1], x.size(-1) // block_size, dtype=torch.float32)
    act_quant_kernel[(x.numel() // block_size,)](x, y, s, BLOCK_SIZE=block_size)
    return y, s
# case: a history of an object
import torch

class DelayedScale:
    def __init__(self):
        self.history = torch.zeros(16)

    def update(self, x):
        self.history = torch.roll(self.history, 1)
        self.history[0] = x.abs().max()
        amax = self.history.max()
        scale = 448.0 / amax
        
        return scale

    def cast(self, x):
        scale = self.update(x)
        return (x * scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale  # finds warning
# case: one that asks
import torch

class DelayedScale:
    def __init__(self):
        self.history = torch.zeros(16)

    def update(self, x):
        self.history = torch.roll(self.history, 1)
        self.history[0] = x.abs().max()
        amax = self.history.max()
        scale = 448.0 / amax
        scale = torch.where(torch.isfinite(scale), scale, torch.ones_like(scale))
        return scale

    def cast(self, x):
        scale = self.update(x)
        return (x * scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale
# case: a channel of zeros
import torch

def quantize_v(v):
    """One scale for each batch, head and channel over the sequence."""
    fp8_max = torch.finfo(torch.float8_e4m3fn).max
    scale = v.abs().amax(dim=-2, keepdim=True).float() / fp8_max
    divisor = torch.where(scale == 0, torch.ones_like(scale), scale)
    return (v / divisor).to(torch.float8_e4m3fn), scale
# case: the least normal number is too small
import torch
TINY = torch.finfo(torch.float32).tiny

def cast(x):
    amax = torch.clamp(x.abs().max(dim=-1, keepdim=True).values, min=TINY)
    inverse = 448 / amax
    return torch.clamp(x * inverse, -448, 448).to(torch.float8_e4m3fn)  # finds warning
# case: an epsilon of the format
import torch

def cast(x):
    amax = torch.clamp(x.abs().max(dim=-1, keepdim=True).values, min=torch.finfo(torch.float32).eps)
    return (x * (448 / amax)).clamp(-448, 448).to(torch.float8_e4m3fn)
# case: a function that calls itself
import torch

def quantise(x):
    if x.dim() > 2:
        return quantise(x.flatten(1))
    return x.to(torch.float8_e4m3fn)
