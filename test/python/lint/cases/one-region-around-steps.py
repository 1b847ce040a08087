# case: around the loop
import torch
with torch.autocast("cuda", dtype=torch.bfloat16):  # finds error
    for x, y in loader:
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
# case: by a library, and in a function
from accelerate import Accelerator
accelerator = Accelerator(mixed_precision="bf16")

def step(optimizer, loss):
    accelerator.backward(loss)
    optimizer.step()

def train(model, optimizer, loader):
    with accelerator.autocast():  # finds error
        for x in loader:
            step(optimizer, model(x).mean())
# case: a decorator of the function with the loop
import torch

@torch.autocast("cuda")  # finds error
def train(model, optimizer, scaler, loader):
    for x in loader:
        scaler.scale(model(x).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
# case: in each pass
import torch
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
# case: a function that is called in each pass, inside the region of each
import torch

@torch.autocast("cuda")
def step(model, optimizer, x):
    model(x).mean().backward()
    optimizer.step()

for x in loader:
    step(model, optimizer, x)
# case: without a cache, or with one that is emptied
import torch
with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
# case: switched off
import torch
with torch.autocast("cuda", enabled=False):
    for x in loader:
        model(x).mean().backward()
        optimizer.step()
# case: entered by a stack
import contextlib
import torch

def train(model, opt, loader, low):
    with contextlib.ExitStack() as stack:
        if low:
            stack.enter_context(torch.autocast("cuda", dtype=torch.bfloat16))  # finds error
        for x in loader:
            opt.zero_grad()
            model(x).mean().backward()
            opt.step()
# case: entered by a stack in each pass
import contextlib
import torch

def train(model, opt, loader, low):
    for x in loader:
        opt.zero_grad()
        with contextlib.ExitStack() as stack:
            if low:
                stack.enter_context(torch.autocast("cuda", dtype=torch.bfloat16))
            loss = model(x).mean()
        loss.backward()
        opt.step()
