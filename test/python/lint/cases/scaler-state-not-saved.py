# case: model and optimizer alone
import torch
optimizer = torch.optim.SGD([], lr=0.1)
gs = torch.amp.GradScaler("cuda")

def step(loss):
    gs.scale(loss).backward()
    gs.step(optimizer)
    gs.update()

def save(model, path):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path)  # finds note
# case: the scaler's, too
import torch

def step(optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

def save(model, optimizer, scaler, path):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                "amp": scaler.state_dict()}, path)
# case: weights alone
import torch

def step(optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

def save(model, path):
    torch.save({"model": model.state_dict()}, path)
