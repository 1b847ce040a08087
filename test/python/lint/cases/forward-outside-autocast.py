# case: only the loss is inside
import torch
import torch.nn.functional as F

def step(model, x, y):
    out = model(x)  # finds warning
    with torch.autocast("cuda"):
        loss = F.cross_entropy(out, y)
    loss.backward()
# case: a teacher in FP32 beside the model
import torch
import torch.nn.functional as F

def step(model, teacher, x):
    wanted = teacher(x)
    with torch.autocast("cuda"):
        loss = F.mse_loss(model(x), wanted)
# case: no autocast
import torch
import torch.nn.functional as F

def step(model, x, y):
    out = model(x)
    loss = F.cross_entropy(out, y)
# case: a function that is gone through inside of a region, and outside of one
import torch
import torch.nn.functional as F

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 4)

    def forward(self, x, y):
        return F.cross_entropy(self.head(x), y)

def train(amp, loader):
    model = Net()
    for x, y in loader:
        if amp:
            with torch.autocast("cuda"):
                loss = model(x, y)
        else:
            loss = model(x, y)
        loss.backward()
