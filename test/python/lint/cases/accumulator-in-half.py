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
# case: averages of weights
import copy
import torch
model = torch.nn.Linear(4, 4)
ema = copy.deepcopy(model).to(torch.bfloat16)
for x, y in loader:
    loss_of(model(x), y).backward()
    optimizer.step()
    for a, p in zip(ema.parameters(), model.parameters()):
        a.data.mul_(0.999).add_(p.data, alpha=1 - 0.999)  # finds warning
        a.lerp_(p.to(a.dtype), 0.001)  # finds warning
# case: by a formula, and by PyTorch's and diffusers' classes
import torch
from diffusers.training_utils import EMAModel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
average = torch.zeros(4, dtype=torch.bfloat16)
x = torch.rand(4)
for _, y in loader:
    loss_of(model(x), y).backward()
    average = 0.999 * average + 0.001 * x.to(torch.bfloat16)  # finds warning
net = torch.nn.Linear(4, 4).to(torch.bfloat16)
kept = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.999))  # finds warning
other = EMAModel(net.parameters(), decay=0.9999)  # finds warning
# case: in FP32, and with a share that BF16 holds
import copy
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
model = torch.nn.Linear(4, 4)
ema = copy.deepcopy(model)
low = copy.deepcopy(model).to(torch.bfloat16)
average = torch.zeros(4, dtype=torch.bfloat16)
for x, y in loader:
    loss_of(model(x), y).backward()
    for a, p in zip(ema.parameters(), model.parameters()):
        a.data.mul_(0.999).add_(p.data, alpha=1 - 0.999)
    for a, p in zip(low.parameters(), model.parameters()):
        a.data.mul_(0.9).add_(p.data, alpha=0.1)
    average = 0.9 * average + 0.1 * x.to(torch.bfloat16)
    average = 0.999 * average + 0.001 * x
kept = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
# case: a sum that is assigned
import torch
total = torch.zeros((), dtype=torch.bfloat16)
for x, y in loader:
    loss = loss_of(model(x), y)
    loss.backward()
    total = total + loss.detach()  # finds warning
# case: copies by name
import torch
class Average:
    def __init__(self, model):
        self.shadow = {n: p.detach().clone().to(torch.bfloat16) for n, p in model.named_parameters()}
        self.kept = {n: p.detach().clone() for n, p in model.named_parameters()}
    def update(self, model):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(0.9999).add_(p.detach().to(torch.bfloat16), alpha=1 - 0.9999)  # finds warning
            self.kept[n].mul_(0.9999).add_(p.detach(), alpha=1 - 0.9999)
# case: over the passes of a step, which are few
import torch
model = torch.nn.Linear(4, 4).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
epoch = 0
for batch in loader:
    total = 0
    for x in batch:
        loss = model(x.half()).mean()
        loss.backward()
        total += loss.detach()
    optimizer.step()
    optimizer.zero_grad()
    epoch += loss.detach()  # finds warning
# case: hits that are counted, and what layers add
import torch
model = torch.nn.Linear(4, 4)

def evaluate(loader, layers, x):
    hits, aux = 0, 0
    for x, y in loader:
        hits += (model(x).argmax(-1) == y).to(torch.bfloat16).sum()  # finds warning
    for layer in layers:
        aux += layer(x).bfloat16().sum()
    return hits, aux
# case: an average in parameters of a module whose frozen ones are cast
import torch
from peft import get_peft_model
pipe.net = get_peft_model(pipe.net, config)
for p in pipe.net.parameters():
    if not p.requires_grad:
        p.data = p.data.to(torch.float16)
new = [p for p in pipe.net.parameters() if p.requires_grad]
old = [p for n, p in pipe.net.named_parameters() if "old" in n]
other = [p for p in wide.net.parameters()]
for batch in loader:
    loss_of(pipe.net, batch).backward()
    for s, t, u in zip(new, old, other):
        t.data.mul_(0.99).add_(s.detach().data, alpha=0.01)  # finds note
        t.data.mul_(0.5).add_(s.detach().data, alpha=0.5)
        u.data.mul_(0.99).add_(s.detach().data, alpha=0.01)
# case: a class that keeps copies by name, and writes averages back
import torch
from networks import Net
class Shadow:
    def __init__(self, net, decay=0.999):
        self.net, self.decay, self.kept = net, decay, {}
        for n, p in net.named_parameters():
            self.kept[n] = p.data.clone()
    def follow(self):
        for n, p in self.net.named_parameters():
            mixed = self.decay * self.kept[n] + (1 - self.decay) * p.data  # finds warning
            self.kept[n] = mixed.clone()
    def follow_in_place(self, decay=0.9):
        for n, p in self.net.named_parameters():
            self.kept[n] = decay * self.kept[n] + (1 - decay) * p.data
net = Net().to(torch.bfloat16)
shadow = Shadow(net, 0.9999)
for x in loader:
    net(x).mean().backward()
    optimizer.step()
    shadow.follow()
    shadow.follow_in_place()
# case: parameters and states by name, and the forms of the formula
import copy
import torch
from collections import OrderedDict
from networks import Net

def update(ema, model, decay=0.9999):
    kept, new = OrderedDict(ema.named_parameters()), dict(model.named_parameters())
    for name, p in new.items():
        kept[name].mul_(decay).add_(p.data, alpha=1 - decay)  # finds warning
    state = model.state_dict()
    for k, v in ema.state_dict().items():
        v *= decay
        v += (1 - decay) * state[k]  # finds warning
    for k, v in ema.state_dict().items():
        v *= 0.5
        v += 0.5 * state[k]

net = Net().to(torch.bfloat16)
ema = copy.deepcopy(net)
d = 0.999
for x in loader:
    net(x).mean().backward()
    optimizer.step()
    update(ema, net)
    for p, q in zip(net.parameters(), ema.parameters()):
        q.data = d * q.data + (1 - d) * p.data  # finds warning
        q.sub_((1 - d) * (q - p))  # finds warning
        q.data += (1 - d) * (p.data - q.data)  # finds warning
        q.data.mul_(d).add_((1 - d) * p.data)  # finds warning
        q.data.add_((1 - d) * p.data)
        q.data -= 0.001 * p.grad
    torch._foreach_mul_(list(ema.parameters()), d)
    torch._foreach_add_(list(ema.parameters()), list(net.parameters()), alpha=1 - d)  # finds warning
    torch._foreach_lerp_(list(ema.parameters()), list(net.parameters()), 1 - d)  # finds warning
# case: the same of a model in FP32
import copy
import torch
from networks import Net
net = Net()
ema = copy.deepcopy(net)
kept = {k: v.clone() for k, v in net.state_dict().items()}
low = {k: v.clone().to(torch.bfloat16) for k, v in net.state_dict().items()}
d = 0.999
for x in loader:
    net(x).mean().backward()
    optimizer.step()
    for p, q in zip(net.parameters(), ema.parameters()):
        q.data = d * q.data + (1 - d) * p.data
        q.sub_((1 - d) * (q - p))
    for k, v in net.state_dict().items():
        kept[k] = d * kept[k] + (1 - d) * v
        low[k] = d * low[k] + (1 - d) * v.to(torch.bfloat16)  # finds warning
    torch._foreach_lerp_(list(ema.parameters()), list(net.parameters()), 1 - d)
