"""Modules for test_torchscript_rules.py: `# MP103` marks the line of a finding."""

import torch
from torch import nn
from torch.nn import functional as F


class ProbabilityLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x, target):
        chance = torch.sigmoid(self.fc(x))
        return F.binary_cross_entropy(chance, target)  # MP102


class LogitLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)

    def forward(self, x, target):
        return F.binary_cross_entropy_with_logits(self.fc(x), target)


class FloatShift(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.next = nn.Linear(8, 8)
        self.register_buffer("shift", torch.arange(32.0).reshape(4, 8))

    def forward(self, x):
        y = self.fc(x)
        y = y + self.shift  # MP103
        return self.next(torch.relu(y))


class CastShift(FloatShift):
    def forward(self, x):
        y = self.fc(x)
        y = y + self.shift.half()
        return self.next(torch.relu(y))


class LateFloat(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        scores = torch.cumsum(x * self.scale, dim=1)
        scores = scores.half()
        return torch.softmax(scores.float(), dim=1)  # MP104


class EarlyFloat(LateFloat):
    def forward(self, x):
        scores = torch.cumsum(x * self.scale, dim=1)
        return torch.softmax(scores, dim=1)


class ManualHalf(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x * x
            z = y.to(torch.bfloat16)  # MP105
            return self.fc(z) + torch.exp(z)


class LeftToAutocast(ManualHalf):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x * x
            return self.fc(y) + torch.exp(y)


class HalfLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8).half()

    def forward(self, x, target):
        return F.mse_loss(self.fc(x), target)  # MP106


class FloatLoss(HalfLoss):
    def forward(self, x, target):
        return F.mse_loss(self.fc(x).float(), target.float())
