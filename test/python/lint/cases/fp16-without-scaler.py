# case: the default of CUDA
import torch
import torch.nn.functional as F

def step(model, optimizer, x, y):
    with torch.autocast("cuda"):  # finds warning
        loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
# case: BF16
import torch
import torch.nn.functional as F

def step(model, optimizer, x, y):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
# case: evaluation
import torch

def predict(model, x):
    with torch.autocast("cuda"):
        return model(x)
# case: another file brings the scaler
import torch
import torch.nn.functional as F

def step(model, loss_scaler, optimizer, x, y):
    with torch.autocast("cuda"):
        loss = F.cross_entropy(model(x), y)
    loss_scaler(loss, optimizer, model.parameters())
# case: a type that is not known
import torch
import torch.nn.functional as F

def step(args, model, optimizer, x, y):
    with torch.autocast("cuda", dtype=args.dtype):
        loss = F.cross_entropy(model(x), y)
    loss.backward()
# case: FP16 by an option
import torch
dtype = torch.bfloat16 if args.dtype == "bfloat16" else torch.float16
region = nullcontext() if args.cpu else torch.autocast("cuda", dtype=dtype)  # finds warning
for x in loader:
    with region:
        loss = model(x).mean()
    loss.backward()
# case: FP16 by an option, with a scaler
import torch
dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[args.dtype]
scaler = torch.amp.GradScaler(enabled=dtype is torch.float16)
for x in loader:
    with torch.autocast("cuda", dtype=dtype):
        loss = model(x).mean()
    scaler.scale(loss).backward()
# case: another model runs without gradients before the backward pass
import torch
region = torch.autocast("cuda", dtype=torch.float16)  # finds warning
for x in loader:
    with region:
        out = model(x)
    with torch.no_grad():
        target = teacher(x)
    (out.float() - target).square().mean().backward()
# case: only a model without gradients runs in FP16
import torch
for x in loader:
    out = model(x)
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        target = teacher(x)
    (out - target.float()).square().mean().backward()
# case: more paths than are followed
import torch
for x in loader:
    with torch.autocast("cuda", dtype=torch.float16):  # finds warning
        if a:
            y = model(x)
        if b:
            y = model(x)
        if c:
            y = model(x)
        if d:
            y = model(x)
        if e:
            y = model(x)
        if f:
            y = model(x)
        if g:
            y = model(x)
        if h:
            y = model(x)
        if i:
            y = model(x)
        if j:
            y = model(x)
        if k:
            y = model(x)
        if l:
            y = model(x)
    y.mean().backward()
# case: by hand in a Lightning module
import lightning as L
import torch
class Module(L.LightningModule):
    def training_step(self, batch, index):
        with torch.autocast("cuda", dtype=torch.float16):  # finds warning
            return self.loss(batch)
trainer = L.Trainer(max_epochs=3)
# case: by hand, and the trainer may scale
import lightning as L
import torch
class Module(L.LightningModule):
    def training_step(self, batch, index):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.loss(batch)
trainer = L.Trainer(precision=args.precision)
# case: a loss in FP32 behind the region
import torch
def take(batch, net, low=False):
    if low:
        with torch.autocast("cuda", dtype=torch.float16):  # finds warning
            out = net(batch[0]).sample
    else:
        out = net(batch[0]).sample
    return torch.nn.functional.mse_loss(out.float(), batch[1].float())
def train(net, optimizer, loader):
    for batch in loader:
        optimizer.zero_grad()
        take(batch, net, low=True).backward()
        optimizer.step()
# case: words of remarks
"""Trains without a GradScaler."""
import torch
model = torch.nn.Linear(4, 4)
for x in loader:
    # DeepSpeed and Accelerate have no part in it, and neither has a scaler.
    with torch.autocast("cuda", torch.float16):  # finds warning
        loss = model(x).mean()
    loss.backward()
    optimizer.step()
# case: a gradient that is given
import torch

def test_kernel(kernel, norm, x, gradient):
    with torch.autocast("cuda", torch.float16):
        y = norm(x)
        y.backward(gradient)
        kernel(x).backward(gradient)
# case: a device that is not known
import torch

def train(model, optimizer, batches, device, mixed):
    for x, y in batches:
        if mixed:
            with torch.autocast(device_type=device.type):  # finds warning
                out = model(x)
        else:
            out = model(x)
        loss = torch.nn.functional.mse_loss(out, y)
        loss.backward()
        optimizer.step()
# case: a device that is not known, with a dtype
import torch

def train(model, optimizer, batches, device):
    for x, y in batches:
        with torch.autocast(device_type=device.type, dtype=torch.bfloat16):
            out = model(x)
        torch.nn.functional.mse_loss(out, y).backward()
        optimizer.step()
