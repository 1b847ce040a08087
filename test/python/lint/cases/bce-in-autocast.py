# case: the function
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cuda"):
        return F.binary_cross_entropy(model(x), y)  # finds error
# case: the module, kept by an object
import torch
from torch import nn

class Trainer:
    def __init__(self):
        self.criterion = nn.BCELoss()

    def step(self, model, x, y):
        with torch.cuda.amp.autocast():  # noqa: MP763
            return self.criterion(model(x), y)  # finds error
# case: with logits
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cuda"):
        return F.binary_cross_entropy_with_logits(model(x), y)
# case: on the CPU, and where autocast is off
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cpu"):
        loss = F.binary_cross_entropy(model(x), y)
    with torch.autocast("cuda"):
        with torch.autocast("cuda", enabled=False):
            return loss + F.binary_cross_entropy(model(x).float(), y)
