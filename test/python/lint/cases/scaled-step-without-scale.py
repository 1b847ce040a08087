# case: never scaled
import torch
scaler = torch.amp.GradScaler("cuda")

def step(optimizer, loss):
    loss.backward()  # finds error fix
    scaler.step(optimizer)
    scaler.update()
# case: scaled
import torch
scaler = torch.amp.GradScaler("cuda")

def step(optimizer, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
# case: scaled in another function
import torch

def backward(scaler, loss):
    scaler.scale(loss).backward()

def step(optimizer, scaler, loss):
    backward(scaler, loss)
    scaler.step(optimizer)
    scaler.update()
