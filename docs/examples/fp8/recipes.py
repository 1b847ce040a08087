"""A small language model under four FP8 recipes: what mpopt expects of its gradients, and what they are.

    python recipes.py [RECIPE ...]

Nothing but a CPU is needed: the operands of each linear layer's three products are rounded by PyTorch's
float8 dtypes with the scales of the recipe, and multiplied in FP32. One step is taken in FP32 and one under
each recipe, from the same weights and tokens."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

import mpopt

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
WIDTH, HEADS, LAYERS, TOKENS, ROWS, LENGTH = 128, 4, 2, 512, 8, 64


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        query, key, value = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS, bias=False)

    def forward(self, tokens, labels):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


def stored(x, dtype, size=None, up=False, fixed=None):
    """x as codes times a scale for each `size` elements of a row (None: one of the tensor). `up`: powers of two."""
    shape = x.shape
    groups = x.reshape(1, -1) if size is None else x.reshape(-1, min(size, shape[-1]))
    most = torch.finfo(dtype).max
    scale = torch.full((1, 1), fixed) if fixed else groups.abs().amax(-1, keepdim=True).clamp_min(1e-12) / most
    if up:
        scale = scale.log2().ceil().exp2()
    return ((groups / scale).clamp(-most, most).to(dtype).float() * scale).reshape(shape)


#: How a recipe stores x and w, and dy.
RECIPES = {
    "delayed_cold": (lambda x: stored(x, E4M3, fixed=1.0), lambda x: stored(x, E5M2, fixed=1.0)),
    "current": (lambda x: stored(x, E4M3), lambda x: stored(x, E5M2)),
    "rowwise": (lambda x: stored(x, E4M3, 1 << 30, up=True),) * 2,
    "mxfp8": (lambda x: stored(x, E4M3, 32, up=True),) * 2,
}


class Product(torch.autograd.Function):
    """x w^T; each operand is scaled along what the product adds up over, its last axis here."""

    @staticmethod
    def forward(ctx, x, w, recipe):
        ctx.save_for_backward(x, w)
        ctx.recipe = recipe
        code, _ = recipe
        return code(x) @ code(w).T

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensors
        code, code_gradient = ctx.recipe
        dx = code_gradient(dy) @ code(w.T.contiguous()).T
        dw = code_gradient(dy.T.contiguous()) @ code(x.T.contiguous()).T
        return dx, dw, None


class Linear(nn.Linear):
    recipe = None

    def forward(self, x):
        if not self.recipe:
            return super().forward(x)
        return Product.apply(x.flatten(0, 1), self.weight, self.recipe).unflatten(0, x.shape[:2])


def gradients(model, batch, recipe) -> dict[str, torch.Tensor]:
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.__class__, module.recipe = Linear, recipe
    model.zero_grad()
    model(*batch).backward()
    for module in model.modules():
        if isinstance(module, Linear):
            module.__class__ = nn.Linear
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def median(numbers):
    return sorted(numbers)[len(numbers) // 2]


def main() -> None:
    torch.manual_seed(0)
    model, batch = Model(), tuple(torch.randint(TOKENS, (2, ROWS, LENGTH)))
    exact = gradients(model, batch, None)
    print("recipe        median of gradients: expected, is   worst: expected, is   verdict")
    for name in sys.argv[1:] or RECIPES:
        report = mpopt.check_training(model, batch, loss=lambda model, batch: model(*batch), precision=f"fp8:{name}")
        expected = [each.expected_error for each in report.gradients.values() if each.expected_error > 0]
        moved = gradients(model, batch, RECIPES[name])
        found = {p: float((moved[p] - exact[p]).norm() / exact[p].norm()) for p in exact}
        rules = ", ".join(sorted({finding.rule for finding in report.findings if finding.rule.startswith("MP4")})) or "sound"
        print(f"{name:14}{median(expected):24.3f} {median(found.values()):8.3f}"
              f"{max(expected):18.3f} {max(found.values()):8.3f}   {rules}")


if __name__ == "__main__":
    main()
