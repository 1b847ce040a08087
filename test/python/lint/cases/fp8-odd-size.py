# case: a vocabulary
import torch
import transformer_engine.pytorch as te

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = te.LayerNormMLP(768, 3072)
        self.head = te.Linear(768, 50257)  # finds error

    def forward(self, x):
        return self.head(self.body(x))

net = Net()
with te.fp8_autocast(enabled=True):
    out = net(x)
# case: blocks of 32
import transformer_engine.pytorch as te
from transformer_engine.common import recipe
layer = te.Linear(48, 64)  # finds error
with te.fp8_autocast(fp8_recipe=recipe.MXFP8BlockScaling()):
    y = layer(x)
# case: padded, and outside of the region
import torch
import transformer_engine.pytorch as te

class Net(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = te.Linear(768, 50304)
        self.head = te.Linear(50304, 10)
        self.other = te.Linear(768, classes)

    def forward(self, x):
        with te.fp8_autocast(enabled=True):
            x = self.body(x) + self.other(x)
        return self.head(x)

net = Net(classes)
y = net(x)
# case: converted by torchao
import torch
from torchao.float8 import convert_to_float8_training

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(784, 128)
        self.head = torch.nn.Linear(128, 10)  # finds error

net = Net()
convert_to_float8_training(net)
y = net(x)
# case: converted and never run
import torch
from torchao.float8 import convert_to_float8_training
layer = torch.nn.Linear(3, 3)
check(convert_to_float8_training(layer))
# case: converted by a filter
import torch
from torchao.float8 import convert_to_float8_training

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(128, 10)

net = Net()
convert_to_float8_training(net, module_filter_fn=lambda module, name: name != "head")
y = net(x)
