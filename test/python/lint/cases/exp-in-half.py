# case: exp, log and a power
import torch

def all_of_them(x):
    x = x.to(torch.float16)
    y = torch.exp(x)  # finds warning
    z = x.log()  # finds warning
    return y + z + x ** 3  # finds warning
# case: in FP32
import torch

def scale(x):
    x = x.half()
    return x.float().exp() + x.double().log() + x ** 2
# case: BF16, which has FP32's range
import torch

def scale(x):
    return x.bfloat16().exp()
# case: of what is bounded
import torch
h = x.half()
y = h.clamp(min=1e-4).log()
