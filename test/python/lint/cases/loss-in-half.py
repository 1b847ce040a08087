# case: the loss is cast
import torch
import torch.nn.functional as F

def step(model, x, y):
    loss = F.cross_entropy(model(x), y)
    loss = loss.half()  # finds error fix
    loss.backward()
# case: the loss gets values that were cast
import torch
from torch import nn
criterion = nn.CrossEntropyLoss()

def step(model, x, y):
    logits = model(x).bfloat16()
    return criterion(logits, y)  # finds error
# case: cast back
import torch
import torch.nn.functional as F

def step(model, x, y):
    logits = model(x).half()
    loss = F.cross_entropy(logits.float(), y)
    loss.float().backward()
# case: under autocast, which keeps losses in FP32
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cuda"):
        return F.mse_loss(model(x), y)
# case: a criterion that a function makes
def train(task, model):
    criterion = task.build_criterion()
    criterion = criterion.half()
    other = build_loss(3).half()
# case: the loss that is logged
import torch
import torch.nn.functional as F

def step(model, x, y, meter):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    meter.add("loss", loss.to(torch.float16).mean().item())  # finds note
    with torch.no_grad():
        return F.cross_entropy(model(x), y).to(torch.float16)  # finds note
