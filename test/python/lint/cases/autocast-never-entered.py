# case: joined by and
import torch

def encode(encoder, x):
    with torch.autocast("cuda") and torch.no_grad():  # finds error
        return encoder(x)
# case: a statement
import torch
from torch.amp import autocast

def encode(encoder, x):
    autocast("cuda")  # finds error
    return encoder(x)
# case: entered
import contextlib
import torch

def encode(args, encoder, x):
    with torch.autocast("cuda"), torch.no_grad():
        a = encoder(x)
    with (torch.autocast("cuda") if args.amp else contextlib.nullcontext()):
        b = encoder(x)
    with args.amp and torch.autocast("cuda") or contextlib.nullcontext():
        return a + b + encoder(x)
# case: handed on
import torch

def context(stack):
    stack.enter_context(torch.autocast("cuda"))
    return torch.autocast("cuda")
