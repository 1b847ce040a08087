"""The formulas of the ops that are gradients, in NumPy, as docs/adjoint.md has them.
Where one is missing for an operand, the definition is taken: differences of the op
that it is the gradient of."""

import math

import numpy as np
from mpopt.evaluation.windows import window  # noqa: F401

FIXED, FORMULAS = {}, {}


def fixed(function):
    """With a result for each gradient, in order."""
    FIXED["mp." + function.__name__] = function
    return function


def formula(function):
    """From attributes, the gradient (or gradients) of the results, and the op's operands:
    a gradient for each operand, None where there is no formula."""
    FORMULAS["mp." + function.__name__] = function
    return function


def arrays(values):
    return [value.detach().numpy() if hasattr(value, "detach") else value for value in values]


def split(operands, sizes):
    parts, at = [], 0
    for size in sizes:
        parts.append(operands[at] if size else None)
        at += size
    return parts


def run(name, operands, attributes, forward):
    """The results of a gradient op."""
    sizes = attributes.get("operandSegmentSizes") or [1] * len(operands)
    if name in FIXED:
        if name == "mp.slice_grad":
            sizes = [1] * len(operands)
        made = FIXED[name](attributes, *split(arrays(operands), sizes))
        return [np.asarray(part) for part in (made if isinstance(made, tuple) else (made,))]
    parts = split(operands, sizes)
    count = {"mp.rnn_grad": 2, "mp.gru_grad": 2, "mp.lstm_grad": 3, "mp.lstm_cell_grad": 2}.get(name, 1)
    grads, own = arrays(parts[:count]), parts[count:]
    given = dict(attributes)
    given.pop("operandSegmentSizes", None)
    present = [number for number, part in enumerate(parts) if part is not None]
    made = []
    known = FORMULAS[name](given, grads[0] if count == 1 else grads, *arrays(own)) if name in FORMULAS else ()
    known = known if isinstance(known, tuple) else (known,)
    for number in attributes["wanted"]:
        place = present[number] - count
        value = known[place] if place < len(known) else None
        if value is None:
            value = by_differences(forward[name.removesuffix("_grad")], given, own, place, grads)
        made.append(np.asarray(value))
    return made


def by_differences(forward, attributes, operands, place, grads):
    """The vector-Jacobian product by central differences."""
    import torch

    x = operands[place].detach()
    flat = np.zeros(x.numel())

    def project(moved):
        parts = list(operands)
        parts[place] = moved
        with torch.no_grad():
            results = forward(attributes, *parts)
        results = results if isinstance(results, (tuple, list)) else [results]
        return sum(float((result.numpy() * grad).sum()) for result, grad in zip(results, grads) if grad is not None)
    for i in range(x.numel()):
        step = 1e-5 * max(1.0, abs(float(x.flatten()[i])))
        ends = []
        for sign in (1, -1):
            moved = x.clone().flatten()
            moved[i] += sign * step
            ends.append(project(moved.reshape(x.shape)))
        flat[i] = (ends[0] - ends[1]) / (2 * step)
    return flat.reshape(tuple(x.shape))


def by_linearity(forward, attributes, x, grad):
    """The gradient of an op that is linear in x: the images of unit vectors, times dy."""
    import torch

    flat = np.zeros(x.size)
    for i in range(x.size):
        unit = np.zeros(x.size)
        unit[i] = 1
        with torch.no_grad():
            flat[i] = (forward(attributes, torch.from_numpy(unit.reshape(x.shape))).numpy() * grad).sum()
    return flat.reshape(x.shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf, otypes=[np.float64])


def fit(grad, shape):
    """Summed over what was broadcast."""
    extra = grad.ndim - len(shape)
    grad = grad.sum(tuple(range(extra)))
    axes = tuple(i for i, dim in enumerate(shape) if dim == 1 and grad.shape[i] != 1)
    return grad.sum(axes, keepdims=True)


# Each adds its formulas to the tables.
import formulas_elementwise  # noqa: E402,F401
import formulas_losses  # noqa: E402,F401
import formulas_networks  # noqa: E402,F401
import formulas_norms  # noqa: E402,F401
import formulas_tensors  # noqa: E402,F401
