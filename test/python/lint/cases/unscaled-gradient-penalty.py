# case: of an output of the region
import torch

def train(discriminator, optimizer, scaler, x):
    with torch.autocast("cuda", torch.float16):
        out = discriminator(x)
    grad, = torch.autograd.grad(outputs=out.sum(), inputs=x, create_graph=True)  # finds warning
    loss = out.float().mean() + grad.float().square().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
# case: scaled
import torch

def train(discriminator, optimizer, scaler, x):
    with torch.autocast("cuda", torch.float16):
        out = discriminator(x)
    grad, = torch.autograd.grad(scaler.scale(out.sum()), x, create_graph=True)
    loss = out.float().mean() + (grad / scaler.get_scale()).square().sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
# case: in FP32, and in BF16
import torch

def train(discriminator, optimizer, scaler, x):
    out = discriminator(x)
    grad, = torch.autograd.grad(out.sum(), x, create_graph=True)
    with torch.autocast("cuda", torch.bfloat16):
        low = discriminator(x)
    other, = torch.autograd.grad(low.sum(), x, create_graph=True)
    scaler.scale(grad.square().sum() + other.float().square().sum()).backward()
    scaler.step(optimizer)
    scaler.update()
