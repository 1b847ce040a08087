"""The loss scale of whatever keeps one, read without waiting for a device."""

import torch


class Scaler:
    """A `GradScaler` (PyTorch's, also those that derive from it), or an object that has its
    scale as a number: `cur_scale` or `loss_scale` (DeepSpeed's scalers and engines, an
    `FP16_Optimizer`). `TypeError` for others."""

    def __init__(self, given):
        self.given = given
        # One that is switched off has no scale.
        self.is_gradscaler = hasattr(given, "unscale_") and (
            hasattr(given, "_scale") or hasattr(given, "is_enabled") and not given.is_enabled())
        self._attribute = next((name for name in ("cur_scale", "loss_scale")
                                if hasattr(given, name)), None)
        if not self.is_gradscaler and self._attribute is None:
            raise TypeError(f"scaler: no loss scale is known of a {type(given).__name__}")

    @property
    def enabled(self) -> bool:
        return not self.is_gradscaler or self.given.is_enabled()

    @property
    def first(self) -> float:
        """The scale at the beginning of the run, which the host knows."""
        if self.is_gradscaler:
            return float(getattr(self.given, "_init_scale", 65536.0))
        return self._number()

    @property
    def growth_interval(self) -> int:
        """Steps without an overflow after which the scale grows; PyTorch's default for others."""
        interval = getattr(self.given, "_growth_interval", None)
        return interval if isinstance(interval, int) and interval > 0 else 2000

    def read(self) -> torch.Tensor | float | None:
        """The scale now: a copy on its device, or a number where the host has it."""
        if not self.enabled:
            return None
        if not self.is_gradscaler:
            return self._number()
        scale = self.given._scale
        return self.first if scale is None else scale.detach().reshape(1).float().clone()

    def _number(self) -> float:
        value = getattr(self.given, self._attribute)
        return float(value() if callable(value) else value)

    def stage(self, optimizer) -> str | None:
        """Where the optimizer is between two updates, by a `GradScaler`: `READY`, `UNSCALED` or
        `STEPPED`; None if it does not keep that, or the optimizer unscales by itself."""
        if not self.is_gradscaler or not self.enabled or \
                getattr(optimizer, "_step_supports_amp_scaling", False):
            return None
        states = getattr(self.given, "_per_optimizer_states", {})
        # The scaler makes an entry for each optimizer that it is asked about.
        if id(optimizer) not in states:
            return "READY" if getattr(self.given, "_scale", None) is not None else None
        return states[id(optimizer)]["stage"].name
