# case: behind the block
import torch
import torch.nn.functional as F
model = torch.nn.Linear(4, 4)

def step(x, y):
    with torch.autocast("cuda"):
        out = model(x)
    loss = F.mse_loss(out, y)  # finds warning
    loss.backward()
# case: a loss module and a model that only its name tells
import torch
from torch.cuda.amp import autocast  # noqa: MP763

def train(model, loader):
    criterion = torch.nn.CrossEntropyLoss()
    for x, y in loader:
        with autocast(enabled=True):
            output = model(x)
        loss = criterion(output, y)  # finds warning
# case: inside
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cuda"):
        loss = F.mse_loss(model(x), y)
    loss.backward()
# case: of FP32 values
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cuda"):
        out = model(x)
    loss = F.mse_loss(out.float(), y)
# case: a context that the file does not show
import torch
import torch.nn.functional as F
from contexts import precision

def step(model, x, y):
    with torch.autocast("cuda"):
        out = model(x)
    with precision():
        loss = F.mse_loss(out, y)
# case: a loss module of the file, which sums
import torch
from torch import nn

class Dice(nn.Module):
    def forward(self, p, t):
        both = (p * t.to(p.dtype)).sum()  # finds warning
        return 1 - (2 * both + 1) / ((p + t).float().sum() + 1)

model, criterion = nn.Conv2d(3, 1, 1), Dice()
with torch.autocast("cuda", torch.float16):
    out = model(x)
loss = criterion(torch.sigmoid(out), y)
loss.backward()
# case: a loss by hand, with targets of an unknown type
import torch
model = torch.nn.Linear(4, 4)
with torch.autocast("cuda", torch.float16):
    out = model(x)
loss = (out - y).square().mean()  # finds note
(loss / 4).backward()
# case: a loss by hand of the outputs alone
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
with torch.autocast("cuda", torch.bfloat16):
    out = model(x)
loss = out.square().sum(-1)  # finds warning
loss = loss.float().mean()
loss.backward()
# case: under a region that is switched off, and of an entry of the outputs
import torch
import torch.nn.functional as F

def train(model, x, y):
    with torch.autocast("cuda", torch.float16):
        out = model(x)
        with torch.autocast("cuda", enabled=False):
            loss = F.mse_loss(out.pred, y)  # finds warning
            other = F.mse_loss(out.pred.float(), y)
    (loss + other).backward()
# case: a loss of another file, which may widen what it gets
import torch
from losses import Dice
criterion = Dice()
model = torch.nn.Linear(4, 4)
with torch.autocast("cuda", torch.float16):
    out = model(x)
loss = criterion(out, y)  # finds note
loss.backward()
# case: a loss by hand of what is widened, and a metric of what is not
import torch

class Dice(torch.nn.Module):
    def forward(self, p, t):
        p = p.float()
        return 1 - (p * t).sum() / (p + t).sum()

model, criterion = torch.nn.Linear(4, 4), Dice()
with torch.autocast("cuda", torch.float16):
    out = model(x)
size = out.abs().mean().item()
loss = criterion(out, y) + out.square().sum(dtype=torch.float32)
loss.backward()
# case: targets in FP32, with which the loss is in FP32
import torch
import torch.nn.functional as F

def validate(model, criterion, loader):
    for x, y in loader:
        with torch.autocast("cuda"):
            out = model(x)
        y = y.float()
        loss = torch.nn.MSELoss()(out, y) + F.l1_loss(out, y)
        other = F.l1_loss(out, y.half())  # finds warning
