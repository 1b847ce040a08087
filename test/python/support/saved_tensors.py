"""Bytes that autograd saves between the passes: distinct storages, less those of tensors that
the model holds anyway."""

from __future__ import annotations

from typing import Callable, Iterable

import torch


def saved_bytes(forward: Callable[[], torch.Tensor], held: Iterable[torch.Tensor]) -> int:
    """Bytes saved by the graph of the loss that `forward` returns; `held`: parameters and buffers."""
    known = {tensor.untyped_storage().data_ptr() for tensor in held}
    # Tensors are kept so that no storage takes the place of another.
    kept: dict[int, torch.Tensor] = {}

    def pack(tensor):
        place = tensor.untyped_storage().data_ptr()
        if place not in known:
            kept.setdefault(place, tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = forward()
    total = sum(tensor.untyped_storage().nbytes() for tensor in kept.values())
    del loss
    return total


def held_by(module: torch.nn.Module) -> list[torch.Tensor]:
    return [*module.parameters(), *module.buffers()]
