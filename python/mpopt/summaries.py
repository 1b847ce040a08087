"""A model as a table of its layers, with the room that each has in its dtype."""

import dataclasses
import json
import math
import pathlib
import tempfile

from mpopt.checking import check
from mpopt.report import Report

#: The largest finite value of each dtype.
_LARGEST = {"f16": 65504.0, "bf16": (2 - 2**-7) * 2.0**127, "f32": (2 - 2**-23) * 2.0**127,
            "f64": (2 - 2**-52) * 2.0**1023, "f8E4M3FN": 448.0, "f8E5M2": 57344.0}
_HEADS = ("layer", "tensors", "dtype", "shape", "largest", "headroom")


@dataclasses.dataclass(frozen=True)
class Layer:
    """The tensor of a layer that is nearest to the end of its dtype. `headroom`: bits from the
    largest magnitude that is expected to the largest value; negative past it, NaN if unknown."""

    name: str
    tensors: int
    tensor: str
    dtype: str
    shape: tuple[int, ...]
    largest: float
    headroom: float


@dataclasses.dataclass(frozen=True, repr=False)
class Summary:
    """`print` shows the table; `report` has the findings."""

    layers: tuple[Layer, ...]
    report: Report

    def __repr__(self) -> str:
        return f"Summary({len(self.layers)} layers, {self.report!r})"

    def __str__(self) -> str:
        rows = [_HEADS, *(_cells(layer) for layer in self.layers)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
        lines = ["  ".join(cell.ljust(width) if column in (0, 2, 3) else cell.rjust(width)
                           for column, (cell, width) in enumerate(zip(row, widths, strict=True))
                           ).rstrip() for row in rows]
        return "\n".join([repr(self.report), *lines])


def _cells(layer: Layer) -> tuple[str, ...]:
    shape = "x".join("?" if size < 0 else str(size) for size in layer.shape) or "scalar"
    room = "?" if math.isnan(layer.headroom) else f"{layer.headroom:.1f} bits"
    return (layer.name, str(layer.tensors), layer.dtype, shape, f"{layer.largest:.3g}", room)


def _measure(tensor: dict) -> tuple[float, float]:
    """The largest magnitude that is expected, and the bits above it."""
    likely = tensor.get("likely") or {}
    ends = [float(end) for end in (likely.get("lo"), likely.get("hi")) if end is not None]
    limit = _LARGEST.get(tensor["dtype"])
    if not ends or limit is None or any(math.isnan(end) for end in ends):
        return math.nan, math.nan
    largest = max(map(abs, ends))
    if largest == 0 or math.isinf(largest):
        return largest, math.inf if largest == 0 else -math.inf
    return largest, math.log2(limit / largest)


def _make_layer(name: str, tensors: dict[str, dict]) -> Layer:
    measured = {tensor: _measure(raw) for tensor, raw in tensors.items()}
    worst = min(tensors, key=lambda tensor: (math.isnan(measured[tensor][1]), measured[tensor][1]))
    raw = tensors[worst]
    shape = tuple(size if isinstance(size, int) else -1 for size in raw.get("shape") or ())
    return Layer(name, len(tensors), worst, raw["dtype"], shape, *measured[worst])


def summary(model, batch=None, *, precision="auto", **options) -> Summary:
    """The layers of a model, each with the bits of headroom of the tensor that is nearest to
    the end of its dtype. The arguments are those of `check`. A layer is a module of PyTorch;
    of a model without modules each tensor is one."""
    with tempfile.TemporaryDirectory(prefix="mpopt-") as folder:
        file = pathlib.Path(folder) / "ranges.json"
        report = check(model, batch, precision=precision, dump_ranges=file, **options)
        ranges = json.loads(file.read_text(encoding="utf-8"))
    layers: dict[str, dict[str, dict]] = {}
    modules = {name.rsplit("/", 1)[0] for name in ranges["tensors"] if "/" in name}
    for name, raw in ranges["tensors"].items():
        # Parameters have the dtype of the file, not the one that they are cast to.
        if raw.get("dtype") in _LARGEST and name.rpartition(".")[0] not in modules:
            layer = name.rsplit("/", 1)[0] if "/" in name else name
            layers.setdefault(layer, {})[name] = raw
    return Summary(tuple(_make_layer(name, tensors) for name, tensors in layers.items()), report)
