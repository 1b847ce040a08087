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
# case: the norm of gradients in the FP16 of their parameters
import torch

def total_norm(parameters):
    grads = [p.grad for p in parameters if p.grad is not None]
    return sum(torch.norm(g, 2) ** 2 for g in grads) ** 0.5  # finds warning

def wide_norm(parameters):
    grads = [p.grad for p in parameters if p.grad is not None]
    return sum(torch.norm(g, 2, dtype=torch.float32) ** 2 for g in grads) ** 0.5

model = torch.nn.Linear(4, 4).half()
model(x).float().sum().backward()
total_norm(list(model.parameters())), wide_norm(list(model.parameters()))
sum(p.grad.norm() ** 2 for p in torch.nn.Linear(4, 4).parameters())
