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
# case: the default of a helper's argument, in a network in FP16
import torch
from torch import nn

def log(t, eps=1e-20):
    return t.clamp(min=eps).log()  # finds error

def safe_log(t, eps=1e-5):
    return t.clamp(min=eps).log()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        p = self.body(x).softmax(-1)
        return (p * log(p) + p * safe_log(p)).sum()

Net().half()(torch.randn(4, 4).half())
# case: under autocast, which computes norms in FP32 on CUDA only
import torch
import torch.nn.functional as F
x = torch.zeros(4, dtype=torch.float16)
with torch.autocast("cuda", torch.float16):
    y = F.normalize(x, dim=0)
with torch.autocast("cpu", torch.float16):
    z = F.normalize(x, dim=0)  # finds error
# case: entries of what a model in FP16 gives, widened one by one
import torch

def judge(model, x, is_low):
    if is_low:
        model.half()
    out = model(x)
    if is_low:
        for key in out.keys():
            out[key] = out[key].float()
    return out["boxes"] / (out["boxes"].amax() + 1e-8)

def first(model, x):
    model.half()
    out = model(x)
    out[0] = 0.0
    return out / (out.amax() + 1e-8)  # finds error
