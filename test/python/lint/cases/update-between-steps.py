# case: a generator and a discriminator
import torch
import torch.nn.functional as F

def train(g, d, loader):
    first, second = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            lg, ld = F.softplus(-d(g(x))).mean(), F.softplus(d(g(x).detach())).mean()
        first.zero_grad()
        scaler.scale(lg).backward()
        second.zero_grad()
        scaler.scale(ld).backward()
        scaler.step(first)
        scaler.update()  # finds error fix
        scaler.step(second)
        scaler.update()
# case: one loss, two optimizers, and a method for the step
class Trainer:
    def take(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()  # finds error

    def train(self, loss):
        self.scaler.scale(loss).backward()
        self.take(self.first)
        self.take(self.second)
# case: one update behind both
def train(first, second, scaler, lg, ld):
    scaler.scale(lg).backward()
    scaler.scale(ld).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
# case: each network by itself
def train(first, second, scaler, lg, d, x):
    scaler.scale(lg).backward()
    scaler.step(first)
    scaler.update()
    scaler.scale(d(x)).backward()
    scaler.step(second)
    scaler.update()
# case: two scalers
def train(first, second, scaler_g, scaler_d, lg, ld):
    scaler_g.scale(lg).backward()
    scaler_d.scale(ld).backward()
    scaler_g.step(first)
    scaler_g.update()
    scaler_d.step(second)
    scaler_d.update()
# case: the second backward pass is of another file
def train(first, second, scaler, lg, trainer):
    scaler.scale(lg).backward()
    scaler.step(first)
    scaler.update()
    trainer.backward_d(scaler)
    scaler.step(second)
    scaler.update()
