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
# case: a scaler that no call gives
import torch

class Several:
    def __init__(self, optimizers):
        self.optimizers = optimizers

    def step(self, key=None, scaler=None):
        keys = [key] if key is not None else list(self.optimizers)
        _ = [self.step_one(key, scaler) for key in keys]

    def step_one(self, key, scaler=None):
        if scaler is not None:
            scaler.step(self.optimizers[key])
            scaler.update()
        else:
            self.optimizers[key].step()

def train(optimizers, model, batches):
    optimizer = Several(optimizers)
    for x in batches:
        model(x).mean().backward()
        optimizer.step("net")
# case: an optional scaler that a call gives
import torch

def update(optimizer, scaler=None):
    if not scaler:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()

def train(model, optimizer, batches):
    scaler = torch.amp.GradScaler("cuda")
    for x in batches:
        model(x).mean().backward()  # finds error
        update(optimizer, scaler)
    for x in batches:
        model(x).mean().backward()
        update(optimizer)
# case: arguments without a known value
import torch

def update(optimizer, scaler=None):
    if scaler is not None:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()

def train(model, arguments, batches):
    for x in batches:
        model(x).mean().backward()  # finds error
        update(*arguments)
