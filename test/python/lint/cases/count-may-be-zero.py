# case: tokens that are no padding
import torch.nn.functional as F

def step(logits, labels):
    tokens = (labels != -100).sum()
    loss = F.cross_entropy(logits.float(), labels, reduction="sum", ignore_index=-100) / tokens  # finds note
    loss.backward()

def masked(logits, labels, loss_mask):
    loss = F.cross_entropy(logits, labels, reduction="none")
    return (loss * loss_mask).sum() / loss_mask.sum()  # finds note
# case: guarded, asked for, or a count of something else
import torch.nn.functional as F

def step(logits, labels, loss_mask):
    loss = F.cross_entropy(logits, labels, reduction="sum")
    tokens = (labels != -100).sum()
    a = loss / tokens.clamp(min=1)
    b = loss / (loss_mask.sum() + 1e-8)
    c = loss / max(tokens, 1)
    d = loss / labels.numel()
    if tokens > 0:
        d = loss / tokens
    return a + b + c + d
