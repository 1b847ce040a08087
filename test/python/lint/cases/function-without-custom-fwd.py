# case: products in both passes
import torch

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):  # finds warning
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return torch.mm(g, w.t()), x.t() @ g

with torch.autocast("cuda"):
    y = Product.apply(x, w)
# case: decorated
import torch
from torch.amp import custom_bwd, custom_fwd

class Product(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda")
    def forward(ctx, x, w):
        return x @ w

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, g):
        return g @ ctx.w, None

with torch.autocast("cuda"):
    y = Product.apply(x, w)
# case: no products, and products outside of a region
import torch

class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return x @ w

    @staticmethod
    def backward(ctx, g):
        return g @ ctx.w, None

with torch.autocast("cuda"):
    x = Round.apply(x)
y = Product.apply(x, w)
# case: by another name, in a module
import torch

class Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):  # finds warning
        ctx.save_for_backward(x, w)
        return x @ w.t()

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, g.t() @ x

project = Project.apply

class Head(torch.nn.Module):
    def forward(self, x):
        return project(x, self.w)

head = Head()
with torch.autocast("cuda", dtype=torch.float16):
    y = head(x)
