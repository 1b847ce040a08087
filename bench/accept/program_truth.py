"""The effect of autocast on exported programs and their gradients, by PyTorch."""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy
import torch
from evaluations import EVALUATIONS, Errors, Extremes, brief, draw
from table import Input, Model

DTYPES = {"autocast-fp16": torch.float16, "autocast-bf16": torch.bfloat16}
# A gradient below this share of the largest is rounding alone (the bias of keys).
LEAST_GRADIENT = 1e-6
# The first scale of torch.amp.GradScaler.
SCALE = 2.0**16


def listed(result: object) -> list[torch.Tensor]:
    """The tensors that a program returned, in order."""
    values = result.values() if isinstance(result, dict) else result if isinstance(result, (list, tuple)) else [result]
    return list(values)


def without_assertions(module: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Export asserts the dtypes of FP32, which autocast changes."""
    for node in list(module.graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            module.graph.erase_node(node)
    module.recompile()
    return module


class Program:
    """The program of a row, as PyTorch runs it."""

    def __init__(self, model: Model, row: str) -> None:
        self.seed, self.drawn = model.seed, model.inputs_of(row)
        with tempfile.TemporaryDirectory() as folder:
            loaded = torch.export.load(model.write(Path(folder), row))
        self.module = without_assertions(loaded.module())
        # Arguments that are no tensors are part of the program.
        self.fixed = {name: value for name, value in loaded.example_inputs[1].items() if not isinstance(value, torch.Tensor)}
        placeholders = {node.name: node.meta["val"] for node in loaded.graph.nodes if node.op == "placeholder"}
        self.inputs = {name: placeholders[name] for name in loaded.example_inputs[1] if name not in self.fixed}
        self.outputs = list(loaded.graph_signature.user_outputs)

    def samples(self) -> Iterator[dict[str, torch.Tensor]]:
        random = numpy.random.RandomState(self.seed + 1)
        for _ in range(EVALUATIONS):
            sample = dict(self.fixed)
            for name, value in self.inputs.items():
                dtype = numpy.dtype(str(value.dtype).removeprefix("torch."))
                drawn = draw(self.drawn.get(name, Input()), tuple(value.shape), dtype, random)
                sample[name] = torch.from_numpy(drawn)
            yield sample

    def run(self, sample: dict, dtype: torch.dtype | None = None) -> list[numpy.ndarray]:
        with torch.no_grad(), torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
            return [value.float().numpy() for value in listed(self.module(**sample))]


def measure_errors(program: Program, dtype: torch.dtype) -> dict:
    """Errors and extremes of outputs under autocast."""
    errors, extremes = {name: Errors() for name in program.outputs}, Extremes()
    for sample in program.samples():
        for name, exact, stored in zip(program.outputs, program.run(sample), program.run(sample, dtype)):
            errors[name].see(exact, stored)
            extremes.see(name, stored)
    return {"outputs": {name: found.summary() for name, found in errors.items()}, "extremes": extremes.summary()}


def gradients_of(program: Program, sample: dict, scale: float = 1, dtype: torch.dtype | None = None) -> dict[str, torch.Tensor]:
    """Parameters' gradients of the loss, the first output, times `scale`."""
    program.module.zero_grad()
    with torch.autocast("cpu", dtype=dtype, enabled=dtype is not None):
        loss = listed(program.module(**sample))[0]
    (scale * loss.float()).backward()
    return {name: parameter.grad.double() for name, parameter in program.module.named_parameters() if parameter.grad is not None}


def measure_gradients(program: Program) -> dict:
    """Root mean squares of parameters' gradients in FP32, over the evaluations; and of a step in
    FP16 at GradScaler's first scale the largest share of a parameter's gradient that is 0
    although it should not be, or `inf` where one overflows."""
    squares: dict[str, list[float]] = {}
    lost = 0.0
    for sample in program.samples():
        exact, scaled = gradients_of(program, sample), gradients_of(program, sample, SCALE, torch.float16)
        for name, gradient in exact.items():
            squares.setdefault(name, []).append(gradient.pow(2).mean().item())
        most = max(gradient.pow(2).mean().item() for gradient in exact.values()) ** 0.5
        for name, gradient in exact.items():
            if not scaled[name].isfinite().all():
                lost = math.inf
            elif gradient.pow(2).mean().item() ** 0.5 > LEAST_GRADIENT * most:
                lost = max(lost, ((gradient != 0) & (scaled[name] == 0)).sum().item() / max((gradient != 0).sum().item(), 1))
    sizes = {name: statistics.mean(found) ** 0.5 for name, found in squares.items()}
    least = LEAST_GRADIENT * max(sizes.values())
    return {"lost": "inf" if math.isinf(lost) else brief(lost),
            "gradients": {name: brief(size) for name, size in sizes.items() if size > least}}


def measure_program(model: Model, row: str) -> dict:
    program = Program(model, row)
    return measure_gradients(program) if row == "train" else measure_errors(program, DTYPES[row])
