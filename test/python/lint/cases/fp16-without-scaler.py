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
