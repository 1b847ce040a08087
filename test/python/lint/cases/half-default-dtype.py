# case: by type
import torch
torch.set_default_dtype(torch.float16)  # finds error

def step(model, x):
    model(x).sum().backward()
# case: by type of tensor, under a name of its own
from torch import HalfTensor, set_default_tensor_type as choose
choose(HalfTensor)  # finds error

def step(model, x):
    model(x).sum().backward()
# case: FP64
import torch
torch.set_default_dtype(torch.float64)

def step(model, x):
    model(x).sum().backward()
# case: inference
import torch
torch.set_default_dtype(torch.bfloat16)
# case: for what is made in between
import torch

def train(dtype, loader):
    torch.set_default_dtype(torch.float16)
    model = Net()
    torch.set_default_dtype(torch.float32)
    for x in loader:
        model(x).sum().backward()

def other(loader):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    model = Net()
    torch.set_default_dtype(before)
    model(loader).sum().backward()
