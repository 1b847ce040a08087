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
