# case: filled
import torch

def attend(q, k, mask):
    with torch.autocast("cuda", torch.float16):
        scores = q @ k
        return scores.masked_fill(mask == 0, -1e9)  # finds warning fix
# case: multiplied, and chosen
import torch
HALF = torch.float16

def attend(scores, mask):
    scores = scores + (1.0 - mask) * -1e9  # finds note
    scores += torch.where(mask, scores, -1e30)  # finds note
    return scores + (1.0 - mask.half()) * -1e9  # finds warning
# case: a constant of the file, in place
import torch
NEGATIVE = -1e10

class Attention(torch.nn.Module):
    def forward(self, q, k, mask):
        with torch.autocast("cuda"):
            scores = torch.matmul(q, k)
        scores.masked_fill_(mask, NEGATIVE)  # finds warning fix
        return scores
# case: in range, and by torch.finfo
import torch

def attend(scores, mask):
    with torch.autocast("cuda"):
        a = scores.masked_fill(mask, -1e4)
        b = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        return a + b + scores.masked_fill(mask, float("-inf"))
# case: in FP32
import torch

def attend(scores, mask):
    scores = scores.half().float()
    return scores.masked_fill(mask, -1e9)
# case: a script that knows no FP16
import torch

def attend(scores, mask):
    return scores.masked_fill(mask, -1e9)
# case: in a script of BF16, and where a region is switched off
import torch

def attend(scores, mask):
    with torch.autocast("cuda", enabled=False):
        scores = scores.to(torch.bfloat16) + (1.0 - mask) * -1e9
    with torch.autocast("cuda", dtype=torch.bfloat16):
        return scores.masked_fill(mask == 0, -1e9)
# case: numbers, which make a tensor in FP32
import torch

def bias(mask, x):
    with torch.autocast("cuda", torch.float16):
        kept = torch.where(mask, x.half(), -1e9)  # finds warning
        return kept + torch.where(mask, 0.0, -2.38e38)
# case: a branch for each type
import torch

def bias(self, mask):
    if self.dtype == torch.float16:
        return (1.0 - mask) * -1e4
    elif self.dtype == torch.float32:
        return (1.0 - mask) * -1e9
# case: the lowest number of FP32
import torch
x = torch.randn(4, 4).half()
y = x + (1.0 - mask) * torch.finfo(torch.float32).min  # finds note
z = x + (1.0 - mask) * torch.finfo(torch.float16).min
