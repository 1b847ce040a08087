"""Graphs of mp ops on which gradients are tried: written as IR and computed by
evaluate.py while they are built, from which the types follow."""

from mpopt.evaluation import evaluate
import numpy as np
import torch

NAMES = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64", torch.bool: "i1", torch.int32: "i32",
         torch.uint8: "ui8", torch.int8: "i8"}


def type_of(tensor):
    return f"tensor<{''.join(f'{dim}x' for dim in tensor.shape)}{NAMES[tensor.dtype]}>"


def number(value):
    return f"0x{np.float64(value).view(np.uint64):016X} : f64"


def written(value):
    """An attribute from a Python value; a string that starts with # is one in MLIR's."""
    if value is None:
        return "unit"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (int, np.integer)):
        return f"{int(value)} : i64"
    if isinstance(value, str):
        return value[1:] if value.startswith("#") else f'"{value}"'
    if value and isinstance(value[0], float):
        return f"array<f64: {', '.join(number(v).split(' ')[0] for v in value)}>"
    if value and isinstance(value[0], str):
        return "[" + ", ".join(f'"{v}"' for v in value) + "]"
    return f"array<i64{': ' if value else ''}{', '.join(map(str, value))}>"


class Graph:
    """A function: arguments, ops, and what `returns` gives back."""

    def __init__(self, name, seed=0):
        self.name = name
        self.random = np.random.default_rng(seed)
        self.arguments, self.lines, self.values, self.inputs = [], [], {}, []
        self.result = None

    def fresh(self, value, hint="v"):
        name = f"%{hint}{len(self.values)}"
        self.values[name] = value
        return name

    def input(self, array, grad=True):
        """A further argument; the gradient of a float one is asked for."""
        tensor = torch.as_tensor(np.asarray(array)).clone()
        if tensor.is_floating_point():
            tensor = tensor.double()
            tensor.requires_grad_(grad)
        name = self.fresh(tensor, "x")
        self.inputs.append(name)
        # A value without a name is not asked about.
        named = f' {{mp.name = "{name[1:]}"}}' if grad and tensor.is_floating_point() else ""
        self.arguments.append(f"{name}: {type_of(tensor)}{named}")
        return name

    def normal(self, *shape, scale=1.0, shift=0.0):
        return self.input(self.random.normal(shift, scale, shape))

    def uniform(self, low, high, *shape):
        return self.input(self.random.uniform(low, high, shape))

    def away(self, *shape, gap=0.05):
        """Normal, but nowhere near zero, where functions have kinks."""
        x = self.random.normal(0, 1, shape)
        return self.input(np.where(np.abs(x) < gap, np.sign(x + 1e-9) * gap * 2, x))

    def distinct(self, *shape):
        """In random order, apart from each other: no ties, no kinks."""
        count = int(np.prod(shape))
        return self.input((self.random.permutation(count).reshape(shape) - count / 2 + 0.3) * 0.37)

    def ints(self, values):
        return self.constant(np.asarray(values, np.int64))

    def constant(self, values):
        """That the dialect can read."""
        tensor = torch.as_tensor(np.asarray(values)).clone()
        tensor = tensor.double() if tensor.is_floating_point() else tensor
        name = self.fresh(tensor, "c")
        kind = NAMES[tensor.dtype]

        def text(array):
            if array.ndim:
                return "[" + ", ".join(map(text, array)) + "]"
            if kind == "i1":
                return "true" if array else "false"
            return number(array).split(" ")[0] if kind == "f64" else str(int(array))
        body = text(tensor.numpy()) if tensor.numel() else ""
        self.lines.append(f'{name} = "mp.constant"() <{{value = dense<{body}> : {type_of(tensor)}}}> : () -> '
                          f"{type_of(tensor)}")
        return name

    def op(self, kind, *operands, **attributes):
        """The op's result, or a list if there are several. None is an operand left
        out, a list a variadic one."""
        flat, counts = [], []
        for operand in operands:
            part = [] if operand is None else operand if isinstance(operand, list) else [operand]
            flat += part
            counts.append(len(part))
        if kind in evaluate.SEGMENTED:
            counts += [0] * (evaluate.SEGMENTED[kind] - len(counts))
            attributes["operandSegmentSizes"] = "#array<i32: " + ", ".join(map(str, counts)) + ">"
        given = {key: counts if key == "operandSegmentSizes" else True if value is None else value
                 for key, value in attributes.items()}
        given = {key: float(value) if isinstance(value, np.floating) else value for key, value in given.items()}
        made = evaluate.run_op(f"mp.{kind}", [self.values[name] for name in flat], given)
        names = [self.fresh(value) for value in made]
        body = ", ".join(f"{key} = {written(value)}" for key, value in attributes.items())
        self.lines.append(
            f'{", ".join(names)} = "mp.{kind}"({", ".join(flat)}){f" <{{{body}}}>" if body else ""} : '
            f'({", ".join(type_of(self.values[name]) for name in flat)}) -> '
            f'({", ".join(type_of(self.values[name]) for name in names)})')
        return names[0] if len(names) == 1 else names

    def returns(self, name):
        self.result = name
        return self

    def text(self):
        type = type_of(self.values[self.result])
        body = "\n  ".join(self.lines)
        return (f'func.func @{self.name}({", ".join(self.arguments)}) -> ({type} {{mp.name = "y"}}) {{\n'
                f"  {body}\n  return {self.result} : {type}\n}}\n")
