# case: added
import torch

def normalise(x):
    x = x.half()
    return x / (x.abs().max() + 1e-8)  # finds error
# case: a limit, and a default
import torch
import torch.nn.functional as F

def both(q):
    x = torch.zeros(4, dtype=torch.float16)
    y = x.clamp(min=1e-10)  # finds error
    return y + F.normalize(x, dim=-1)  # finds error
# case: large enough, or not in FP16
import torch
import torch.nn.functional as F

def normalise(x, y):
    x = x.half()
    a = x / (x.abs().max() + 1e-6)
    b = y.bfloat16() + 1e-8
    c = F.normalize(x.float(), dim=-1)
    return a + b + c + (y + 1e-8)
