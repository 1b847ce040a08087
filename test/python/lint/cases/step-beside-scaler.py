# case: the optimizer steps itself
import torch
scaler = torch.amp.GradScaler("cuda")

def step(optimizer, loss):
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    optimizer.step()  # finds error fix
    scaler.update()
# case: in a method
class Trainer:
    def step(self, loss):
        self.grad_scaler.scale(loss).backward()
        self.optimizer.step()  # finds error fix
        self.grad_scaler.update()
# case: by the scaler
def step(optimizer, scaler, scheduler, loss):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
# case: one or the other
def step(args, optimizer, scaler, loss):
    if args.fp16:
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()
# case: two optimizers, one of them without scaler
def step(first, second, scaler, loss, other):
    scaler.scale(loss).backward()
    scaler.step(first)
    scaler.update()
    other.backward()
    second.step()
# case: unscaled, and stepped in any case
def step(optimizer, scaler, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    optimizer.step()  # finds error fix
    scaler.update()
# case: unscaled, and stepped if all is finite
def step(optimizer, scaler, model, loss):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if torch.isfinite(norm_of(model)):
        optimizer.step()
    scaler.update()
# case: the branch without a scaler, by another name
import torch

class Net(torch.nn.Module):
    def __init__(self, low):
        super().__init__()
        self.scaler = torch.amp.GradScaler("cuda") if low else None

    def train_on(self, loss):
        if self.scaler is not None:
            self.scaler.scale(loss).backward()
        else:
            loss.backward()

def train(net, optimizer, loader):
    fp16_scaler = net.scaler
    for x in loader:
        optimizer.zero_grad()
        net.train_on(net(x))
        if fp16_scaler is not None:
            fp16_scaler.step(optimizer)
            fp16_scaler.update()
        else:
            optimizer.step()

train(Net(True), torch.optim.SGD(p, lr=1.0), loader)
