# case: nowhere
import torch
scaler = torch.amp.GradScaler("cuda")

def step(optimizer, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # finds error fix
    optimizer.zero_grad()
# case: in another function
class Trainer:
    def step(self, loss):
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)

    def finish(self):
        self.scaler.update()
# case: it is handed to code that the file does not show
import torch
from helpers import finish
scaler = torch.amp.GradScaler("cuda")

def step(optimizer, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    finish(scaler)
# case: a helper that gets the scaler
class Optimizers:
    def step_all(self, grad_scaler):
        for optimizer in self.optimizers:
            grad_scaler.step(optimizer)
