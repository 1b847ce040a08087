"""Sizes of a module's output by channel, on the device."""

from collections.abc import Sequence

import torch

from mpopt.monitor.observing import Observer
from mpopt.monitor.packs import Pack

_SECOND = (torch.nn.modules.conv._ConvNd, torch.nn.modules.batchnorm._NormBase, torch.nn.GroupNorm)
_LAST = (torch.nn.Linear, torch.nn.LayerNorm, torch.nn.Embedding, torch.nn.RMSNorm)


def _axis_of(module: torch.nn.Module) -> int | None:
    """The axis of its output whose indices are channels; None where the module does not say."""
    return 1 if isinstance(module, _SECOND) else -1 if isinstance(module, _LAST) else None


class Channels:
    """Takes outputs of modules into the record, and sizes by channel into packs: a pair of numbers
    each."""

    #: Pairs in a vector, which a step begins when it needs one.
    ROOM = 64

    def __init__(self, modules: Sequence[torch.nn.Module]):
        self._axes = [_axis_of(module) for module in modules]
        self._observe = torch.ops.mpopt.observe_output.default
        self._pack: Pack | None = None
        self._step = -1
        self._room = torch.empty(0)
        self._indices: list[int] = []

    def see(self, pack: Pack, step: int, index: int, value: torch.Tensor, probe: int,
            observer: Observer, sized: bool) -> None:
        """Records what a module gave, by its index, under `probe` if that is one, and takes its
        sizes if these are wanted and it has two channels: on the processor by one op."""
        axis = self._axes[index] if sized else None
        if not value.is_cpu:
            value = value.detach()
            if probe >= 0:
                observer.value(probe, value)
            if axis is not None and value.dim() > 1 and value.shape[axis] > 1 and value.numel():
                pack.add(("channels", step, [index]), sizes_by_ops(value, axis % value.dim()))
            return
        if axis is None and probe < 0:
            return
        indices = self._indices
        if pack is not self._pack or step != self._step or len(indices) == self.ROOM:
            self._room, self._indices = torch.empty(2 * self.ROOM), (indices := [])
            self._pack, self._step = pack, step
            if sized:
                pack.add(("channels", step, indices), self._room)
        if self._observe(value, self._room, len(indices), probe, axis, observer.hex):
            indices.append(index)


def sizes_by_ops(value: torch.Tensor, axis: int) -> torch.Tensor:
    """FP32 [2]: root mean square of the largest channel, and of the median one of those that
    are not 0 throughout (0 if all are), on any device; nothing is waited for."""
    others = [other for other in range(value.dim()) if other != axis]
    # Sums of squares have no room in 16 bits.
    wide = torch.float32 if value.element_size() < 4 else None
    return sizes_of_norms(torch.linalg.vector_norm(value, dim=others, dtype=wide), value.numel() / value.shape[axis])


def sizes_of_norms(norms: torch.Tensor, each: float) -> torch.Tensor:
    """The same of channels of `each` elements."""
    sizes = (norms / each ** 0.5).float()
    ordered = torch.where(sizes > 0, sizes, torch.inf).sort().values
    filled = (sizes > 0).sum()
    # An index in brackets would be read by the host.
    middle = (filled - 1).clamp(min=0).div(2, rounding_mode="floor").reshape(1)
    median = ordered.gather(0, middle)
    return torch.cat([sizes.max().reshape(1), torch.where(filled > 0, median, 0.0)])
