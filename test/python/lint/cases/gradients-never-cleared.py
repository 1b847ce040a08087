# case: a loop
import torch
import torch.nn.functional as F
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    optimizer.step()  # finds error
# case: cleared
import torch
import torch.nn.functional as F
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    model.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
# case: no loop in the file
def step(optimizer, loss):
    loss.backward()
    optimizer.step()
# case: by hand
import torch
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).sum().backward()
    optimizer.step()
    for p in model.parameters():
        p.grad = None
# case: by hand, with that of a copy
import torch
model = torch.nn.Linear(4, 4).bfloat16()
master = [p.detach().float() for p in model.parameters()]
optimizer = torch.optim.SGD(master, lr=0.1)
for x in loader:
    model(x).sum().backward()
    for m, p in zip(master, model.parameters()):
        m.grad, p.grad = p.grad.float(), None
    optimizer.step()
# case: of one optimizer only
import torch
import torch.nn.functional as F
g, d = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
og, od = torch.optim.SGD(g.parameters(), lr=0.1), torch.optim.SGD(d.parameters(), lr=0.1)
for x, y in loader:
    og.zero_grad()
    F.mse_loss(g(x), y).backward()
    og.step()
    F.mse_loss(d(x), y).backward()
    od.step()  # finds error
# case: of both, and of one that has all parameters
import itertools
import torch
import torch.nn.functional as F
g, d = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
og, od = torch.optim.SGD(g.parameters(), lr=0.1), torch.optim.SGD(d.parameters(), lr=0.1)
whole = torch.optim.SGD(itertools.chain(g.parameters(), d.parameters()), lr=0.1)
for x, y in loader:
    whole.zero_grad()
    F.mse_loss(g(x), y).backward()
    og.step()
    F.mse_loss(d(x), y).backward()
    od.step()
# case: of one optimizer of an object
import torch
class Trainer:
    def __init__(self, g, d):
        self.g, self.d = g, d
        self.opt_g = torch.optim.Adam(g.parameters())
        self.opt_d = torch.optim.Adam(d.parameters())
    def train(self, loader):
        for x in loader:
            self.opt_g.zero_grad()
            (-self.d(self.g(x)).mean()).backward()
            self.opt_g.step()
            self.d(self.g(x).detach()).mean().backward()
            self.opt_d.step()  # finds error
# case: beside a meter and a monitor, which cannot clear them
import torch
from meters import AverageMeter
from mpopt.monitor import Monitor
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses, monitor = AverageMeter("loss"), Monitor(model, optimizer)
for x in loader:
    loss = model(x).mean()
    loss.backward()
    optimizer.step()  # finds error
    losses.update(loss, 1)
    monitor.step(loss)
# case: beside an object that got the optimizer later
import torch
from helpers import Helper
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
helper = Helper()
helper.attach(optimizer)
for x in loader:
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    helper.update(loss)
