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
