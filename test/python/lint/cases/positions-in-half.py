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
