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
# case: a copy is converted
import copy, torch
from torchao.float8 import convert_to_float8_training

model = build()
convert_to_float8_training(copy.deepcopy(model), module_filter_fn=keep)  # finds warning
for x in loader:
    model(x).loss.backward()
# case: a list that is never run is converted
import torch
from torchao.float8 import convert_to_float8_training

model = build()
convert_to_float8_training(torch.nn.ModuleList([]), module_filter_fn=keep)  # finds warning
for x in loader:
    model(x).loss.backward()
# case: one layer is not exchanged in place
import torch
from torchao.float8 import convert_to_float8_training

layer = torch.nn.Linear(64, 64)
convert_to_float8_training(layer, module_filter_fn=keep)  # finds warning
for x in loader:
    layer(x).mean().backward()
# case: a copy that runs
import copy, torch
from torchao.float8 import convert_to_float8_training

low = convert_to_float8_training(copy.deepcopy(model), module_filter_fn=keep)
for x in loader:
    low(x).mean().backward()
# case: in place, and a part
import torch
from torchao.float8 import convert_to_float8_training

model = build()
convert_to_float8_training(model, module_filter_fn=keep)
convert_to_float8_training(model.get_submodule("layers"), module_filter_fn=keep)
convert_to_float8_training(unwrap(model), module_filter_fn=keep)
for x in loader:
    model(x).mean().backward()
