"""Networks to import from TorchScript: one class each, scripted and traced.

`networks()` gives `Network` records. All weights are drawn from a fixed seed.
What only makes sense scripted (loops over tensors' values, state) or traced says
so. The names of the inputs are those of `forward`'s arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SEED = 20240501


@dataclass
class Network:
    name: str
    make: Callable[[], nn.Module]
    inputs: tuple
    names: list[str]
    forms: tuple[str, ...] = ("scripted", "traced")

    def module(self) -> nn.Module:
        torch.manual_seed(SEED)
        return self.make()

    def save(self, form: str, path: str) -> nn.Module:
        """Writes the archive; gives the eager module."""
        module = self.module()
        if form == "scripted":
            forget_freed_builtins(module)
            torch.jit.script(module).save(path)
        else:
            with torch.no_grad():
                traced = torch.jit.trace(module, self.inputs, check_trace=False)
            traced.save(path)
        return module


def forget_freed_builtins(module: nn.Module) -> None:
    """PyTorch 2.13 finds builtin functions by id() and keeps the ids of those that it freed.
    An attribute that got such an address would be taken for the function."""
    table = torch.jit._builtins._get_builtin_table()
    for part in module.modules():
        for value in vars(part).values():
            if not callable(value):
                table.pop(id(value), None)


# -- feed forward and convolutional -------------------------------------------


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(16, 32),
            nn.ReLU(),
            nn.Linear(32, 32),
            nn.GELU(),
            nn.Dropout(0.1),
            nn.Linear(32, 32),
            nn.SiLU(),
            nn.Linear(32, 10),
            nn.LogSoftmax(dim=-1),
        )

    def forward(self, x):
        return self.layers(x)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=4),
            nn.BatchNorm2d(16),
            nn.Hardswish(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Linear(16, 10)

    def forward(self, x):
        x = self.features(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


class ResidualBlock(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.down = nn.Sequential(
            nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
        )

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.down(x)
        return F.relu(y)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(ResidualBlock(8, 8, 1), ResidualBlock(8, 16, 2))
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.blocks(self.pool(torch.relu(self.stem(x))))
        return self.fc(x.mean([2, 3]))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Conv2d(1, 4, 3, padding=1)
        self.down2 = nn.Conv2d(4, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.merge = nn.Conv2d(8, 4, 3, padding=1)
        self.smooth = nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect")
        self.head = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        a = F.leaky_relu(self.down1(x), 0.1)
        b = F.elu(self.norm(self.down2(F.avg_pool2d(a, 2))))
        up = self.up(b)
        rows = a.size(2) - up.size(2)
        columns = a.size(3) - up.size(3)
        up = F.pad(up, [0, columns, 0, rows])
        y = F.relu(self.merge(torch.cat([a, up], dim=1)))
        y = self.smooth(y)
        y = F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.head(y))


class MobileBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.expand = nn.Conv2d(4, 16, 1)
        self.depth = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.squeeze = nn.Conv2d(16, 4, 1)
        self.excite = nn.Conv2d(4, 16, 1)
        self.project = nn.Conv2d(16, 4, 1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        y = F.relu6(self.expand(x))
        y = F.hardtanh(self.depth(y), -2.0, 2.0)
        s = F.adaptive_avg_pool2d(y, 1)
        s = F.hardsigmoid(self.excite(F.relu(self.squeeze(s))))
        y = self.project(y * s) + x
        n, c, h, w = y.shape
        y = y.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        return self.shuffle(y)


class Signal(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 6, 5, padding=2)
        self.norm = nn.InstanceNorm1d(6, affine=True)
        self.prelu = nn.PReLU(6)
        self.volume = nn.Conv3d(1, 2, 3, padding=1)

    def forward(self, x):
        y = self.prelu(self.norm(self.conv(x)))
        y = F.max_pool1d(y, 2)
        z = self.volume(y.unsqueeze(1).unsqueeze(1))
        return F.softplus(z.squeeze(2)).sum(dim=1)


# -- sequences -----------------------------------------------------------------


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 12, padding_idx=0)
        self.lstm = nn.LSTM(12, 8, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(16, 5)

    def forward(self, tokens):
        x = self.embed(tokens)
        y, (h, c) = self.lstm(x)
        return self.out(y), h, c


class GRUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 8, num_layers=2)
        self.rnn = nn.RNN(8, 4, nonlinearity="relu", bias=False)

    def forward(self, x, state):
        y, h = self.gru(x, state)
        z, last = self.rnn(y)
        return z, h, last


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTMCell(4, 6)
        self.gru = nn.GRUCell(6, 6)
        self.rnn = nn.RNNCell(6, 6)

    def forward(self, x):
        h = torch.zeros(x.size(1), 6)
        c = torch.zeros(x.size(1), 6)
        g = torch.zeros(x.size(1), 6)
        outputs: List[Tensor] = []
        for step in range(x.size(0)):
            h, c = self.lstm(x[step], (h, c))
            g = self.gru(h, g)
            outputs.append(self.rnn(g, h))
        return torch.stack(outputs), c


# -- transformers --------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, mask: Optional[Tensor] = None):
        b, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, c))


class EncoderLayer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.attention = Attention(width, 2)
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.narrow(F.gelu(self.wide(x), approximate="tanh")))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(40, 16)
        self.positions = nn.Parameter(torch.randn(1, 12, 16) * 0.02)
        self.layers = nn.ModuleList([EncoderLayer(16) for _ in range(2)])
        self.head = nn.Linear(16, 3)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions[:, : tokens.size(1)]
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, 0]).softmax(-1)


class ManualAttention(nn.Module):
    """Scores, a mask of -inf, softmax and products written out."""

    def __init__(self):
        super().__init__()
        self.q = nn.Linear(16, 16)
        self.k = nn.Linear(16, 16)
        self.v = nn.Linear(16, 16)
        self.register_buffer("mask", torch.tril(torch.ones(1, 1, 16, 16)))

    def forward(self, x):
        b, t, c = x.size()
        q = self.q(x).view(b, t, 4, 4).permute(0, 2, 1, 3)
        k = self.k(x).view(b, t, 4, 4).permute(0, 2, 1, 3)
        v = self.v(x).view(b, t, 4, 4).permute(0, 2, 1, 3)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(4)
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        weights = F.softmax(scores, dim=-1)
        y = torch.einsum("bhij,bhjd->bhid", weights, v)
        return y.permute(0, 2, 1, 3).reshape(b, t, c)


class LibraryTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoderLayer(16, 2, 32, batch_first=True)

    def forward(self, source, target):
        return self.decoder(target, self.encoder(source))


class RMSNorm(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = 1e-6

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


def rotate_half(x: Tensor) -> Tensor:
    first = x[..., : x.shape[-1] // 2]
    second = x[..., x.shape[-1] // 2 :]
    return torch.cat((-second, first), dim=-1)


class DecoderLayer(nn.Module):
    def __init__(self, width: int, heads: int, groups: int):
        super().__init__()
        self.heads = heads
        self.groups = groups
        self.size = width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.norm1 = RMSNorm(width)
        self.norm2 = RMSNorm(width)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x, cos, sin):
        b, t, c = x.shape
        y = self.norm1(x)
        q = self.q(y).view(b, t, self.heads, self.size).transpose(1, 2)
        k, v = self.kv(y).split(self.groups * self.size, dim=-1)
        k = k.view(b, t, self.groups, self.size).transpose(1, 2)
        v = v.view(b, t, self.groups, self.size).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        k = k.repeat_interleave(self.heads // self.groups, dim=1)
        v = v[:, :, None].expand(-1, -1, self.heads // self.groups, -1, -1)
        v = v.reshape(b, self.heads, t, self.size)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, c))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(64, 16)
        self.layers = nn.ModuleList([DecoderLayer(16, 4, 2) for _ in range(2)])
        self.norm = RMSNorm(16)
        inverse = 1.0 / (10000 ** (torch.arange(0, 4, 2).float() / 4))
        self.register_buffer("inverse", inverse)

    def forward(self, tokens):
        x = self.tokens(tokens)
        place = torch.arange(tokens.size(1), device=tokens.device)
        angles = torch.outer(place.float(), self.inverse)
        angles = torch.cat([angles, angles], dim=-1)
        cos = angles.cos()[None, None]
        sin = angles.sin()[None, None]
        for layer in self.layers:
            x = layer(x, cos, sin)
        return F.linear(self.norm(x), self.tokens.weight)


# -- generative, losses, tables ------------------------------------------------


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(20, 16)
        self.mean = nn.Linear(16, 4)
        self.logvar = nn.Linear(16, 4)
        self.decode = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 20))

    def forward(self, x, noise):
        h = torch.tanh(self.encode(x))
        mean, logvar = self.mean(h), self.logvar(h).clamp(-10.0, 10.0)
        z = mean + noise * torch.exp(0.5 * logvar)
        y = torch.sigmoid(self.decode(z))
        divergence = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp(), dim=1)
        return y, divergence.mean()


class Losses(nn.Module):
    def forward(self, logits, target, labels):
        classes = F.cross_entropy(logits, labels)
        smooth = F.cross_entropy(logits, labels, label_smoothing=0.1)
        likelihood = F.nll_loss(F.log_softmax(logits, dim=1), labels)
        square = F.mse_loss(logits, target)
        absolute = F.l1_loss(logits, target, reduction="sum")
        huber = F.smooth_l1_loss(logits, target)
        binary = F.binary_cross_entropy_with_logits(logits, target)
        divergence = F.kl_div(
            F.log_softmax(logits, 1), F.softmax(target, 1), reduction="batchmean"
        )
        cosine = F.cosine_similarity(logits, target, dim=1).mean()
        total = classes + smooth + likelihood + square + absolute + huber
        return total + binary + divergence + cosine


class Contrastive(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, image, text):
        image = F.normalize(image, dim=-1)
        text = text / text.norm(2.0, dim=-1, keepdim=True)
        logits = self.scale.exp() * image @ text.t()
        labels = torch.arange(image.size(0))
        return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.EmbeddingBag(30, 8, mode="sum")
        self.mean = nn.EmbeddingBag(30, 8, mode="mean")
        self.dense = nn.Linear(4, 8)
        self.top = nn.Linear(11, 1)

    def forward(self, dense, indices):
        x = F.relu(self.dense(dense))
        rows = [x, self.bags(indices), self.mean(indices)]
        stacked = torch.stack(rows, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        pairs = torch.tril_indices(3, 3, offset=-1)
        picked = products[:, pairs[0], pairs[1]]
        return torch.sigmoid(self.top(torch.cat([x, picked], dim=1)))


class OffsetBags(nn.Module):
    def __init__(self):
        super().__init__()
        self.sum = nn.EmbeddingBag(30, 4, mode="sum")
        self.most = nn.EmbeddingBag(30, 4, mode="max")

    def forward(self, indices, offsets):
        return self.sum(indices, offsets) + self.most(indices, offsets)


# -- Python in the network -----------------------------------------------------


class Control(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8)
        self.limit = 3

    def forward(self, x):
        if x.sum() > 0:
            y = self.first(x)
        else:
            y = self.second(x) * 0.5
        count = 0
        while bool(y.abs().max() > 0.1) and count < self.limit:
            y = y * 0.5
            count += 1
        pieces: List[Tensor] = []
        for index in range(4):
            pieces.append(y[index] + index)
        result = torch.stack(pieces)
        if result.dim() == 3:
            result = result.flatten(1)
        assert result.size(0) == 4
        return result


class InPlace(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        y[:, 0] = x[:, 1]
        y[:, 1:3] += x[:, :2]
        y[::2, 3] = 7.0
        z = x.clone()
        z[z < 0] = 0.0
        z.mul_(2).add_(1)
        z[0].fill_(3.0)
        w = z.view(-1)
        w[1] = -1.0
        t = z.t()
        t[2].zero_()
        a, b = z.chunk(2, dim=1)
        a.sub_(b)
        rows = torch.tensor([0, 2])
        y[rows] = z[rows]
        y.index_add_(0, rows, torch.ones(2, y.size(1)))
        return y, z


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("steps", torch.tensor(0))
        self.cache: Dict[str, Tensor] = {}
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
        self.steps += 1
        scale = {"a": 2.0, "b": 3.0}
        total = x - self.mean
        for key, value in scale.items():
            total = total * value
        return self.layer(total), self.mean, self.steps


class Cache(nn.Module):
    """Keys written to a preallocated cache in a loop."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)
        self.register_buffer("cache", torch.zeros(2, 5, 4))

    def forward(self, x):
        cache = self.cache.clone()
        for step in range(x.size(1)):
            cache[:, step] = self.proj(x[:, step])
        cache[:, 1 : 1 + x.size(1)] = x
        return cache


class Shapes(nn.Module):
    def forward(self, x):
        a = x.unfold(2, 2, 1).movedim(3, 1).flip(1)
        b = torch.roll(x, 1, 2).repeat(1, 2, 1)
        c = F.unfold(x.unsqueeze(1), 2).tile(1, 1, 2)
        d = x.diagonal(0, 1, 2) + torch.triu(x).sum(-1)
        e = torch.stack(torch.unbind(x, 1), 2).swapaxes(0, 1)
        f = torch.cat(torch.split(x, [1, 2, 1], dim=2), 2)
        g = x.unflatten(2, (2, 2)).squeeze().flatten(2)
        h, _ = torch.meshgrid(x[0, 0], x[0, 1], indexing="ij")
        i = torch.hstack([x, x]).narrow(1, 1, 3).expand_as(b[:, :3])
        j = torch.rot90(x, 1, [1, 2]).reshape(-1, 4)[1:].t()
        k = F.pad(x, (1, 1), mode="replicate") + F.pad(x, (2, 0), value=1.5)
        return a, b, c, d, e, f, g, h, i, j, k


class Lookups(nn.Module):
    def forward(self, x, index):
        rows = index[:, 0]
        a = torch.gather(x, 1, index)
        b = torch.index_select(x, 0, rows)
        c = x[rows, index[:, 1]]
        d = x[:, rows]
        e = torch.zeros_like(x).scatter(1, index, a)
        f = torch.zeros_like(x).scatter_add(1, index, a)
        g = F.one_hot(rows, 6).float() @ torch.ones(6, 2)
        h = torch.where(x > 0, x, x * 0.1)
        i = torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]))
        j, order = torch.topk(x, 2, dim=1)
        k, place = x.max(dim=1)
        m, _ = x.sort(dim=1, descending=True)
        n = x.take(rows) + x.argmax(1)
        o = x.cumsum(1) + x.masked_fill(x > 1, -1e4)
        p = torch.index_put(x, [rows], torch.tensor(2.0))
        q = torch.linspace(0.0, 1.0, 4) * torch.eye(4) + torch.full([4, 4], 2)
        return a, b, c, d, e, f, g, h, i, j, order, k, place, m, n, o, p, q


class Experts(nn.Module):
    """Rows sorted by their expert, each of which has a matrix."""

    def __init__(self, experts=3, width=8):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.weight = nn.Parameter(torch.randn(experts, width, 8))

    def forward(self, x):
        chosen, order = self.gate(x).argmax(1).sort()
        experts = self.weight.shape[0]
        counts = torch.histc(chosen.float(), experts, 0, experts - 1)
        ends = counts.cumsum(0, dtype=torch.int32)
        # The CPU's kernel of some versions takes nothing else.
        narrow = torch.bfloat16
        rows = torch._grouped_mm(x[order].to(narrow), self.weight.to(narrow), offs=ends)
        return rows, torch.histc(x, 4, -1, 1)


class Arithmetic(nn.Module):
    def forward(self, x, n):
        a = (x * 2 + 1 - x / 3) ** 2
        b = torch.addmm(x[:, 0], x, x.t()) + torch.addcmul(x, x, x, value=0.5)
        c = torch.lerp(x, x + 1, 0.3) + x.clamp(min=-1).sqrt().nan_to_num()
        d = n // 2 + n % 3 + torch.ones(4, dtype=torch.int32)
        e = n * 0.5 + x.var(1) + x.std(0, unbiased=False)
        f = torch.logsumexp(x, 1) + x.prod(1) + x.amax(1) + x.norm(p=1, dim=1)
        g = torch.logical_and(x > 0, n > 1).any(1)
        h = x.double() + n
        i = torch.log1p(x.abs()) + torch.expm1(x) + torch.atan2(x, x + 5)
        j = torch.baddbmm(x[None], x[None], x[None]) + torch.einsum("ij,jk->ik", x, x)
        k = torch.minimum(x, x.t()) - torch.true_divide(n, 3) + (5 - x)
        return a, b, c, d, e, f, g, h, i, j, k


# -- precision -----------------------------------------------------------------


class Mixed(nn.Module):
    """Half weights, a part that runs in float."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16).half()
        self.norm = nn.LayerNorm(16)
        self.second = nn.Linear(16, 4).half()

    def forward(self, x):
        y = self.norm(self.first(x.half()).float())
        return self.second(y.type_as(x).to(torch.float16)) * 2


class Autocast(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = F.relu(self.first(x))
            z = self.second(y)
        return z.float().softmax(-1)


def make_quantized() -> nn.Module:
    torch.backends.quantized.engine = "fbgemm"

    class Small(nn.Module):
        def __init__(self):
            super().__init__()
            self.quant = torch.ao.quantization.QuantStub()
            self.conv = nn.Conv2d(3, 4, 3, padding=1)
            self.relu = nn.ReLU()
            self.fc = nn.Linear(4 * 16, 5)
            self.dequant = torch.ao.quantization.DeQuantStub()

        def forward(self, x):
            y = self.relu(self.conv(self.quant(x)))
            y = F.max_pool2d(y, 2).flatten(1)
            return self.dequant(self.fc(y))

    module = Small().eval()
    torch.ao.quantization.fuse_modules(module, [["conv", "relu"]], inplace=True)
    module.qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
    torch.ao.quantization.prepare(module, inplace=True)
    module(torch.randn(8, 3, 8, 8))
    return torch.ao.quantization.convert(module)


def make_dynamic() -> nn.Module:
    torch.backends.quantized.engine = "fbgemm"
    return torch.ao.quantization.quantize_dynamic(MLP().eval(), {nn.Linear})


def networks() -> list[Network]:
    torch.manual_seed(SEED)

    def image(*shape: int) -> Tensor:
        return torch.randn(*shape)

    tokens = torch.randint(1, 40, (2, 8))
    index = torch.randint(0, 4, (4, 4))
    scripted = ("scripted",)
    return [
        Network("mlp", lambda: MLP().eval(), (image(4, 16),), ["x"]),
        Network("mlp_training", lambda: MLP().train(), (image(4, 16),), ["x"]),
        Network("cnn", lambda: CNN().eval(), (image(2, 3, 16, 16),), ["x"]),
        Network("cnn_training", lambda: CNN().train(), (image(2, 3, 16, 16),), ["x"]),
        Network("resnet", lambda: ResNet().eval(), (image(1, 3, 32, 32),), ["x"]),
        Network("unet", lambda: UNet().eval(), (image(1, 1, 16, 16),), ["x"]),
        Network("mobile", lambda: MobileBlock().eval(), (image(2, 4, 8, 8),), ["x"]),
        Network("signal", lambda: Signal().eval(), (image(2, 2, 16),), ["x"]),
        Network("lstm", lambda: Tagger().eval(), (tokens,), ["tokens"]),
        Network(
            "gru",
            lambda: GRUNet().eval(),
            (image(7, 2, 6), image(2, 2, 8)),
            ["x", "state"],
        ),
        Network("cells", lambda: Cells().eval(), (image(3, 2, 4),), ["x"]),
        Network("encoder", lambda: Encoder().eval(), (tokens,), ["tokens"]),
        Network(
            "attention", lambda: ManualAttention().eval(), (image(2, 6, 16),), ["x"]
        ),
        Network(
            "library_transformer",
            lambda: LibraryTransformer().eval(),
            (image(2, 5, 16), image(2, 3, 16)),
            ["source", "target"],
        ),
        Network("decoder", lambda: Decoder().eval(), (tokens,), ["tokens"]),
        Network("vae", VAE, (image(3, 20), image(3, 4)), ["x", "noise"]),
        Network(
            "losses",
            Losses,
            (image(4, 6), torch.rand(4, 6), torch.randint(0, 6, (4,))),
            ["logits", "target", "labels"],
        ),
        Network("contrastive", Contrastive, (image(4, 8), image(4, 8)), ["image", "text"]),
        Network(
            "recommender",
            Recommender,
            (image(3, 4), torch.randint(0, 30, (3, 5))),
            ["dense", "indices"],
        ),
        Network(
            "offset_bags",
            OffsetBags,
            (torch.randint(0, 30, (9,)), torch.tensor([0, 2, 7])),
            ["indices", "offsets"],
        ),
        Network("control", Control, (image(4, 8),), ["x"], scripted),
        Network("in_place", InPlace, (image(4, 4),), ["x"]),
        Network("buffered", Buffered, (image(3, 6),), ["x"], scripted),
        Network("cache", Cache, (image(2, 3, 4),), ["x"]),
        Network("shapes", Shapes, (image(2, 4, 4),), ["x"]),
        Network("experts", Experts, (image(12, 8),), ["x"]),
        Network("lookups", Lookups, (image(4, 4), index), ["x", "index"]),
        Network(
            "arithmetic",
            Arithmetic,
            (image(4, 4), torch.randint(1, 9, (4, 4))),
            ["x", "n"],
        ),
        Network("mixed", Mixed, (image(3, 8),), ["x"]),
        Network("half", lambda: MLP().eval().half(), (image(4, 16).half(),), ["x"]),
        Network("autocast", Autocast, (image(3, 8),), ["x"]),
        Network("quantized", make_quantized, (image(2, 3, 8, 8),), ["x"]),
        Network("dynamic_quantized", make_dynamic, (image(4, 16),), ["x"]),
    ]
