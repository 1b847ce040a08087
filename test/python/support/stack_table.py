"""Stacks of equal blocks, of any number of layers, whose estimates are compared with PyTorch.

A `Stack` makes a `Task`: a network, inputs as it is used on, and a loss, so that one module is
exported both for a check (inputs to outputs) and for a training step (inputs and targets to the
loss). `all_stacks()` is the table; stack_decoders.py, stack_families.py and stack_blocks.py have
its rows. Networks are small, and keep the initialisation of their library.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 2000
BATCH = 2
#: Elements of the embeddings that are larger in `outlier`, and by how much; and how much
#: larger the weights of products are in `scaled`: as trained decoders have them.
OUTLIERS, OUTLIER_FACTOR, SCALE = (5, 77, 110), 40, 10
ROWS = ("stack_decoders", "stack_families", "stack_blocks")

Tensors = tuple[torch.Tensor, ...]


def cross_entropy(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Of the classes along the last dim."""
    return F.cross_entropy(logits.float().flatten(0, -2), target.flatten())


class Task(nn.Module):
    """A network, inputs and a target: gives its output, and with a target the loss."""

    def __init__(self, net: nn.Module, inputs: Tensors, target: torch.Tensor,
                 call: Callable[..., torch.Tensor] | None = None):
        super().__init__()
        self.net, self.inputs, self.target, self.call = net, inputs, target, call

    def forward(self, *inputs: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        output = self.call(self.net, *inputs) if self.call else self.net(*inputs)
        return output if target is None else cross_entropy(output, target)


@dataclass(frozen=True)
class Stack:
    name: str
    group: str
    #: The number of layers gives the task.
    make: Callable[[int], Task]
    #: Other states of the weights than that of initialisation.
    variants: tuple[str, ...] = ()

    def build(self, layers: int, variant: str = "plain", seed: int = 0) -> Task:
        torch.manual_seed(seed)
        task = self.make(layers).eval()
        vary(task.net, variant)
        return task


def tokens(length: int, batch: int = BATCH) -> torch.Tensor:
    return torch.randint(0, VOCABULARY, (batch, length))


def language_model(net: nn.Module, length: int) -> Task:
    """A causal or masked language model of transformers."""
    net.config.use_cache = False
    return Task(net, (tokens(length),), tokens(length), lambda net, ids: net(input_ids=ids).logits)


def transformers_model(model: str, config: str, **options: Any) -> nn.Module:
    """By the names of its classes; the library is loaded when the first one is made."""
    library = importlib.import_module("transformers")
    return getattr(library, model)(getattr(library, config)(**options))


def vary(net: nn.Module, variant: str) -> None:
    embeddings = [module.weight for module in net.modules() if isinstance(module, nn.Embedding)]
    tables = {id(weight) for weight in embeddings}
    head = getattr(net, "get_output_embeddings", lambda: None)()
    if head is not None:
        tables.add(id(head.weight))
    with torch.no_grad():
        if variant == "scaled":
            for weight in net.parameters():
                if weight.dim() == 2 and id(weight) not in tables:
                    weight *= SCALE
        elif variant == "outlier":
            embeddings[0][:, list(OUTLIERS)] *= OUTLIER_FACTOR
        else:
            assert variant == "plain", variant


def all_stacks() -> dict[str, Stack]:
    rows = [stack for module in ROWS for stack in importlib.import_module(module).STACKS]
    table = {stack.name: stack for stack in rows}
    assert len(table) == len(rows)
    return table
