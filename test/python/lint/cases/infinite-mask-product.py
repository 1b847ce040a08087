# case: three infinities
import math
import numpy as np
import torch

def bias(mask):
    a = (1 - mask) * float("-inf")  # finds error
    b = -math.inf * mask  # finds error
    mask *= np.inf  # finds error
    return a + b + mask
# case: filled, and finite
import torch

def bias(mask):
    empty = torch.zeros(4, 4)
    return empty.masked_fill(mask, float("-inf")) + (1 - mask) * -1e4
