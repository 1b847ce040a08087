# case: positions
import torch
def angles(length, frequencies):
    t = torch.arange(length, dtype=torch.bfloat16)  # finds note
    s = torch.arange(0, length, dtype=torch.float16)  # finds note
    u = torch.arange(4096, dtype=torch.half)  # finds warning
    v = torch.arange(length, dtype=torch.float32).to(torch.bfloat16)  # finds note
    w = torch.arange(4096).type_as(frequencies.bfloat16())  # finds warning
    return torch.outer(t, frequencies)
# case: few, or in another type
import torch
few = torch.arange(0, 256, dtype=torch.bfloat16)
heads = torch.arange(32, dtype=torch.float16)
angle = (torch.arange(4096).float() * 0.5).to(torch.bfloat16)
index = torch.arange(4096).to(torch.long)
given = torch.arange(length, dtype=x.dtype)
# case: angles of whole positions
import torch
inverse = (1.0 / (10000 ** (torch.arange(0, 64, 2).float() / 64))).half()
t = torch.arange(2048, device="cuda").type_as(inverse)
angles = torch.einsum("i,j->ij", t, inverse)
table = torch.cat((angles, angles), dim=-1).cos()  # finds warning
# case: angles of a length that is not known, and in FP32
import torch

def rotate(length, dim, x):
    inverse = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(torch.arange(length).float(), inverse)
    low = angles.to(torch.float16)
    return angles.cos().to(x.dtype), low.sin()  # finds note

def few(inverse):
    return torch.outer(torch.arange(16).half(), inverse.half()).cos()
# case: a table
import torch

class Rotary(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inverse = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))

    def forward(self, x):
        t = torch.arange(x.shape[1], device=x.device).type_as(self.inverse)
        angles = torch.outer(t, self.inverse).to(x.device)
        self.cosine = angles.cos().bfloat16()  # finds note
        self.sine = angles.sin().to(x.dtype)
# case: frequencies that a cast of the model casts along
import torch
class Rotary(torch.nn.Module):
    def __init__(self, dim, base=10000):
        super().__init__()
        self.register_buffer("inverse", 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim)))
        self.register_buffer("places", torch.arange(16))

    def forward(self, x):
        t = torch.arange(x.shape[1]).type_as(self.inverse)  # finds note
        return torch.outer(t, self.inverse).cos() + self.places.sin()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rotary, self.body = Rotary(64), torch.nn.Linear(64, 64)

    def forward(self, x):
        return self.body(x * self.rotary(x))

net = Net().cuda().bfloat16()
net(x).mean().backward()
# case: the same where the class keeps its buffers, and of a model in FP32
import torch
class Kept(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("inverse", 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)))

    def _apply(self, function, recurse=True):
        return self

    def forward(self, x):
        return torch.outer(torch.arange(x.shape[1]).type_as(self.inverse), self.inverse).cos()

class Wide(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("inverse", 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)))

    def forward(self, x):
        return torch.outer(torch.arange(x.shape[1]).type_as(self.inverse), self.inverse).cos()

Kept(64).half()(x).mean().backward()
Wide(64)(x).mean().backward()
# case: a table that a cast casts along, and one of stacked parts
import torch
class Table(torch.nn.Module):
    def __init__(self, dim, end):
        super().__init__()
        angles = torch.outer(torch.arange(end).float(), 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim)))
        self.register_buffer("cosines", angles.cos())

    def forward(self, x):
        return x * self.cosines

table = Table(64, 2048).to(torch.bfloat16)  # finds note

def make(end, inverse):
    angles = torch.outer(torch.arange(end).float(), inverse)
    return torch.stack([angles.cos(), angles.sin()]).to(torch.float16)  # finds note
# case: steps that are drawn
import torch

def embed(t, frequencies):
    angles = t[:, None] * frequencies.to(t.dtype)
    return torch.cat([angles.cos(), angles.sin()], dim=-1)  # finds note

t = torch.randint(0, 1000, (8,), device="cuda").to(torch.bfloat16)  # finds warning
u = torch.randint(0, scheduler.steps, (8,)).half()  # finds note
v = torch.randint(1000, (8,)).half()
w = torch.randint(0, 256, (8,)).bfloat16()
embed(t, frequencies)
# case: a table of complex numbers
import torch

def make(length, inverse):
    angles = torch.outer(torch.arange(length).float(), inverse)
    turns = torch.polar(torch.ones_like(angles), angles)
    parts = torch.stack([turns.real, turns.imag], dim=-1)
    return parts.to(torch.bfloat16), torch.view_as_real(turns).to(torch.float16)  # finds note
