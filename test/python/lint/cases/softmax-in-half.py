# case: as a method, and as a function
import torch
import torch.nn.functional as F

def attend(scores):
    scores = scores.half()
    a = scores.softmax(-1)  # finds warning
    b = F.log_softmax(scores.to(torch.bfloat16), dim=-1)  # finds warning
    return a + b
# case: in FP32
import torch
import torch.nn.functional as F

def attend(scores):
    scores = scores.half()
    return F.softmax(scores, dim=-1, dtype=torch.float32) + scores.float().softmax(-1)
# case: under autocast
import torch

def attend(scores):
    scores = scores.half()
    with torch.autocast("cuda"):
        return scores.softmax(-1)
# case: a network that is in FP16 as a whole
import torch
model = torch.nn.Linear(4, 4).half()
p = model(x.half()).softmax(-1)  # finds note
# case: a branch that asks for the type
import torch
def probabilities(x):
    if x.dtype in (torch.float32, torch.float64):
        return torch.logsumexp(x, -1)
    if x.dtype == torch.float32:
        y = torch.softmax(x, -1)
    elif x.dtype != torch.float16:
        y = torch.softmax(x, -1)
    else:
        y = torch.softmax(x, -1)  # finds warning
    return torch.softmax(x, -1)  # finds warning
probabilities(torch.zeros(4, dtype=torch.float16))
# case: numbers that a test draws
import torch
weights = torch.softmax(torch.randn(4, 8, dtype=torch.bfloat16), dim=-1)  # finds note
