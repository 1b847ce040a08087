# case: in a row
import torch
scaler = torch.amp.GradScaler("cuda")

def step(model, optimizer, loss):
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # finds error fix
    scaler.step(optimizer)
    scaler.update()
# case: imported under another name, by value, scaler of an object
from torch.nn.utils import clip_grad_value_ as clip

class Trainer:
    def step(self, loss):
        self.scaler.scale(loss).backward()
        if self.limit:
            clip(self.model.parameters(), self.limit)  # finds error fix
        self.scaler.step(self.optimizer)
        self.scaler.update()
# case: unscaled before
import torch

def step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
# case: the same condition twice
import torch

def step(args, model, optimizer, scaler, loss):
    if args.amp:
        scaler.scale(loss).backward()
    else:
        loss.backward()
    if args.amp:
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if not args.amp:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()
# case: a helper of the file unscales
import torch

def clip(model, optimizer, scaler):
    if scaler is not None:
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

def step(model, optimizer, scaler, loss):
    scaler.scale(loss).backward()
    clip(model, optimizer, scaler)
    scaler.step(optimizer)
    scaler.update()
# case: clipped in the branch without scaler
import torch

def step(model, optimizer, scaler, loss):
    if scaler is None:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    else:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# case: a scaler that is off
import torch
scaler = torch.amp.GradScaler("cuda", enabled=False)

def step(model, optimizer, loss):
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
