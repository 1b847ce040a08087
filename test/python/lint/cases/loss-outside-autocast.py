# case: behind the block
import torch
import torch.nn.functional as F
model = torch.nn.Linear(4, 4)

def step(x, y):
    with torch.autocast("cuda"):
        out = model(x)
    loss = F.mse_loss(out, y)  # finds warning
    loss.backward()
# case: a loss module and a model that only its name tells
import torch
from torch.cuda.amp import autocast  # noqa: MP763

def train(model, loader):
    criterion = torch.nn.CrossEntropyLoss()
    for x, y in loader:
        with autocast(enabled=True):
            output = model(x)
        loss = criterion(output, y)  # finds warning
# case: inside
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cuda"):
        loss = F.mse_loss(model(x), y)
    loss.backward()
# case: of FP32 values
import torch
import torch.nn.functional as F

def step(model, x, y):
    with torch.autocast("cuda"):
        out = model(x)
    loss = F.mse_loss(out.float(), y)
# case: a context that the file does not show
import torch
import torch.nn.functional as F
from contexts import precision

def step(model, x, y):
    with torch.autocast("cuda"):
        out = model(x)
    with precision():
        loss = F.mse_loss(out, y)
