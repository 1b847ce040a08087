"""An op of a project's own, run in FP32, FP16 and BF16: the entry that states it
(docs/custom-ops.md)."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any, Callable

from mpopt._command import Error

if TYPE_CHECKING:
    import torch

#: Formats that are tried, by their names in mpopt.toml, and their unit roundoffs.
ROUNDOFF = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
_TORCH = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}
#: Estimates of errors are within this factor (docs/accuracy.md).
_WITHIN = 4.0
#: A model in 16 bits does not show what is off by no more than FP16 rounds.
_LEAST = _WITHIN * ROUNDOFF["f16"]
#: The error of an output that mpopt reports as an error by default: an op that is off by more, because
#: its sums are long, is not right.
_MOST = 0.25


@dataclasses.dataclass(frozen=True)
class TriedFormat:
    """An op in one format: errors relative to the root mean square, NaN where it is not finite
    although the right result is, and `raised`, the error that it raised instead."""

    forward: float
    backward: float | None
    right: bool
    raised: str = ""


@dataclasses.dataclass(frozen=True)
class TriedOp:
    """The result of `try_op`. `str` is the entry of mpopt.toml."""

    name: str
    formats: dict[str, TriedFormat]
    range: tuple[float, float]
    mean: float
    std: float
    slopes: tuple[float, ...]
    accumulator: str
    like: int
    shape: tuple[int, ...] | None
    dtype: str | None

    @property
    def right(self) -> list[str]:
        """The formats in which the op is right."""
        return [name for name, tried in self.formats.items() if tried.right]

    def __str__(self) -> str:
        lines = [f"# {name}: {_describe(tried)}" for name, tried in self.formats.items()]
        lines += [f"[ops.{json.dumps(self.name)}]",
                  f'range = "{self.range[0]:.4g}:{self.range[1]:.4g}"  # as far as the samples go',
                  f"mean = {self.mean:.4g}", f"std = {self.std:.4g}",
                  "slope = " + (f"{self.slopes[0]:.4g}" if len(self.slopes) == 1 else
                                "[" + ", ".join(f"{slope:.4g}" for slope in self.slopes) + "]"),
                  f"dtypes = {json.dumps(self.right)}", f'accumulator = "{self.accumulator}"']
        if self.like:
            lines.append(f"like = {self.like}")
        if self.shape is not None:
            lines.append(f"shape = {list(self.shape)}")
        if self.dtype:
            lines.append(f'dtype = "{self.dtype}"')
        return "\n".join(lines)


def _describe(tried: TriedFormat) -> str:
    if tried.raised:
        return f"raises {tried.raised}"
    backward = ("no backward" if tried.backward is None else
                f"backward off by {_share(tried.backward)}")
    return (f"{'right' if tried.right else 'WRONG'}, off by {_share(tried.forward)}, {backward}")


def _share(error: float) -> str:
    return "Inf or NaN" if math.isnan(error) else f"{100 * error:.2g} %"


def try_op(fn: Callable[..., torch.Tensor], samples, *, name: str | None = None,
           reference: Callable[..., torch.Tensor] | None = None, show: bool = True) -> TriedOp:
    """Runs an op in FP32, FP16 and BF16 on the CPU, forward and backward, and prints the entry of
    mpopt.toml that states it.

    fn         the op: `torch.ops.acme.flash`, a function or a module, of tensors, with one result
    samples    arguments as the model has them: a tensor, a tuple of arguments, or a list of these
    name       its name in the model: `com.acme::FlashThing`; default: that of `torch.ops`, or fn's
    reference  what the op should compute; default: fn in FP64, or in FP32 where it does not run in
               FP64, which is then taken as right

    A format is right if results and gradients are finite and off by no more than rounding explains:
    four times the unit roundoff and what it becomes behind the op's slope, or the error of a sum in
    that format over the last dim; and always if by no more than 0.2 %, four times FP16's."""
    import torch

    calls = _calls(samples)
    exact, wide = _reference(fn, reference, calls)
    trial = _Trial(fn, exact, wide, calls)
    formats, sums = {}, {}
    for fmt in ROUNDOFF:
        formats[fmt], sums[fmt] = trial.run(fmt)
    results = torch.cat([trial.exact(call).flatten() for call in calls])
    if not bool(results.isfinite().all()):
        raise Error("try_op: the right result of a sample is Inf or NaN")
    low = [fmt for fmt in ("f16", "bf16") if formats[fmt].right and sums[fmt]]
    like, shape = _like(calls, [trial.exact(call) for call in calls])
    tried = TriedOp(
        name or _name(fn), formats, (float(results.min()), float(results.max())),
        float(results.mean()), float(results.std(correction=0)), trial.slopes(),
        low[0] if low else "f32", like, shape, trial.dtype(like))
    if show:
        print(tried)
    return tried


def _calls(samples) -> list[tuple]:
    import torch

    if isinstance(samples, (torch.Tensor, tuple)):
        samples = [samples]
    calls = [sample if isinstance(sample, tuple) else (sample,) for sample in samples]
    if not calls or not all(any(_is_float(value) for value in call) for call in calls):
        raise Error("try_op: samples have no float tensor")
    return calls


def _is_float(value) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _cast(call: tuple, dtype) -> tuple:
    return tuple(value.detach().to(dtype) if _is_float(value) else value for value in call)


def _result(fn, call: tuple) -> torch.Tensor:
    found = fn(*call)
    if not _is_float(found):
        raise Error(f"try_op: the op gives {type(found).__name__}, not one float tensor")
    return found


def _reference(fn, reference, calls) -> tuple[Callable, Any]:
    """The function that computes the right result, and the dtype that it computes in."""
    import torch

    if reference is not None:
        return reference, torch.float64
    try:
        _result(fn, _cast(calls[0], torch.float64))
    except (RuntimeError, NotImplementedError, TypeError, ValueError):
        return fn, torch.float32
    return fn, torch.float64


def _name(fn) -> str:
    for attribute in ("_qualified_op_name", "_name"):  # OpOverloadPacket, OpOverload
        if isinstance(found := getattr(fn, attribute, None), str):
            return found
    return getattr(fn, "__name__", type(fn).__name__)


def _like(calls, results) -> tuple[int, tuple[int, ...] | None]:
    """The operand whose shape the results have, among the tensors; a shape if there is none, -1
    where samples differ."""
    import torch

    tensors = [[value for value in call if isinstance(value, torch.Tensor)] for call in calls]
    floats = [index for index, value in enumerate(tensors[0]) if value.is_floating_point()]
    for index in floats:
        if all(given[index].shape == result.shape for given, result in zip(tensors, results)):
            return index, None
    first = results[0].shape
    if any(len(result.shape) != len(first) for result in results):
        raise Error("try_op: results of samples differ in rank")
    return floats[0], tuple(size if all(result.shape[axis] == size for result in results) else -1
                            for axis, size in enumerate(first))


def _error(found, right) -> float:
    """Relative to the root mean square; NaN where only `found` is not finite."""
    found, right = found.double(), right.double()
    if not bool(found.isfinite().all()):
        return math.nan
    size = float(right.square().mean().sqrt())
    off = float((found - right).square().mean().sqrt())
    return off / size if size else off


def _gradients(fn, call, seed) -> list | None:
    """Gradients of the float operands; None if there is no backward."""
    import torch

    call = tuple(value.clone().requires_grad_() if _is_float(value) else value for value in call)
    try:
        result = fn(*call)
        wanted = [value for value in call if _is_float(value)]
        return [torch.zeros_like(value) if grad is None else grad for value, grad in zip(
            wanted, torch.autograd.grad(result, wanted, seed.to(result.dtype), allow_unused=True))]
    except (RuntimeError, NotImplementedError):
        return None


class _Trial:
    """The samples of an op, and what is right of them."""

    def __init__(self, fn, exact, wide, calls):
        self.fn, self.reference, self.wide, self.calls = fn, exact, wide, calls
        self._slopes: tuple[float, ...] | None = None

    def exact(self, call, dtype=None):
        """The right result of a call, of operands that are rounded to `dtype`."""
        rounded = call if dtype is None else _cast(call, dtype)
        return _result(self.reference, _cast(rounded, self.wide)).detach().double()

    def dtype(self, like: int) -> str | None:
        """The dtype of results, where it is not that of the operand `like`: FP32 whatever comes in."""
        import torch

        given = {}
        for fmt in ("f16", "bf16"):
            try:
                given[fmt] = _result(self.fn, _cast(self.calls[0], getattr(torch, _TORCH[fmt]))).dtype
            except (RuntimeError, NotImplementedError, TypeError, ValueError):
                continue
        return "f32" if given and set(given.values()) == {torch.float32} else None

    def slopes(self) -> tuple[float, ...]:
        """The slope of each tensor operand: sqrt(mean square of the change of a result by independent changes of
        an operand's elements), from results at x and x + 2^-10 rms(x) e."""
        import torch

        if self._slopes is not None:
            return self._slopes
        generator = torch.Generator().manual_seed(0)
        tensors = [index for index, value in enumerate(self.calls[0])
                   if isinstance(value, torch.Tensor)]
        squares = [0.0] * len(tensors)
        for call in self.calls:
            base, wide = self.exact(call), _cast(call, torch.float64)
            for place, index in enumerate(tensors):
                if not _is_float(call[index]):
                    continue
                step = 2.0**-10 * (float(wide[index].square().mean().sqrt()) or 1.0)
                moved = list(wide)
                moved[index] = moved[index] + step * torch.randn(
                    moved[index].shape, generator=generator, dtype=torch.float64)
                squares[place] += float(((self.exact(tuple(moved)) - base) / step).square().mean())
        self._slopes = tuple(math.sqrt(square / len(self.calls)) for square in squares)
        if len(set(self._slopes)) == 1:
            self._slopes = self._slopes[:1]
        return self._slopes

    def condition(self, call) -> float:
        """By how much a relative error of operands grows."""
        slopes, result = self.slopes(), float(self.exact(call).square().mean().sqrt())
        tensors = [value for value in call if hasattr(value, "double")]
        slopes = slopes * len(tensors) if len(slopes) == 1 else slopes
        moved = sum((slope * float(value.double().square().mean().sqrt()))**2
                    for slope, value in zip(slopes, tensors))
        return math.sqrt(moved) / result if result else 1.0

    def run(self, fmt: str) -> tuple[TriedFormat, bool]:
        """The op in a format, and whether only a sum in that format explains its error."""
        import torch

        dtype, u = getattr(torch, _TORCH[fmt]), ROUNDOFF[fmt]
        forward, backward = 0.0, None
        right, sums = True, False
        seeds = torch.Generator().manual_seed(0)
        for call in self.calls:
            low = _cast(call, dtype)
            try:
                found = _result(self.fn, low).detach()
            except (RuntimeError, NotImplementedError, TypeError, ValueError) as error:
                return TriedFormat(math.nan, None, False, str(error).splitlines()[0][:80]), False
            exact = self.exact(call, dtype)
            terms = next(value for value in call if _is_float(value)).shape[-1:] or (1,)
            plain = max(_LEAST, _WITHIN * u * (1 + self.condition(call)))
            # Each partial sum of n terms is off by up to a unit roundoff.
            long = min(max(plain, _WITHIN * u * math.sqrt(terms[0])), _MOST)
            errors = [_error(found, exact)]
            seed = torch.randn(exact.shape, generator=seeds, dtype=torch.float64).to(found.dtype)
            grads = _gradients(self.fn, low, seed)
            exact_grads = _gradients(self.reference, _cast(low, self.wide), seed.to(self.wide))
            if grads is not None and exact_grads is not None:
                apart = [_error(mine, its) for mine, its in zip(grads, exact_grads)]
                backward = _worst([backward or 0.0, *apart])
                errors += apart
            forward = _worst([forward, errors[0]])
            worst = _worst(errors)
            sums |= worst > plain
            right &= worst <= max(plain, long)
        return TriedFormat(forward, backward, right), sums


def _worst(errors) -> float:
    return math.nan if any(map(math.isnan, errors)) else max(errors)
