# case: a model in FP32
import torch
import transformer_engine.pytorch as te

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = te.Linear(64, 64)

    def forward(self, x):
        return self.layer(x)

net = Net().cuda()
for x in loader:
    with te.fp8_autocast(enabled=True):  # finds note
        loss = net(x).mean()
    loss.backward()
# case: under autocast
import torch
import transformer_engine.pytorch as te
layer = te.Linear(64, 64)
with torch.autocast("cuda", dtype=torch.bfloat16):
    with te.fp8_autocast(enabled=True):
        y = layer(x)
# case: weights in BF16
import torch
import transformer_engine.pytorch as te
layer = te.Linear(64, 64, params_dtype=torch.bfloat16)
with te.fp8_autocast(enabled=True):
    y = layer(x)
