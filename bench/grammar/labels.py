"""The truth about a network: errors of its outputs with every float tensor stored in FP16 and in BF16."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import onnx
import storage
from draws import Input
from network_truth import ELEMENTS, session

SAMPLES = 16
HARMED, SOUND = 0.05, 0.01  # errors of an output, of its largest value: what lies between is not judged
LARGEST = 1e8               # of a realistic network's tensors
STEADY = 2e-3               # error by inputs that are off by 2^-20, above which FP32 is no truth itself


class Unfit(Exception):
    """Why a network is not one of a set."""


def samples(inputs: dict[str, Input], seed: list[int]) -> Iterator[dict[str, numpy.ndarray]]:
    rng = numpy.random.default_rng(seed)
    for _ in range(SAMPLES):
        yield {name: value.sample(rng) for name, value in inputs.items()}


def error_of(exact: numpy.ndarray, stored: numpy.ndarray) -> tuple[float, float, bool]:
    """The largest difference and the largest magnitude where both are finite, and whether Inf or NaN is new."""
    exact, stored = exact.astype(numpy.float64), stored.astype(numpy.float64)
    here = numpy.isfinite(exact)
    both = here & numpy.isfinite(stored)
    differences, sizes = numpy.abs(exact[both] - stored[both]), numpy.abs(exact[both])
    return float(differences.max(initial=0)), float(sizes.max(initial=0)), bool((here & ~both).any())


def compare(exact: list[list[numpy.ndarray]], stored: list[list[numpy.ndarray]], names: list[str]) -> dict[str, dict]:
    """For each output the largest error of the largest value over all samples, the median of those of single samples,
    how many samples have Inf or NaN, and how many have that or a large error."""
    found = {}
    for index, name in enumerate(names):
        rows = [error_of(a[index], b[index]) for a, b in zip(exact, stored, strict=True)]
        size = max(row[1] for row in rows) or 1.0
        single = [row[0] / row[1] if row[1] else 0.0 for row in rows if not row[2]]
        found[name] = {"error": max(row[0] for row in rows) / size, "median": float(numpy.median(single)) if single else 0.0,
                       "infinite": sum(row[2] for row in rows), "hurt": sum(row[2] or row[0] >= HARMED * size for row in rows)}
    return found


def verdict(outputs: dict[str, dict]) -> str:
    """Harm in one sample of sixteen may be in none of the next."""
    if any(o["hurt"] >= 2 for o in outputs.values()):
        return "harmed"
    return "sound" if all(not o["hurt"] and o["error"] <= SOUND for o in outputs.values()) else "unjudged"


def check_magnitudes(model: onnx.ModelProto, feed: dict[str, numpy.ndarray]) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    names = [name for node in model.graph.node if not node.op_type.startswith("Constant")
             and not constants.issuperset(node.input) for name in node.output if name]
    for values in session(model, names).run(None, feed):
        finite = values[numpy.isfinite(values)] if values.dtype == numpy.float32 else numpy.zeros(1)
        sizes = numpy.abs(finite[finite > -1e8])  # masks are below
        if sizes.max(initial=0) > LARGEST:
            raise Unfit("magnitudes")


def label(model: onnx.ModelProto, inputs: dict[str, Input], seed: list[int]) -> dict[str, dict]:
    """By precision the errors of outputs and the verdict; raises Unfit."""
    names = [output.name for output in model.graph.output]
    feeds = list(samples(inputs, seed))
    check_magnitudes(model, feeds[0])
    plain = session(model, names)
    exact = [plain.run(None, feed) for feed in feeds]
    if not all(numpy.isfinite(values).all() and values.any() for values in exact[0]):
        raise Unfit("outputs of Inf, NaN or 0")
    if any(numpy.array_equal(a, b) for a, b in zip(exact[0], exact[1], strict=True)):
        raise Unfit("constant outputs")
    close = [plain.run(None, {name: values if inputs[name].integer else values * numpy.float32(1 + 2**-20)
                              for name, values in feed.items()}) for feed in feeds]
    if any(row["error"] > STEADY for row in compare(exact, close, names).values()):
        raise Unfit("chaotic")
    truth = {}
    for precision, element in ELEMENTS.items():
        stored = session(storage.with_storage(model, element=element), names)
        outputs = compare(exact, [stored.run(None, feed) for feed in feeds], names)
        truth[precision] = {"verdict": verdict(outputs), "outputs": outputs}
    return truth
