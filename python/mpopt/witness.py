"""Searches inputs at which values overflow: `mpopt --check MODEL --witness DIR` asks it.

    python -m mpopt.witness MODULE.mlir DIR

MODULE.mlir is the model as it is judged, in generic form. An op's `mp.watch` names the
results whose overflow is only possible, an argument's `mp.assume` is the box of an input.
An input is a witness of an overflow if the value is finite and past its dtype where nothing
is rounded, and becomes an infinity where each value is rounded to its dtype. DIR gets
an .npz file for each input that is one, standard output the files as JSON."""

from __future__ import annotations

import itertools
import json
import pathlib
import sys
import time

import numpy as np
import torch

from mpopt import _console
from mpopt._command import Error
from mpopt.evaluation import evaluate, ir

#: Steps of one ascent: the first goes across the box, the last has 2 % of it. Chosen.
_STEPS, _SHRINK = 12, 0.7
#: Where the ascents of a value start: the middle of the box, its ends, the best point so far, and
#: points that are drawn, each other one a corner. Chosen.
_STARTS = 16
#: Points that are drawn before, each other one a corner. Chosen.
_DRAWN = 100
#: Every such start is the best point so far.
_REFINES = 4
#: The share of its limit that a value has to reach in the first ascent to have another: two that
#: start elsewhere seldom end 256 times apart, those of exponentials included. Chosen.
_NEAR = 1 / 256
#: The limits of a search: evaluations, forward or with a gradient, and seconds of a processor. Chosen.
_MOST_RUNS, _MOST_SECONDS = 1000, 30.0
#: The sizes of open dims that are tried: one sample is the cheapest, and some models take no row of one.
_SIZES = (1, 8, 2)
#: Elements of an input that is no float, of which one step draws some anew.
_REDRAWN = 1 / 8


class _Watching(evaluate.Arithmetic):
    """Numbers are doubles; of the values that are watched the largest magnitude is kept, as a
    share of what overflows their dtype. `rounds`: each result is rounded to its dtype."""

    def __init__(self, rounds: bool, constants: dict):
        self._rounds, self._constants = rounds, constants
        self.seen: dict[str, torch.Tensor] = {}

    def constant(self, value, type):
        key = id(value), self._rounds
        if key not in self._constants:
            made = super().constant(value, type)
            self._constants[key] = self._round(made.double(), type.dtype) if made.is_floating_point() else made
        return self._constants[key]

    def cast(self, x, dtype):
        return x.double() if dtype in evaluate.FLOATS else super().cast(x, dtype)

    def _round(self, value, dtype):
        if dtype not in evaluate.FLOATS:
            raise evaluate.Unsupported(f"values of {dtype}")
        return value.to(evaluate.FLOATS[dtype]).double() if self._rounds else value

    def store(self, operation, number, value):
        if not value.is_floating_point():
            return value
        dtype = operation.types[number].dtype
        names = operation.attributes.get("mp.watch")
        if names and names[number] and value.numel():
            # An infinity that comes from another overflow is one in a run, too.
            counted = ~torch.isnan(value) if self._rounds else torch.isfinite(value)
            share = torch.where(counted, value, 0).abs().max() / _overflow(dtype)
            before = self.seen.get(names[number])
            self.seen[names[number]] = share if before is None else torch.maximum(before, share)
        return self._round(value, dtype)


def _overflow(dtype: str) -> float:
    """The least magnitude that rounds to an infinity."""
    info = torch.finfo(evaluate.FLOATS[dtype])
    return info.max * (1 + info.eps / 4)


class _Input:
    """The box of an input, whose open dims have the size `size`: a witness is one for any size that is allowed."""

    def __init__(self, name: str, type: ir.Type, assumed: dict, size: int):
        if type.shape is None:
            raise evaluate.Unsupported(f"the open shape of '{name}' (--input-shape closes it)")
        self.name = name
        self.is_float = type.dtype in evaluate.FLOATS
        if not self.is_float and type.dtype not in evaluate.INTEGERS:
            raise evaluate.Unsupported(f"inputs of {type.dtype}")
        self.dtype = type.dtype
        self.low, self.high = (
            np.broadcast_to(np.asarray(assumed.get(f"{end}_elements", assumed.get(end)), np.float64),
                            [size if dim is None else dim for dim in type.shape])
            for end in ("lo", "hi"))
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            raise evaluate.Unsupported(f"the unbounded input '{name}'")

    def hold(self, values: np.ndarray) -> np.ndarray:
        """`values` as the model's file stores them: inside the box, and representable."""
        if not self.is_float:
            return np.rint(np.clip(values, np.ceil(self.low), np.floor(self.high)))
        kind = {"f64": np.float64, "f16": np.float16}.get(self.dtype, np.float32)
        low, high = kind(self.low), kind(self.high)
        low = np.where(low < self.low, np.nextafter(low, kind(np.inf)), low)
        high = np.where(high > self.high, np.nextafter(high, kind(-np.inf)), high)
        return np.clip(kind(values), low, high).astype(np.float64)

    def draw(self, random: np.random.Generator, corner: bool = False) -> np.ndarray:
        if corner:
            return self.hold(np.where(random.random(self.low.shape) < 0.5, self.low, self.high))
        return self.hold(random.uniform(self.low, self.high))

    def start(self, number: int, random: np.random.Generator) -> np.ndarray:
        ends = (self.low / 2 + self.high / 2, self.high, self.low)
        return self.hold(np.array(ends[number])) if number < len(ends) else self.draw(random, number % 2 == 1)

    def tensor(self, values: np.ndarray) -> torch.Tensor:
        made = torch.from_numpy(np.array(values))
        return made if self.is_float else made.to(evaluate.INTEGERS[self.dtype])


class _Search:
    def __init__(self, function: ir.Op, size: int):
        self._function = function
        types, given = function.regions[0].types, function.attributes.get("arg_attrs", [])
        self.inputs = [_Input(attributes["mp.name"], type, attributes["mp.assume"], size)
                       for type, attributes in zip(types, given, strict=True)]
        self._random = np.random.default_rng(0)
        self._end, self._runs = time.process_time() + _MOST_SECONDS, 0
        self._constants: dict[tuple[int, bool], torch.Tensor] = {}
        #: The largest share of each value's limit, and the point where it is.
        self.best: dict[str, tuple[float, list[np.ndarray]]] = {}

    def is_over(self) -> bool:
        return self._runs >= _MOST_RUNS or time.process_time() > self._end

    def run(self, point, rounds: bool, toward: str | None = None):
        """The shares at a point, and the gradient of that of `toward`, by input."""
        self._runs += 1
        values = [each.tensor(part) for each, part in zip(self.inputs, point, strict=True)]
        for value in values:
            value.requires_grad_(toward is not None and value.is_floating_point())
        watching = _Watching(rounds, self._constants)
        if rounds:
            values = [watching._round(value, type.dtype) if value.is_floating_point() else value
                      for value, type in zip(values, self._function.regions[0].types, strict=True)]
        with torch.set_grad_enabled(toward is not None):
            evaluate.run_function(self._function, values, watching)
        slopes = [None] * len(values)
        seen = watching.seen.get(toward) if toward else None
        if seen is not None and seen.requires_grad:
            wanted = [value for value in values if value.requires_grad]
            made = iter(torch.autograd.grad(seen, wanted, allow_unused=True))
            slopes = [next(made) if value.requires_grad else None for value in values]
        shares = {name: float(share.detach()) for name, share in watching.seen.items()}
        if not rounds:
            for name, share in shares.items():
                if share > self.best.get(name, (0.0,))[0]:
                    self.best[name] = share, [np.array(part) for part in point]
        return shares, slopes

    def climb(self, name: str, number: int) -> None:
        """An ascent on the share of a value: floats go along the signs of the gradient, some
        elements of others are drawn anew, and stay where the share is larger."""
        refines = number % _REFINES == _REFINES - 1 and name in self.best
        point = self.best[name][1] if refines else [each.start(number, self._random) for each in self.inputs]
        last, size = -1.0, 0.5 if refines else 1.0
        before = point
        for _ in range(_STEPS):
            shares, slopes = self.run(point, rounds=False, toward=name)
            if self.is_over() or not any(slope is not None for slope in slopes) and all(
                    each.is_float for each in self.inputs):
                return
            if shares.get(name, 0.0) < last and not all(each.is_float for each in self.inputs):
                point = [old if not each.is_float else new
                         for each, old, new in zip(self.inputs, before, point, strict=True)]
            else:
                last, before = shares.get(name, 0.0), point
            point = [self._move(each, part, slope, size)
                     for each, part, slope in zip(self.inputs, point, slopes, strict=True)]
            size *= _SHRINK

    def _move(self, each: _Input, part, slope, size):
        if not each.is_float:
            anew = self._random.random(part.shape) < _REDRAWN
            return np.where(anew, each.draw(self._random), part)
        if slope is None:
            return part
        return each.hold(part + np.sign(np.nan_to_num(slope.numpy())) * (each.high - each.low) * size)

    def find(self) -> dict[str, list[np.ndarray]]:
        """A witness of each value that has one. The values that were nearest to their limit
        are tried first."""
        for number in range(_DRAWN):
            if not self.is_over():
                self.run([each.draw(self._random, number % 2 == 1) for each in self.inputs], rounds=False)
        found: dict[str, list[np.ndarray]] = {}
        self.confirm(found)
        for number in range(_STARTS):
            for name in sorted(self.best, key=lambda name: -self.best[name][0]):
                near = number == 0 or self.best[name][0] >= _NEAR
                if near and name not in found and not self.is_over():
                    self.climb(name, number)
                    self.confirm(found)
        return found

    def confirm(self, found) -> None:
        """Adds the best points that stay witnesses where every value is rounded."""
        for name, (share, point) in self.best.items():
            if share < 1 or name in found:
                continue
            for other, rounded in self.run(point, rounds=True)[0].items():
                if rounded >= 1 and self.best[other][0] >= 1 and self.best[other][1] is point:
                    found.setdefault(other, point)


def _begin(function: ir.Op) -> _Search:
    """A search at a size of the open dims at which the model runs."""
    if all(type.shape is not None and None not in type.shape for type in function.regions[0].types):
        return _Search(function, _SIZES[0])
    for size in _SIZES:
        # The sizes of a model's inputs may depend on each other, and bounds of a file have sizes of their own.
        try:
            search = _Search(function, size)
            search.run([each.start(0, np.random.default_rng(0)) for each in search.inputs], rounds=False)
            return search
        except evaluate.Unsupported:
            raise
        except (AssertionError, RuntimeError, IndexError, ValueError):
            continue
    raise evaluate.Unsupported("the open shape of the inputs (--dim and --input-shape close it)")


def find_witnesses(module: str, folder: pathlib.Path) -> dict:
    """`files`: the file of each value that has a witness; `why`: the reason why there was no
    search, else empty."""
    # Threads that wait for each other cost more than they bring where tensors are small.
    torch.set_num_threads(1)
    try:
        search = _begin(next(iter(ir.functions(module).values())))
        found = search.find()
    except evaluate.Unsupported as error:
        return {"files": {}, "why": f"{error} is not evaluated"}
    files: dict[str, str] = {}
    points: dict[int, str] = {}
    for name, point in found.items():
        if id(point) not in points:
            folder.mkdir(parents=True, exist_ok=True)
            # A file that is there may be an input of this run.
            file = next(file for number in itertools.count(1)
                        if not (file := folder / f"witness-{number}.npz").exists())
            np.savez(file, **{each.name: _as_fed(each, part)
                              for each, part in zip(search.inputs, point, strict=True)})
            points[id(point)] = str(file)
        files[name] = points[id(point)]
    return {"files": files, "why": ""}


def _as_fed(each: _Input, part: np.ndarray) -> np.ndarray:
    if not each.is_float:
        return part.astype(ir.DTYPES[each.dtype])
    return part.astype(np.float64 if each.dtype == "f64" else np.float32)


def main(arguments=None) -> int:
    module, folder = sys.argv[1:] if arguments is None else arguments
    try:
        made = find_witnesses(pathlib.Path(module).read_text(), pathlib.Path(folder))
    except (Error, OSError) as error:
        _console.print_error("mpopt", str(error))
        return 2
    json.dump(made, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
