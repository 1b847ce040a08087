"""One small graph for each form of each op that has a gradient. A case gets a Graph and
returns the name of its result."""

import numpy as np

CASES = {}


def case(function):
    assert function.__name__ not in CASES
    CASES[function.__name__] = function
    return function


def one(name, draw, **attributes):
    """A case of an op of one operand."""
    label = "_".join([name, *(key if value is None else str(value).replace("-", "m")
                              for key, value in attributes.items())])
    label = "".join(sign if sign.isalnum() else "_" for sign in label)
    assert label not in CASES, label
    CASES[label] = lambda g: g.op(name, draw(g), **attributes)


def away(*shape):
    return lambda g: g.away(*shape)


def between(low, high, *shape):
    return lambda g: g.uniform(low, high, *shape)


# Each adds its cases.
import gradient_cases_elementwise  # noqa: E402,F401
import gradient_cases_linear  # noqa: E402,F401
import gradient_cases_losses  # noqa: E402,F401
import gradient_cases_networks  # noqa: E402,F401
import gradient_cases_shapes  # noqa: E402,F401
