"""The use of gradients between the backward pass and the update."""

import weakref
from collections.abc import Callable, Sequence

import torch

from mpopt.monitor.protocol import Protocol
from mpopt.monitor.scalers import Scaler


class ScalerWatch:
    """Looks at gradients right before a `GradScaler` unscales them, by the user or in
    `scaler.step`. A gradient that nothing wrote to is known by its version; norms are taken of
    the others alone.

    index    of parameters by id()
    changed  called with indices and gradients that were written to since the backward pass
    protocol told of unscaling and of updates"""

    def __init__(self, scaler: Scaler, index: dict[int, int],
                 changed: Callable[[list[int], list[torch.Tensor]], None], protocol: Protocol):
        self._scaler, self._index, self._changed = scaler, index, changed
        self._protocol = protocol
        self._versions: dict[int, tuple[torch.Tensor, int]] = {}
        self._original = None

    @property
    def has_gradients(self) -> bool:
        """True if gradients came that were not unscaled yet."""
        return bool(self._versions)

    def saw(self, indices: Sequence[int], gradients: Sequence[torch.Tensor]) -> None:
        """A backward pass ended with these gradients."""
        for index, gradient in zip(indices, gradients, strict=True):
            self._versions[index] = gradient, gradient._version

    def forget(self) -> None:
        self._versions.clear()

    def attach(self) -> None:
        """Takes the place of the instance's `unscale_`, which `scaler.step` calls, too, and `update`."""
        scaler = self._scaler.given
        if self._original is not None or not self._scaler.is_gradscaler:
            return
        self._original, watch = scaler.unscale_, weakref.ref(self)
        original, original_update = self._original, scaler.update

        def update(*arguments, **named):
            watching = watch()
            if watching is not None:
                watching._protocol.update()
            return original_update(*arguments, **named)

        def unscale_(optimizer):
            watching = watch()
            if watching is not None:
                watching._look(optimizer)
            return original(optimizer)

        scaler.unscale_, scaler.update = unscale_, update

    def detach(self) -> None:
        if self._original is not None:
            # The class has the original; whoever wrapped this wrapper keeps it.
            for name in ("unscale_", "update"):
                self._scaler.given.__dict__.pop(name, None)
            self._original = None

    def _look(self, optimizer) -> None:
        indices, gradients, found = [], [], False
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                index = self._index.get(id(parameter), -1)
                gradient, version = self._versions.pop(index, (None, 0))
                found = found or gradient is not None
                if gradient is not None and gradient._version != version:
                    indices.append(index)
                    gradients.append(gradient)
        self._protocol.unscale(has_gradients=found)
        if indices:
            self._changed(indices, gradients)


class UpdateWatch:
    """Compares weights before and after an update, at most `ELEMENTS` of each.

    seen  called with a parameter, a tensor of two elements and the learning rate: the share of
          elements with a gradient that kept their value (NaN without such elements, and for
          weights of 32 bits), and the root mean square of the change, as a multiple of that of
          the weights (NaN if they were 0, and for biases and the like, which begin near 0; a
          vector of more than `ELEMENTS` is many weights that an engine has joined)"""

    ELEMENTS = 1 << 16

    def __init__(self, seen: Callable[[torch.Tensor, torch.Tensor, float], None]):
        self._seen = seen
        self._before: list = []

    @staticmethod
    def sees(parameter: torch.Tensor) -> bool:
        return parameter.dtype in (torch.float16, torch.bfloat16, torch.float32)

    @classmethod
    def is_vector(cls, parameter: torch.Tensor) -> bool:
        return parameter.dim() < 2 and parameter.numel() <= cls.ELEMENTS

    def before(self, optimizer) -> None:
        self._before = []
        for group in optimizer.param_groups:
            rate = group.get("lr")
            # Without a learning rate nothing is to change; one on a device would be waited for.
            if isinstance(rate, torch.Tensor) or not rate:
                continue
            for parameter in group["params"]:
                gradient = parameter.grad
                if gradient is None or not self.sees(parameter) or \
                        gradient.layout != torch.strided or \
                        parameter.dtype == torch.float32 and self.is_vector(parameter):
                    continue
                stride = max(1, parameter.numel() // self.ELEMENTS)
                self._before.append((parameter, stride, self._part(parameter, stride).clone(),
                                     self._part(gradient, stride) != 0, rate))

    def after(self) -> None:
        for parameter, stride, before, moved, rate in self._before:
            after, small = self._part(parameter, stride), parameter.dtype != torch.float32
            same = ((after == before) & moved).sum().float() / moved.sum().float()
            size = before.float().norm() * (torch.nan if self.is_vector(parameter) else 1)
            # Weights that were 0 make it NaN, not Inf.
            change = (after.float() - before.float()).norm() * size / (size * size)
            self._seen(parameter, torch.stack([same if small else torch.full_like(same, torch.nan),
                                               change]), rate)
        self._before = []

    @staticmethod
    def _part(tensor: torch.Tensor, stride: int) -> torch.Tensor:
        tensor = tensor.detach()
        if hasattr(tensor, "to_local"):
            tensor = tensor.to_local()
        return tensor.reshape(-1)[::stride]
