# case: in the region
import torch
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import DelayedScaling, Format

def train(model, optimizer, loader):
    recipe = DelayedScaling(fp8_format=Format.HYBRID, amax_history_len=16, amax_compute_algo="max")
    for x, y in loader:
        optimizer.zero_grad()
        with te.fp8_autocast(enabled=True, fp8_recipe=recipe):
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()  # finds warning fix
        optimizer.step()
# case: under BF16 autocast, by the new name
import torch
from transformer_engine.pytorch import autocast

def step(model, x):
    with torch.autocast("cuda", dtype=torch.bfloat16), autocast(enabled=True):
        loss = model(x).mean()
        loss.backward()  # finds warning fix
# case: a recipe that is not known, or has nothing to make
import torch
import transformer_engine.pytorch as te
from transformer_engine.common.recipe import Float8CurrentScaling

def step(model, x, recipe):
    with te.autocast(recipe=recipe):
        loss = model(x).mean()
        loss.backward()  # finds note fix
    with te.autocast(recipe=Float8CurrentScaling()):
        loss = model(x).mean()
        loss.backward()  # finds note fix
# case: behind it, and where FP8 is off
import transformer_engine.pytorch as te

def step(model, x):
    with te.fp8_autocast(enabled=True):
        loss = model(x).mean()
    loss.backward()

def plain(model, x):
    with te.fp8_autocast(enabled=False):
        model(x).mean().backward()
