# case: a target of the model itself
import torch
import torch.nn.functional as F
model = torch.nn.Linear(4, 4)
for x, y in loader:
    with torch.autocast("cuda"):
        with torch.no_grad():
            target = model(x)  # finds error
        loss = F.mse_loss(model(y), target)
    loss.backward()
# case: two regions, no cache, another model, the other order
import torch
import torch.nn.functional as F
model, teacher = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
for x, y in loader:
    with torch.no_grad(), torch.autocast("cuda"):
        target = model(x)
    with torch.autocast("cuda"):
        loss = F.mse_loss(model(y), target)
    loss.backward()
    with torch.autocast("cuda", cache_enabled=False):
        with torch.no_grad():
            target = model(x)
        loss = F.mse_loss(model(y), target)
    loss.backward()
    with torch.autocast("cuda"):
        with torch.no_grad():
            target = teacher(x)
        loss = F.mse_loss(model(y), target)
        with torch.no_grad():
            shown = model(x)
    loss.backward()
# case: a model that is given
import torch
import torch.nn.functional as F
class Trainer:
    def __init__(self, model):
        self.model = model
    def step(self, x, y, scaler):
        with torch.autocast("cuda", dtype=torch.float16):
            with torch.inference_mode():
                target = self.model(x).softmax(-1)  # finds error
            loss = F.cross_entropy(self.model(y), target)
        scaler.scale(loss).backward()
