# case: layers of torch.nn
import torch
from torch import nn
import transformer_engine.pytorch as te

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 64)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

net = Net()
for x in loader:
    with te.fp8_autocast(enabled=True):  # finds warning
        loss = net(x).mean()
    loss.backward()
# case: one of TransformerEngine's
import torch
from torch import nn
import transformer_engine.pytorch as te

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = te.Linear(64, 256)
        self.down = nn.Linear(256, 64)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

net = Net()
for x in loader:
    with te.fp8_autocast(enabled=True):
        loss = net(x).mean()
    loss.backward()
# case: converted
import torch
from torch import nn
import transformer_engine.pytorch as te

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 64)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

net = convert_model(Net())
for x in loader:
    with te.fp8_autocast(enabled=True):
        loss = net(x).mean()
    loss.backward()
