# case: a constant
import torch
FP8_MAX = 448.0

def cast(x):
    scale = x.abs().max().clamp(min=1e-12) / FP8_MAX
    return (x / scale).clamp(-FP8_MAX, FP8_MAX).to(torch.float8_e4m3fnuz)  # finds error
# case: by the machine
import torch
KIND = torch.float8_e4m3fnuz if torch.version.hip else torch.float8_e4m3fn

def cast(x):
    top = torch.finfo(torch.float8_e4m3fn).max
    return (x / (x.abs().max().clamp(min=1e-12) / top)).to(KIND)  # finds error
# case: the format's own
import torch
KIND = torch.float8_e4m3fnuz if torch.version.hip else torch.float8_e4m3fn

def cast(x, dtype):
    top = torch.finfo(KIND).max
    a = (x / (x.abs().max().clamp(min=1e-12) / top)).to(KIND)
    b = (x / (x.abs().max().clamp(min=1e-12) / 240.0)).to(torch.float8_e4m3fnuz)
    c = (x / (x.abs().max().clamp(min=1e-12) / torch.finfo(dtype).max)).to(dtype)
    return a, b, c, (x * 448).to(torch.bfloat16)
# case: finfo of another format
import torch

def scaled_quantize(x, quant_dtype=torch.float8_e4m3fnuz):
    finfo = torch.finfo(torch.float8_e4m3fn)
    min_val, max_val = x.aminmax(dim=-1, keepdim=True)
    amax = torch.maximum(min_val.abs(), max_val.abs()).clamp(min=1e-12)
    scale = finfo.max / amax
    x = (x * scale).clamp(min=finfo.min, max=finfo.max)
    return x.to(torch.float8_e4m3fnuz).contiguous(), scale.float().reciprocal()  # finds error
# case: one number for each
import torch
from transformer_engine.pytorch import utils

def is_fnuz():
    return torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942")

FP8_DTYPE = torch.float8_e4m3fnuz if is_fnuz() else torch.float8_e4m3fn

def initialise(weight):
    max_fp8 = 240.0 if is_fnuz() else 448.0
    amax = weight.abs().max().float().clamp(min=1e-12)
    scale = max_fp8 / amax
    return (weight * scale).clamp(-max_fp8, max_fp8).to(FP8_DTYPE), 1 / scale
