# case: only the loss is inside
import torch
import torch.nn.functional as F

def step(model, x, y):
    out = model(x)  # finds warning
    with torch.autocast("cuda"):
        loss = F.cross_entropy(out, y)
    loss.backward()
# case: a teacher in FP32 beside the model
import torch
import torch.nn.functional as F

def step(model, teacher, x):
    wanted = teacher(x)
    with torch.autocast("cuda"):
        loss = F.mse_loss(model(x), wanted)
# case: no autocast
import torch
import torch.nn.functional as F

def step(model, x, y):
    out = model(x)
    loss = F.cross_entropy(out, y)
