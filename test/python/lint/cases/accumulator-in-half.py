# case: the sum of an epoch
import torch
import torch.nn.functional as F
total = torch.zeros((), dtype=torch.bfloat16)
for x, y in loader:
    total += F.mse_loss(model(x), y).detach()  # finds warning
# case: a metric with a method that adds
import torch

class Mean:
    def __init__(self):
        self.value = torch.tensor(0.0, dtype=torch.float16)
        self.count = 0

    def update(self, value):
        self.value += value.detach()  # finds warning
        self.count += 1
# case: a number of Python, to which a loss in 16 bits is added
import torch
model = torch.nn.Linear(4, 4).half()
total = 0.0
for x in loader:
    loss = model(x.half()).mean()
    loss.backward()
    total += loss.detach()  # finds warning
# case: in FP32, of Python's numbers, and made anew in each pass
import torch
import torch.nn.functional as F
total, seen, low = torch.zeros(()), 0.0, torch.zeros((), dtype=torch.bfloat16)
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    loss.backward()
    total += loss.detach()
    seen += loss.item()
    part = torch.zeros((), dtype=torch.bfloat16)
    part += loss.detach()
low += total
# case: the outputs of a few experts
import torch

def mix(experts, x):
    y = torch.zeros(4, 8, dtype=torch.bfloat16)
    for expert in experts:
        y += expert(x)
    return y
