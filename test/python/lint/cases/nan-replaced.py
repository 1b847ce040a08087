# case: the loss
import torch
import torch.nn.functional as F

def step(model, x, y):
    loss = torch.nan_to_num(F.mse_loss(model(x), y))  # finds warning
    loss.backward()
# case: gradients
import torch

def step(model, loss):
    loss.backward()
    for p in model.parameters():
        p.grad.nan_to_num_()  # finds warning
# case: the model's result
import torch

def step(model, criterion, x, y):
    out = model(x)
    out = out.nan_to_num(0.0)  # finds warning
    criterion(out, y).backward()
# case: data
import torch

def step(model, criterion, x, y):
    x = torch.nan_to_num(x)
    criterion(model(x), y).backward()
# case: no training
import torch

def predict(model, x):
    return torch.nan_to_num(model(x))
# case: where the script says that it met NaN
import torch

def train(model, optimizer, x):
    out = model(x)
    if torch.isnan(out).any():
        print("NaN in the outputs")
        out = torch.nan_to_num(out)
    out.mean().backward()
# case: the infinities of a mask, in what is computed of a result
import torch

def train(model, x, mask):
    scores = model(x)
    weights = torch.nan_to_num(scores.masked_fill(mask, float("-inf")) * mask)
    weights.mean().backward()
# case: the number of NaN elements is logged
import torch

def sample(model, optimizer, logger, x):
    score = model(x)
    num_nans = torch.sum(torch.isnan(score.mean(-1)))
    if num_nans > 0:
        logger.warning(f"{num_nans} samples failed")
        score.nan_to_num_(nan=0.01)
    score.sum().backward()
# case: where something else is asked
import torch

def sample(model, optimizer, logger, x, steps):
    score = model(x)
    if steps > 0:
        score = score.nan_to_num()  # finds warning
    score.sum().backward()
