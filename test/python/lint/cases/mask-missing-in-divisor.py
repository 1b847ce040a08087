# case: a mean and a size
import torch.nn.functional as F
from torch import nn
loss = F.cross_entropy(logits, y, reduction="none")
loss = (loss * loss_mask).mean()  # finds warning
loss_fct = nn.CrossEntropyLoss(reduction="none")
each = loss_fct(logits.view(-1, 8), y.view(-1)).view(y.size())
total = (each * mask).sum() / y.numel()  # finds warning
other = (each * mask.float()).sum() / (y.size(0) * y.size(1))  # finds warning
# case: the mask in both
import torch.nn.functional as F
from torch import nn
loss = F.cross_entropy(logits, y, reduction="none")
a = (loss * loss_mask).sum() / loss_mask.sum()
b = (loss * loss_mask).sum() / valid_tokens
c = (loss * weights).mean()
d = (F.mse_loss(x, y, reduction="none") * mask).mean()
e = (F.cross_entropy(logits, y) * mask).mean()
f = loss.mean()
# case: the size of the mask
from torch import nn
class Pretraining:
    def __init__(self):
        self.loss_fct = nn.CrossEntropyLoss(reduction="none")
    def loss(self, logits, y, loss_mask):
        each = self.loss_fct(logits, y)
        shown = (each * loss_mask).sum() / loss_mask.sum()
        return (each * loss_mask).sum() / loss_mask.numel()  # finds warning
# case: a mean over another dimension, and a mean that the mask's divides
import torch
import torch.nn.functional as F

def codes(logits, y, mask):
    each = F.cross_entropy(logits, y, reduction="none") * mask.unsqueeze(1)
    return torch.mean(each, dim=1).sum() / mask.sum()

def share(logits, y, mask):
    each = F.cross_entropy(logits, y, reduction="none") * mask
    return each.mean() / mask.float().mean()

def sizes(logits, y, mask):
    each = F.cross_entropy(logits, y, reduction="none") * mask
    return each.mean(dim=1).sum() / 8  # finds warning
