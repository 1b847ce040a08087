"""The results of mp ops by PyTorch, so that its autograd has their gradients."""

from __future__ import annotations

import numpy as np
import torch

from mpopt.evaluation.ir import Type, Weight

# Ops whose operands come in segments, and how many there are.
SEGMENTED = {"clip": 0, "softmax_cross_entropy": 4, "binary_cross_entropy_with_logits": 4, "batch_norm": 5,
             "instance_norm": 3, "layer_norm": 3, "group_norm": 3, "slice": 5, "pad": 4, "resize": 4,
             "attention": 9, "rnn": 6, "lstm": 8, "gru": 6, "rnn_cell": 6, "lstm_cell": 7, "gru_cell": 6,
             "dropout": 3, "stft": 4, "deform_conv": 5, "dft": 3, "matmul_nbits": 6}
SEGMENTED["clip"] = 3
FORWARD: dict = {}


def op(function):
    FORWARD["mp." + function.__name__.rstrip("_")] = function
    return function


def segments(operands, sizes):
    parts, at = [], 0
    for size in sizes:
        part = operands[at:at + size]
        parts.append(None if not part else part[0] if size == 1 else part)
        at += size
    return parts




FLOATS = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
INTEGERS = {"i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "ui8": torch.uint8,
            "i1": torch.bool}


class Unsupported(Exception):
    """An op, a dtype or a constant that is not evaluated."""


class Arithmetic:
    """How numbers are held: here each in the dtype of its type."""

    def constant(self, value, type: Type):
        if isinstance(value, Weight):
            value = value.read(type)
        if not isinstance(value, np.ndarray):
            raise Unsupported(f"a constant of {type.dtype}")
        return torch.from_numpy(np.array(value))

    def cast(self, x, dtype: str):
        if dtype not in FLOATS and dtype not in INTEGERS:
            raise Unsupported(f"a cast to {dtype}")
        return x.to(FLOATS.get(dtype) or INTEGERS[dtype])

    def store(self, operation, number: int, value):
        """The value that a result's users read."""
        return value


TYPED = Arithmetic()


# An op that `FORWARD` does not have: tests set it for the ops that are gradients.
def run_other(name, operands, attributes):
    raise Unsupported(name)


def run_op(name, operands, attributes, count=None):
    """The results of an op, as a list."""
    if name not in FORWARD:
        return run_other(name, operands, attributes)
    if "operandSegmentSizes" in attributes:
        operands = segments(operands, attributes["operandSegmentSizes"])
    if name == "mp.split" and count:
        made = FORWARD[name](attributes, *operands, count=count)
    else:
        made = FORWARD[name](attributes, *operands)
    return list(made) if isinstance(made, (tuple, list)) else [made]


def run_block(block, values, arithmetic=TYPED):
    """Evaluates the ops of a block; what its terminator gives."""
    for operation in block.ops:
        operands = [values[name] for name in operation.operands]
        if operation.name in ("func.return", "mp.yield"):
            return operands
        if operation.name == "mp.constant":
            made = [arithmetic.constant(operation.attributes["value"], operation.types[0])]
        elif operation.name == "mp.if":
            body = operation.regions[0 if bool(operands[0]) else 1]
            made = run_block(body, dict(values), arithmetic)
        elif operation.name in ("mp.loop", "mp.scan"):
            made = (run_loop if operation.name == "mp.loop" else run_scan)(operation, operands, values, arithmetic)
        elif operation.name == "mp.cast":
            made = [arithmetic.cast(operands[0], operation.types[0].dtype)]
        else:
            made = run_op(operation.name, operands, operation.attributes, len(operation.results))
        assert len(made) == len(operation.results), operation.name
        for number, (name, value, type) in enumerate(zip(operation.results, made, operation.types, strict=True)):
            if type.shape is not None:
                assert len(type.shape) == value.dim() and all(
                    dim in (None, size) for dim, size in zip(type.shape, value.shape, strict=True)), \
                    f"{operation.name} gives {tuple(value.shape)}, its type is {type}"
            values[name] = arithmetic.store(operation, number, value)
    return None


def run_body(operation, arguments, values, arithmetic):
    block = operation.regions[0]
    return run_block(block, {**values, **dict(zip(block.arguments, arguments, strict=True))}, arithmetic)


def run_loop(operation, operands, values, arithmetic):
    count, condition, carried = parts_of(operation, operands)
    outputs = len(operation.results) - len(carried)
    going, stacks, i = condition is None or bool(condition), [[] for _ in range(outputs)], 0
    while going and (count is None or i < int(count)):
        go, *made = run_body(operation, [torch.tensor(i), torch.tensor(True), *carried], values, arithmetic)
        carried, going, i = made[:len(carried)], condition is None or bool(go), i + 1
        for stack, part in zip(stacks, made[len(carried):]):
            stack.append(part)
    return [*carried, *(torch.stack(stack) for stack in stacks)]


def run_scan(operation, operands, values, arithmetic):
    _, states, inputs = parts_of(operation, operands)
    a, outputs = operation.attributes, len(operation.results) - len(states)

    def numbers(name, count):
        return a.get(name) or [0] * count
    inputs = [x.movedim(axis, 0) for x, axis in zip(inputs, numbers("input_axes", len(inputs)))]
    inputs = [x.flip(0) if back else x for x, back in zip(inputs, numbers("input_directions", len(inputs)))]
    stacks = [[] for _ in range(outputs)]
    for t in range(len(inputs[0])):
        made = run_body(operation, [*states, *(x[t] for x in inputs)], values, arithmetic)
        states = made[:len(states)]
        for stack, part in zip(stacks, made[len(states):]):
            stack.append(part)
    made = [torch.stack(stack) for stack in stacks]
    made = [x.flip(0) if back else x for x, back in zip(made, numbers("output_directions", outputs))]
    return [*states, *(x.movedim(0, axis) for x, axis in zip(made, numbers("output_axes", outputs)))]


def parts_of(operation, operands):
    """An optional operand, another one or a list, and a list."""
    sizes, at, parts = operation.attributes["operandSegmentSizes"], 0, []
    for number, size in enumerate(sizes):
        part = operands[at:at + size]
        listed = number == 2 or (number == 1 and operation.name == "mp.scan")
        parts.append(part if listed else part[0] if part else None)
        at += size
    return parts


def run_function(function, arguments, arithmetic=TYPED):
    block = function.regions[0]
    return run_block(block, dict(zip(block.arguments, arguments, strict=True)), arithmetic)


# Each adds its ops to the table.
from mpopt.evaluation import elementwise, losses, networks, reductions, shapes  # noqa: E402,F401
