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
