"""Random graphs: ops of several families with values used more than once, operands that
broadcast, branches that lead nowhere."""

import numpy as np
from gradient_graph import Graph

UNARY = ("tanh sigmoid softplus gelu silu mish sin cos erf square atan log_sigmoid softsign hard_swish relu elu "
         "leaky_relu abs neg tanh_shrink").split()
# Which keep the size of values: what grows is brought back by `tame`.
STEPS = {}


def step(function):
    STEPS[function.__name__] = function
    return function


def shape(g, x):
    return tuple(g.values[x].shape)


def choice(g, options):
    return options[int(g.random.integers(len(options)))]


def tame(g, x):
    """Large values through a function that is bounded."""
    return g.op("tanh", x) if float(g.values[x].detach().abs().max()) > 8 else x


@step
def unary(g, x, pool):
    return g.op(choice(g, UNARY), x)


@step
def positive(g, x, pool):
    """A function of positive numbers."""
    y = g.op("add", g.op("softplus", x), g.constant(0.3))
    return g.op(choice(g, ("sqrt", "log", "rsqrt", "reciprocal", "log1p")), y)


@step
def binary(g, x, pool):
    return g.op(choice(g, ("add", "sub", "mul", "max", "min")), x, partner(g, x, pool))


def partner(g, x, pool):
    """A value that broadcasts with x: an older one, or a new input."""
    same = [y for y in pool if shape(g, y) == shape(g, x)]
    if same and g.random.integers(3):
        return choice(g, same)
    dims = [dim if g.random.integers(3) else 1 for dim in shape(g, x)]
    return g.normal(*dims[int(g.random.integers(len(dims) + 1)) if g.random.integers(4) == 0 else 0:])


@step
def quotient(g, x, pool):
    return g.op("div", x, g.op("add", g.op("sigmoid", partner(g, x, pool)), g.constant(0.5)))


@step
def condition(g, x, pool):
    other = partner(g, x, pool)
    return g.op("where", g.op("greater", x, other), x, g.op("mul", other, g.constant(0.5)))


@step
def clip(g, x, pool):
    return g.op("clip", x, g.constant(-0.8), g.constant(0.9))


@step
def product(g, x, pool):
    columns = shape(g, x)[-1]
    if g.random.integers(2):
        return g.op("linear", x, g.normal(3, columns, scale=0.6), g.normal(3))
    return g.op("matmul", x, g.normal(columns, 2, scale=0.6))


@step
def of_itself(g, x, pool):
    """x x^T, as attention has it."""
    return g.op("matmul", x, x, trans_b=True, alpha=0.3) if len(shape(g, x)) > 1 else g.op("mul", x, x)


@step
def norm(g, x, pool):
    if shape(g, x)[-1] < 2:
        return x
    scale = g.normal(shape(g, x)[-1], shift=1)
    return choice(g, (lambda: g.op("layer_norm", x, scale, g.normal(shape(g, x)[-1]), epsilon=1e-1),
                      lambda: g.op("rms_norm", x, scale, epsilon=1e-1),
                      lambda: g.op("softmax", x, axis=-1), lambda: g.op("log_softmax", x, axis=-1)))()


@step
def reduction(g, x, pool):
    axis = int(g.random.integers(len(shape(g, x))))
    return g.op(choice(g, ("reduce_sum", "reduce_mean", "reduce_log_sum_exp", "reduce_max")), x, axes=[axis],
                keep_dims=True)


@step
def movement(g, x, pool):
    dims = shape(g, x)
    axis = int(g.random.integers(len(dims)))
    moves = [lambda: g.op("transpose", x, perm=[int(i) for i in g.random.permutation(len(dims))]),
             lambda: g.op("reshape", x, g.ints([-1, dims[-1]])),
             lambda: g.op("unsqueeze", x, axes=[axis]) if len(dims) < 4 else x,
             lambda: g.op("concat", x, x, axis=axis) if np.prod(dims) < 60 else x,
             lambda: g.op("slice", x, starts=[0], ends=[-1], axes=[axis]) if dims[axis] > 1 else x,
             lambda: g.op("reverse", x, axes=[axis]),
             lambda: g.op("pad", x, pads=[1, 0], axes=[axis]),
             lambda: g.op("gather", x, g.ints(g.random.integers(0, dims[axis], 3)), axis=axis),
             lambda: g.op("cum_sum", x, axis=axis),
             lambda: g.op("split", x, axis=axis, sizes=[1, dims[axis] - 1])[1] if dims[axis] > 1 else x,
             lambda: g.op("tile", x, g.ints([2] + [1] * (len(dims) - 1))) if np.prod(dims) < 60 else x]
    return choice(g, moves)()


LOSSES = {
    "sum": lambda g, x: g.op("reduce_sum", x, axes=[], keep_dims=False),
    "mse": lambda g, x: g.op("mse_loss", x, g.normal(*shape(g, x))),
    "smooth_l1": lambda g, x: g.op("smooth_l1_loss", x, g.normal(*shape(g, x)), beta=0.5),
    "bce": lambda g, x: g.op("binary_cross_entropy_with_logits", x, g.constant(
        g.random.uniform(0, 1, shape(g, x)))),
    "none": lambda g, x: x,
}


def build(name, seed):
    g = Graph(name, seed)
    pool = [g.normal(*g.random.integers(1, 5, int(g.random.integers(1, 4)))) for _ in range(2)]
    for _ in range(int(g.random.integers(4, 13))):
        # The last value most of the time, so that graphs are deep.
        x = pool[-1] if g.random.integers(3) else choice(g, pool)
        pool.append(tame(g, choice(g, list(STEPS.values()))(g, x, pool)))
    y = pool[-1]
    if not g.values[y].requires_grad or y in g.inputs:
        y = g.op("tanh", pool[0])
    return g.returns(choice(g, list(LOSSES.values()))(g, y))
