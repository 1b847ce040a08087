# case: the amax of the last pass
import torch

class Fp8Linear(torch.nn.Module):
    def forward(self, x):
        self.amax = x.detach().abs().max()  # finds warning
        return (x / self.scale).clamp(-448, 448).to(torch.float8_e4m3fn).float() @ self.weight

    def update(self):
        self.scale = self.amax.clamp(min=1e-12) / 448
        self.amax = torch.zeros_like(self.amax)

model = Fp8Linear()
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    optimizer.zero_grad()
    for part in batch:
        model(part).mean().backward()
    optimizer.step()
    model.update()
# case: of all passes
import torch

class Fp8Linear(torch.nn.Module):
    def forward(self, x):
        self.amax = torch.maximum(self.amax, x.detach().abs().max())
        return (x / self.scale).clamp(-448, 448).to(torch.float8_e4m3fn).float() @ self.weight

    def update(self):
        self.scale = self.amax.clamp(min=1e-12) / 448
        self.amax = torch.zeros_like(self.amax)

model = Fp8Linear()
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    optimizer.zero_grad()
    for part in batch:
        model(part).mean().backward()
    optimizer.step()
    model.update()
# case: one pass a step
import torch

class Fp8Linear(torch.nn.Module):
    def forward(self, x):
        self.amax = x.detach().abs().max()
        return (x / self.scale).clamp(-448, 448).to(torch.float8_e4m3fn).float() @ self.weight

    def update(self):
        self.scale = self.amax.clamp(min=1e-12) / 448
        self.amax = torch.zeros_like(self.amax)

model = Fp8Linear()
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    optimizer.zero_grad()
    model(batch).mean().backward()
    optimizer.step()
    model.update()
# case: weights of the first step
import torch
import transformer_engine.pytorch as te
layer = te.Linear(64, 64)
optimizer = torch.optim.AdamW(layer.parameters())
for step in range(100):
    for part in range(4):
        with te.fp8_autocast(enabled=True):
            loss = layer(x, is_first_microbatch=step == 0).mean()  # finds warning
        loss.backward()
    optimizer.step()
# case: weights of no step
import torch
import transformer_engine.pytorch as te
layer = te.Linear(64, 64)
optimizer = torch.optim.AdamW(layer.parameters())
for step in range(100):
    for part in range(4):
        with te.fp8_autocast(enabled=True):
            loss = layer(x, is_first_microbatch=False).mean()  # finds warning
        loss.backward()
    optimizer.step()
# case: weights of the first pass
import torch
import transformer_engine.pytorch as te
layer = te.Linear(64, 64)
optimizer = torch.optim.AdamW(layer.parameters())
for step in range(100):
    for part in range(4):
        with te.fp8_autocast(enabled=True):
            loss = layer(x, is_first_microbatch=part == 0).mean()
        loss.backward()
    optimizer.step()
# case: scales before the step
import torch
from torchao.float8 import precompute_float8_dynamic_scale_for_fsdp
optimizer = torch.optim.AdamW(model.parameters())
for x in loader:
    model(x).mean().backward()
    precompute_float8_dynamic_scale_for_fsdp(model)  # finds warning
    optimizer.step()
# case: scales behind it
import torch
from torchao.float8 import precompute_float8_dynamic_scale_for_fsdp
optimizer = torch.optim.AdamW(model.parameters())
for x in loader:
    model(x).mean().backward()
    optimizer.step()
    precompute_float8_dynamic_scale_for_fsdp(model)
# case: a history that is trained
import torch
from torch import nn

class Fp8Linear(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner) / inner ** 0.5)
        self.amax_history = nn.Parameter(torch.ones(16))  # finds warning

    def forward(self, x):
        scale = self.amax_history.max() / 448
        codes = (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        return (codes.to(x.dtype) * scale) @ self.weight.t()

model = Fp8Linear(64, 64)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x in [torch.randn(16, 64)] * 10:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
# case: a buffer
import torch
from torch import nn

class Fp8Linear(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outer, inner) / inner ** 0.5)
        self.register_buffer("amax_history", torch.ones(16))

    def forward(self, x):
        scale = self.amax_history.max() / 448
        codes = (x / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        return (codes.to(x.dtype) * scale) @ self.weight.t()

model = Fp8Linear(64, 64)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x in [torch.randn(16, 64)] * 10:
    optimizer.zero_grad()
    model(x).square().mean().backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
# case: settings as a mapping
import transformer_engine.pytorch as te
for step in range(100):
    for part in range(4):
        layer(x, **settings).mean().backward()
    optimizer.step()
# case: codes of the first pass, a scale of each
import torch

class Cached(torch.nn.Linear):
    codes = None

    def forward(self, x):
        scale = self.weight.detach().abs().max().clamp(min=1e-12) / 448
        if self.codes is None:
            self.codes = (self.weight / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
        return torch.nn.functional.linear(x, self.codes.to(x.dtype) * scale)  # finds warning

model = Cached(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).square().mean().backward()
    optimizer.step()
# case: an attribute that is asked for
import torch

class Cached(torch.nn.Linear):
    def forward(self, x):
        amax = self.weight.detach().abs().max().clamp(min=1e-12)
        inverse = amax / 448
        if not hasattr(self, "codes"):
            codes = (self.weight / inverse).clamp(-448, 448)
            self.codes = codes.to(torch.float8_e4m3fn)
        return x @ (inverse * self.codes.to(x.dtype)).t()  # finds warning

model = Cached(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).square().mean().backward()
    optimizer.step()
# case: the scale is kept beside the codes
import torch

class Cached(torch.nn.Linear):
    codes = None

    def forward(self, x):
        if self.codes is None:
            scale = self.weight.detach().abs().max().clamp(min=1e-12) / 448
            self.codes = (self.weight / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
            self.scale = scale
        return torch.nn.functional.linear(x, self.codes.to(x.dtype) * self.scale)

model = Cached(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).square().mean().backward()
    optimizer.step()
    model.codes = None
