"""The order of backward passes, unscaling, steps and updates of the scaler in a step of the training, and
casts of weights that a region of autocast keeps beyond an update."""

from collections.abc import Callable

import torch

#: Steps between two looks at kept casts; a look takes two steps.
PERIOD, FIRST = 100, 2


class Protocol:
    """The events of a step, host code alone. An order tells nothing where no backward pass was seen. `found` is
    called once a fault with its name:

    updated  gradients are unscaled, or their optimizer steps, after `scaler.update()` that came behind the
             backward pass: they are divided by another scale than they were multiplied by
    twice    an optimizer stepped twice, and no backward pass was between"""

    def __init__(self, found: Callable[[str], None]):
        self._found = found
        self._stepped: set[int] = set()
        self._updated = self._has_passed = False

    def begin(self) -> None:
        self._stepped.clear()
        self._updated = self._has_passed = False

    def backward(self) -> None:
        self._stepped.clear()
        self._updated, self._has_passed = False, True

    def update(self) -> None:
        self._updated = self._has_passed

    def unscale(self, has_gradients: bool) -> None:
        if self._updated and has_gradients:
            self._found("updated")

    def step(self, optimizer) -> None:
        if self._has_passed and id(optimizer) in self._stepped:
            self._found("twice")
        self._stepped.add(id(optimizer))


class KeptCasts:
    """True if autocast still has the cast that it made of a weight before the weight changed, as it has in
    a region around the whole loop. A weight of its own, 1 by 1, is used by a product in one step, changed,
    and used again in the next: what comes then is what it was, or what it is."""

    def __init__(self):
        self._weight: torch.Tensor | None = None
        self._step = -1

    def look(self, step: int, device_type: str) -> tuple[torch.Tensor, float] | None:
        """In a forward pass under autocast: the product, and what it has to be if the weight's present
        value was used; None in steps in which nothing is to be told."""
        place = step % PERIOD - FIRST
        if place not in (0, 1) or self._step == step:
            return None
        if self._weight is None or self._weight.device.type != device_type:
            if place:
                return None
            self._weight = torch.ones(1, 1, device=device_type, requires_grad=True)
        follows, self._step = place == 1 and self._step == step - 1, step
        # The product is no part of the model's graph.
        with torch.no_grad():
            product = torch.mm(self._weight, torch.ones_like(self._weight))
        return (product.detach().reshape(1).float(), 2.0) if follows else None

    def end_step(self, step: int) -> None:
        """The weight changes, as those of the model do."""
        if self._weight is not None and self._step == step:
            with torch.no_grad():
                self._weight.fill_(1.0 if step % PERIOD - FIRST else 2.0)
