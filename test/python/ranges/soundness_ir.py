"""Ops that ONNX Runtime does not run (PyTorch's, gradients, optimisers), written as
mp IR and evaluated by functions of NumPy.

A case draws operands as those of soundness.py do and gives every op a reference: a
function of arrays that computes in float32, or in float64 for every other sample,
since kernels differ. Operands and results are rounded to the format as stores do."""

import itertools
import pathlib
import tempfile
from dataclasses import dataclass

import numpy
import soundness
from soundness_counts import Op

TYPES = {"float32": "f32", "bool": "i1", "int64": "i64", "int32": "i32", "uint8": "ui8",
         "int8": "i8"}


@dataclass(frozen=True)
class Value:
    name: str
    type: str

    @property
    def tensor(self):
        return self.name[1:]


def type_of(shape, dtype):
    return f"tensor<{''.join(f'{dim}x' for dim in shape)}{TYPES[numpy.dtype(dtype).name]}>"


def number(value):
    """As MLIR writes it."""
    if numpy.isfinite(value):
        return f"{float(value):.17e} : f64"
    return f"0x{numpy.float64(value).view(numpy.uint64):016X} : f64"


def written(value):
    """An attribute from a Python value."""
    if value is True or value is None:
        return "true" if value else "unit"
    if value is False:
        return "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, str):
        return f'"{value}"'
    if value and isinstance(value[0], str):
        return f"[{', '.join(map(written, value))}]"
    return f"array<i64{': ' if value else ''}{', '.join(map(str, value))}>"


class IrDraw(soundness.Draw):
    def __init__(self, seed, format):
        super().__init__(seed, format)
        self.arguments, self.lines, self.steps, self.values = [], [], [], {}

    def fresh(self):
        self.count += 1
        return f"%{self.case.replace('#', '.')}.v{self.count}"

    def box(self, shape, lo=None, hi=None, scale=None, dtype=numpy.float32):
        if lo is None:
            lo, hi = self.interval(scale)
        value = Value(self.fresh(), type_of(shape, dtype))
        self.boxes[value.tensor] = (lo, hi, tuple(shape), dtype)
        self.arguments.append(f'{value.name}: {value.type} {{mp.name = "{value.tensor}"}}')
        self.values[value.tensor] = self.stored(self.sample(2, lo, hi, tuple(shape), dtype))
        return value

    def constant(self, values, exact=False):
        values = self.elements(values, exact)
        value = Value(self.fresh(), type_of(values.shape, values.dtype))
        flat = numpy.packbits(values, bitorder="little") if values.dtype == bool else values
        text = (f'"0x{flat.tobytes().hex().upper()}"' if values.dtype != bool and values.size
                else str(values.tolist()).lower())
        self.lines.append(f"{value.name} = mp.constant dense<{text}> : {value.type} "
                          f"{location(value)}")
        self.values[value.tensor] = (self.format.round(values)
                                     if values.dtype == numpy.float32 else values)
        return value

    def op(self, name, operands, reference, segments=None, results=None, **attributes):
        """`reference` takes the operands' arrays; a tuple is several results. `results`
        is how many of them are there (default: all)."""
        taken = [operand for operand in operands if operand is not None]
        arrays = [None if operand is None else self.values[operand.tensor]
                  for operand in operands]
        if segments:
            counts = ", ".join(str(len(part) if isinstance(part, list) else int(part is not None))
                               for part in segments)
            attributes["operandSegmentSizes"] = f"array<i32: {counts}>"
        made = as_tuple(call(reference, arrays, numpy.float32))
        values = [Value(self.fresh(), type_of(array.shape, array.dtype)) for array in made]
        for value, array in zip(values, made):
            self.values[value.tensor] = self.stored(array)
        properties = ", ".join(
            f"{key} = {value if key == 'operandSegmentSizes' else written(value)}"
            for key, value in attributes.items())
        properties = f" <{{{properties}}}>" if properties else ""
        self.lines.append(
            f'{", ".join(value.name for value in values)} = "mp.{name}"'
            f'({", ".join(operand.name for operand in taken)}){properties} : '
            f'({", ".join(operand.type for operand in taken)}) -> '
            f'({", ".join(value.type for value in values)}) {location(*values)}')
        form = f"{properties} {[operand.type for operand in taken]}"
        op = Op(f"mp.{name}", form, tuple(operand.tensor for operand in taken))
        self.steps.append((op, operands, reference, values))
        return values[0] if len(values) == 1 else values

    def stored(self, array):
        return self.format.round(array) if array.dtype == numpy.float32 else array

    def text(self):
        body = "\n  ".join(self.lines)
        return (f"module {{\nfunc.func @main({', '.join(self.arguments)}) {{\n  {body}\n"
                "  return\n}\n}\n")


def location(*values):
    """That gives the results names."""
    names = ", ".join(f'"{value.tensor}"' for value in values)
    return f'loc(fused<#mp.origin<"n", "t", "", [{names}]>>["m":1:1])'


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def call(reference, arrays, kind):
    """The reference in float32 or float64, its floats as float32."""
    given = [array.astype(kind) if array is not None and array.dtype == numpy.float32 else array
             for array in arrays]
    with numpy.errstate(all="ignore"):
        made = as_tuple(reference(*given))
        return tuple(array.astype(numpy.float32) if array.dtype.kind == "f" else array
                     for array in map(numpy.asarray, made))


def check_round(cases, seed, format, repeats=1, samples=12):
    draw = soundness.draw_cases(IrDraw(seed, format), cases, seed, repeats)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path = folder / "model.mlir"
        path.write_text(draw.text())
        ranges = soundness.dump_ranges(path, draw.boxes, format.precision)
    seen = {}
    constants = {name: value for name, value in draw.values.items() if name not in draw.boxes}
    for feed, kind in zip(draw.samples(samples), itertools.cycle((numpy.float32, numpy.float64))):
        values = dict(constants)
        values.update((name, draw.stored(value)) for name, value in feed.items())
        for op, operands, reference, results in draw.steps:
            arrays = [None if operand is None else values[operand.tensor]
                      for operand in operands]
            for result, array in zip(results, as_tuple(call(reference, arrays, kind))):
                left = ranges[result.tensor]["dtype"] == "f32"
                values[result.tensor] = array if left else draw.stored(array)
                seen.setdefault(result.tensor, (op, []))[1].append(array.ravel())
    outcome = soundness.Round()
    for name, (op, arrays) in seen.items():
        computed = numpy.concatenate(arrays)
        rounds = computed.dtype == numpy.float32 and ranges[name]["dtype"] != "f32"
        problem = soundness.outside(name, computed, format.round(computed) if rounds else computed,
                                    ranges[name])
        outcome.compared += len(arrays)
        if problem:
            outcome.complaints[name] = f"{op.name} {problem}"
        outcome.counts.add(format.name, op, ranges, len(arrays), computed.size)
    return outcome
