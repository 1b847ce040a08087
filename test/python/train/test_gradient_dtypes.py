"""Dtypes of gradients against autograd's, under torch.autocast on the CPU.

The gradient of what a module returns has the dtype that a hook sees, and the gradient of
a weight is computed in the dtypes in which it reaches the leaf's casts: an FP32 `.grad` may
come from an FP16 one. The lists are those of the CPU.
"""

from __future__ import annotations

import re
import subprocess

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tool import BIN, read_ranges

POLICY = "pytorch-cpu-2.14"
DTYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32"}
# What moves a gradient, or adds it up, does not compute it.
MOVES = {"mp.transpose", "mp.reshape", "mp.identity", "mp.add", "mp.unsqueeze", "mp.squeeze"}

# On the CPU group_norm is one op on 16-bit data with FP32 parameters. Exporters write it out,
# and its parameters are then cast to the dtype of the data.
WRITTEN_OUT = {"groups.weight", "groups.bias"}


class Tied(nn.Module):
    """A table that is looked up in FP32 and multiplied by in 16 bits."""

    inputs = ((torch.arange(12) % 9).reshape(3, 4),)

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 8)
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 8)
        self.gate = nn.GELU()

    def forward(self, tokens):
        x = self.table(tokens)
        x = x + self.gate(self.up(self.norm(x)))
        return x @ self.table.weight.T


class Convolutions(nn.Module):
    inputs = (torch.linspace(-1, 1, 2 * 3 * 8 * 8).reshape(2, 3, 8, 8),)

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.second = nn.Conv2d(4, 6, 3, bias=False)
        self.groups = nn.GroupNorm(2, 6)
        self.head = nn.Linear(6, 9)

    def forward(self, image):
        x = self.pool(self.act(self.norm(self.conv(image))))
        return self.head(self.groups(self.second(x)).mean((2, 3)))


class Attention(nn.Module):
    inputs = (torch.linspace(-1, 1, 2 * 5 * 8).reshape(2, 5, 8),)

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
        self.weights = nn.Softmax(-1)
        self.head = nn.Linear(8, 9)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 8 ** 0.5
        return self.head(self.weights(scores) @ self.v(x))


class Wide(nn.Module):
    """Ops of the FP32 list in the middle, and a parameter that no list casts."""

    inputs = (torch.linspace(-1, 1, 4 * 6).reshape(4, 6),)

    def __init__(self):
        super().__init__()
        self.down = nn.Linear(6, 7)
        self.scale = nn.Parameter(torch.ones(7))
        self.act = nn.Tanh()
        self.head = nn.Linear(7, 9)

    def forward(self, x):
        x = self.act(self.down(x)) * self.scale
        return self.head(torch.logsumexp(x[:, :, None] + x[:, None, :], 1))


def observe(module: nn.Module, dtype: torch.dtype):
    """The dtypes of the gradients of modules' results, and those in which the gradients
    of parameters are computed."""
    seen: dict[str, str] = {}
    hooks = []
    for name, child in module.named_children():
        def see(child, inputs, output, name=name):
            output.register_hook(lambda gradient: seen.update({name: DTYPES[gradient.dtype]}))
        hooks.append(child.register_forward_hook(see))
    with torch.autocast("cpu", dtype=dtype):
        logits = module(*module.inputs)
        labels = torch.arange(logits[..., 0].numel()) % logits.shape[-1]
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels)
    loss.backward()
    for hook in hooks:
        hook.remove()
    leaves = {id(parameter): name for name, parameter in module.named_parameters()}
    computed: dict[str, set[str]] = {}
    visited, work = set(), [loss.grad_fn]
    while work:
        node = work.pop()
        if node in visited:
            continue
        visited.add(node)
        for following, _ in node.next_functions:
            if following is None:
                continue
            work.append(following)
            kinds = {DTYPES[data.dtype] for data in node._input_metadata
                     if data.dtype in DTYPES} if node.name().startswith("ToCopy") else {"f32"}
            # A view of the leaf before its cast.
            leaf = following
            while leaf.name() in ("TBackward0", "PermuteBackward0", "TransposeBackward0"):
                leaf = leaf.next_functions[0][0]
            if hasattr(leaf, "variable") and not node.name().startswith(
                    ("TBackward", "Permute", "Transpose")):
                computed.setdefault(leaves[id(leaf.variable)], set()).update(kinds)
    return seen, computed


def computed_dtypes(text: str, low: str) -> dict[str, set[str]]:
    """The same of parameters, by the IR."""
    head = next(line for line in text.splitlines() if "func.func" in line)
    names = re.findall(r'mp\.name = "([^"]*)"', head.split(") -> (")[1])
    ops = {}
    for line in text.splitlines():
        if match := re.match(r"\s*((?:%\w+(?::\d+)?(?:, )?)+) = (mp\.\w+) (.*)$", line):
            for result in re.findall(r"%\w+", match[1]):
                ops[result] = match[2], match[3]
    returned = next(line for line in text.splitlines() if line.strip().startswith("return "))
    values = re.findall(r"%\w+", returned)

    def trace(value):
        op, rest = ops[value]
        operands = re.findall(r"%\w+", rest.split(" : ")[0])
        types = re.findall(r"(bf16|f16|f32)>", rest.rsplit(" : (", 1)[-1].split(") -> ")[0])
        if op == "mp.cast" and types == [low]:
            return {low}
        if op in MOVES and all(operand in ops for operand in operands):
            found = set()
            for operand, _ in zip(operands, types):
                found |= trace(operand)
            return found
        return {"f32"}

    return {name[5:-1]: trace(value) for name, value in zip(names, values, strict=True)
            if name.startswith("grad(")}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["fp16", "bf16"])
@pytest.mark.parametrize("network", [Tied, Convolutions, Attention, Wide])
def test_autocast(network, dtype, tmp_path):
    torch.manual_seed(0)
    module = network().train()
    model = tmp_path / "model.onnx"
    torch.onnx.export(module, module.inputs, model, dynamo=False, opset_version=17,
                      input_names=["x"], output_names=["logits"],
                      training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)
    seen, computed = observe(module, dtype)
    assert len(seen) >= 3 and len(computed) == len(list(module.parameters()))
    low = DTYPES[dtype]
    mode = "autocast-fp16" if low == "f16" else "autocast-bf16"

    tensors = read_ranges(model, "--train", "--loss", "cross-entropy:logits",
                          "--precision", mode, "--policy", POLICY)["tensors"]
    # The last value of a module with a gradient is what it returns.
    gradients = [tensor for tensor in tensors if f"grad({tensor})" in tensors]
    last = {name: [tensor for tensor in gradients if tensor.startswith(f"/{name}/")] or ["logits"]
            for name in seen}
    found = {name: tensors[f"grad({path[-1]})"]["dtype"] for name, path in last.items()}
    assert found == seen

    imported = subprocess.run([BIN / "mpopt", "--emit-mlir", model], capture_output=True,
                              check=True, text=True).stdout
    done = subprocess.run(
        [BIN / "mpopt-opt", "-", "--mp-recognize-idioms",
         f"--mp-apply-precision=mode={mode} policy={POLICY}",
         "--mp-attach-loss=terms=cross-entropy:logits", "--mp-differentiate=of=loss"],
        input=imported, capture_output=True, check=True, text=True)
    found = computed_dtypes(done.stdout, low)
    assert found.keys() == computed.keys()
    for name in found.keys() - WRITTEN_OUT:
        assert found[name] == computed[name], name
