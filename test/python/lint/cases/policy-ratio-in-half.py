# case: two regions
import torch
import torch.nn.functional as F
def lp(logits, ids):
    return F.log_softmax(logits, -1).gather(-1, ids)
def step(x, ids, loader):
    policy, reference = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        new = lp(policy(x), ids)
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        old = lp(reference(x), ids)
    ratio = torch.exp(new - old)  # finds warning
    return ratio
# case: one in no region
import torch
import torch.nn.functional as F
def step(x, ids):
    policy, reference = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        new = torch.gather(torch.log_softmax(policy(x), -1), -1, ids)
    with torch.no_grad():
        old = torch.gather(torch.log_softmax(reference(x), -1), -1, ids)
    log_ratio = new - old
    return log_ratio.exp()  # finds warning
# case: BF16 outside of autocast
import torch
from transformers import AutoModelForCausalLM
policy = AutoModelForCausalLM.from_pretrained("x", dtype=torch.bfloat16)
for x, ids, old_logprobs in loader:
    logits = policy(x).logits
    new_logprobs = torch.log_softmax(logits, -1).gather(-1, ids).to(torch.bfloat16)
    ratio = torch.exp(new_logprobs - old_logprobs.to(torch.bfloat16))  # finds warning
# case: against those that a sampler gave
import torch
from transformers import AutoModelForCausalLM
policy = AutoModelForCausalLM.from_pretrained("x", dtype=torch.bfloat16)
for x, ids, old_logprobs in loader:
    new_logprobs = torch.log_softmax(policy(x).logits, -1).gather(-1, ids)
    ratio = torch.exp(new_logprobs - old_logprobs)  # finds warning
    exact = torch.log_softmax(policy(x).logits.float(), -1).gather(-1, ids)
    ratio = torch.exp(exact - old_logprobs)
# case: one region for both, FP32, and another exp
import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM
def lp(logits, ids):
    return F.log_softmax(logits.float(), -1).gather(-1, ids)
def step(x, ids, old):
    policy, reference = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        new = lp(policy(x), ids)
        with torch.no_grad():
            kept = lp(reference(x), ids)
    a = torch.exp(new - kept)
    b = torch.exp(new - old)
    with context():
        c = lp(policy(x), ids)
    d = torch.exp(new - c)
    return a + b + d, torch.exp(-new)
# case: models that are given, one in no region
import torch
import torch.nn.functional as F
def log_probabilities(model, ids):
    return F.log_softmax(model(ids).logits[:, :-1], -1).gather(2, ids)
def train(policy_model, ref_model, loader):
    for ids in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            new = log_probabilities(policy_model, ids)
        with torch.no_grad():
            old = log_probabilities(ref_model, ids)
        difference = old - new
        loss = (torch.exp(difference) - difference - 1).mean()  # finds warning
        with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
            old = log_probabilities(ref_model, ids)
        ratio = torch.exp(new - old)
