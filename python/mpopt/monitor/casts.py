"""Casts in a step that is computed again: whose they are, and how one that overflows is mended.

Autocast casts below Python, so that to the ops a cast of its own looks like one of the program.
The calls of the program tell them apart: a cast inside of a call that is none itself is autocast's.
"""

import math
from collections.abc import Sequence

import torch
from torch.overrides import TorchFunctionMode, resolve_name

#: Ops of aten that cast, with the place of what they read among their operands.
READS = {"_to_copy": 0, "copy_": 1}
#: Calls of a program by which it casts.
_EXPLICIT = frozenset(("to", "type", "type_as", "half", "bfloat16", "float", "double", "copy_",
                       "__setitem__", "_to_copy"))


def is_cast(name: str, read: Sequence[torch.Tensor], result: torch.Tensor) -> bool:
    """True if an op of aten gives what it reads in another float dtype."""
    return name in READS and bool(read) and read[0].dtype is not result.dtype and \
        read[0].is_floating_point() and result.is_floating_point()


class Calls(TorchFunctionMode):
    """The calls of PyTorch that the program is in, from the outermost one."""

    def __init__(self):
        super().__init__()
        self._names: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self._names.append((resolve_name(func) or getattr(func, "__name__", "?")).split(".")[-1])
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._names.pop()

    def caster(self) -> str:
        """The call for which autocast casts; empty if the program casts itself."""
        name = self._names[-1] if self._names else ""
        return "" if name in _EXPLICIT else name


def name_cast(read: torch.dtype, result: torch.dtype, caster: str) -> str:
    ends = f"{short(read)} to {short(result)}"
    return f"autocast's cast of {ends} for {caster}" if caster else f"the cast of {ends}"


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def advise(read: torch.dtype, result: torch.dtype, largest: float, *, caster: str, backward: bool,
           parameter: bool, scale: float) -> str:
    """Remedies for a cast to `result` of values up to `largest` that do not fit."""
    end, wide = f"{short(result)} ends at {torch.finfo(result).max:.5g}", short(read)
    if backward:
        return f"{end}: {_lower_scale(result, largest, scale)}"
    wider = "" if result in (torch.bfloat16, torch.float32) else \
        f", or use bfloat16, which ends at {torch.finfo(torch.bfloat16).max:.2g}"
    if parameter:
        return f"{end}: keep this parameter's module in {wide}, or rescale the parameter{wider}"
    if caster:
        return (f"{end}: compute the line in {wide} (torch.autocast(enabled=False), operands as "
                f".float()), or normalise before it{wider}")
    return (f"{end}: stay in {wide} until the values are small again (behind a norm or a mean), or "
            f"scale them down before the cast{wider}")


def _lower_scale(result: torch.dtype, largest: float, scale: float) -> str:
    keep = "cast later in the forward pass, so that its gradient stays wide"
    if not scale > 1 or not 0 < largest < math.inf:
        return f"{keep}, or weight the loss less"
    most = math.floor(math.log2(torch.finfo(result).max / largest * scale))
    now = f"the gradient fits at a loss scale of 2^{most} and below, and it is {scale:g} here"
    return f"{now}: {'lower it, or ' if most >= 0 else ''}{keep}"
