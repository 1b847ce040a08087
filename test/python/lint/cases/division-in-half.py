# case: by a sum
import torch

def normalise(x):
    x = x.half()
    return x / x.sum(-1, keepdim=True)  # finds warning
# case: guarded, or in FP32
import torch

def normalise(x):
    x = x.half()
    y = x / (x.sum(-1, keepdim=True) + 1e-3)
    z = x / x.sum(-1, keepdim=True).clamp(min=1e-3)
    return y + z + x / x.float().sum() + x / 2
# case: a length that is rounded
import torch

def direct(lines, x):
    direction = lines[..., 2:] - lines[..., :2]
    sizes = torch.norm(direction, dim=-1).half()
    return direction / sizes.unsqueeze(-1) + x / x.float().sum().half()
