# case: three ways to square
import torch

def rms(x):
    x = x.half()
    a = x.pow(2).mean(-1, keepdim=True)  # finds warning
    b = (x ** 2).sum()  # finds warning
    return a + b + torch.mean(x * x)  # finds warning
# case: in FP32
import torch

def rms(x):
    x = x.half()
    return x.float().pow(2).mean() + (x * x.float()).sum() + (x * 2).sum()
