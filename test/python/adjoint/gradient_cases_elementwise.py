"""Elementwise ops, activations and reductions."""

import numpy as np
from gradient_cases import CASES, away, between, case, one

# -- elementwise -----------------------------------------------------------------------

for _name in "abs neg square exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh erf erfc log_ndtr".split():
    one(_name, away(2, 3))
for _name in "sqrt rsqrt reciprocal log log2 log10 log1p".split():
    one(_name, between(0.2, 3, 2, 3))
for _name in "asin acos atanh erfinv".split():
    one(_name, between(-0.9, 0.9, 2, 3))
one("acosh", between(1.2, 3, 2, 3))
for _name in "sign floor ceil round trunc".split():
    CASES[f"{_name}_ends"] = lambda g, n=_name: g.op(
        "add", (x := g.away(2, 3)), g.op(n, x))


def two(name, left, right, **attributes):
    CASES[f"{name}_{'_'.join(attributes) or 'plain'}"] = lambda g: g.op(name, left(g), right(g), **attributes)
    CASES[f"{name}_broadcast_{'_'.join(attributes)}"] = lambda g: g.op(
        name, g.uniform(1.1, 2.9, 3, 1, 2), g.uniform(1.1, 2.9, 4, 1), **attributes)


for _name in "add sub mul atan2 max min".split():
    two(_name, away(2, 3), away(2, 3))
two("div", away(2, 3), away(2, 3, ))
two("pow", between(0.3, 2, 2, 3), between(-2, 2, 2, 3))
two("mod", between(3.1, 7.9, 2, 3), between(1.1, 2.1, 2, 3))
two("mod", between(3.1, 7.9, 2, 3), between(1.1, 2.1, 2, 3), fmod=None)


@case
def pow_two(g):
    return g.op("pow", g.normal(2, 3), g.constant(2.0))


@case
def pow_three(g):
    return g.op("pow", g.normal(2, 3), g.constant(3.0))


@case
def pow_zero(g):
    return g.op("pow", g.away(2, 3), g.constant(0.0))


@case
def pow_of_zero(g):
    return g.op("pow", g.input(np.array([0.0, 1.5, 2.0])), g.input(np.array([2.0, 0.5, -1.0])))


@case
def ties(g):
    x = g.input(np.array([1.0, 2.0, 3.0]))
    return g.op("max", x, g.input(np.array([1.0, 5.0, 0.0])))


@case
def of_itself(g):
    x = g.normal(2, 3)
    return g.op("mul", x, x)


@case
def max_of_three(g):
    return g.op("max", g.distinct(2, 3), g.normal(2, 3, scale=0.1), g.normal(3))


@case
def sums(g):
    x, y, z = g.normal(2, 3), g.normal(3), g.normal(2, 1)
    return g.op("add", g.op("add_n", x, y, z), g.op("mean_n", y, x, z))


@case
def where(g):
    return g.op("where", g.constant(np.array([[True, False, True]])), g.normal(2, 3), g.normal(2, 1))


@case
def clip(g):
    return g.op("clip", g.normal(3, 4), g.constant(-0.5), g.constant(0.7))


@case
def clip_below(g):
    return g.op("clip", g.normal(3, 4), g.constant(-0.5))


@case
def clip_bounds(g):
    return g.op("clip", g.normal(3, 4), g.normal(4, shift=-1), g.normal(3, 1))


@case
def addcmul(g):
    return g.op("addcmul", g.normal(2, 3), g.normal(3), g.normal(2, 1), value=0.7)


@case
def addcdiv(g):
    return g.op("addcdiv", g.normal(2, 3), g.normal(3), g.uniform(0.5, 2, 2, 1), value=0.7)


@case
def lerp(g):
    return g.op("lerp", g.normal(2, 3), g.normal(3), g.normal(2, 1))

# -- activations -----------------------------------------------------------------------

for _name in ("relu relu6 sigmoid log_sigmoid softsign tanh_shrink mish hard_swish hard_sigmoid softplus gelu "
              "selu").split():
    one(_name, away(3, 4))
for _name in "leaky_relu elu celu silu quick_gelu".split():
    one(_name, away(3, 4), alpha=0.3)
one("leaky_relu", away(3, 4), alpha=-0.3)
one("gelu", away(3, 4), approximate="tanh")
one("thresholded_relu", away(3, 4), alpha=0.4)
one("hard_tanh", away(3, 4), low=-0.4, high=0.6)
one("hard_sigmoid", away(3, 4), alpha=0.5, beta=0.3)
one("shrink", away(3, 4), lambd=0.3, bias=0.1)
one("softplus", away(3, 4), beta=2.0, threshold=1.0)
for _name in "softmax log_softmax softmin".split():
    one(_name, away(2, 3, 4), axis=1)
    one(_name, away(2, 3, 4), axis=1, flatten=None)


@case
def prelu(g):
    return g.op("prelu", g.away(2, 3, 4), g.normal(3, 1))


@case
def swiglu(g):
    return g.op("swiglu", g.normal(2, 3), g.normal(2, 3), alpha=1.3)

# -- reductions ------------------------------------------------------------------------

for _name in ("reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_l1 reduce_l2 reduce_sum_square "
              "reduce_log_sum_exp norm variance std").split():
    for _axes, _keep in (([1], False), ([0, 2], True), ([], False)):
        CASES[f"{_name}_{len(_axes)}_{_keep}"] = lambda g, n=_name, a=_axes, k=_keep: g.op(
            n, g.distinct(2, 3, 2), axes=a, keep_dims=k)
for _ord in (1.0, 3.0, np.inf, -np.inf, 0.0):
    one("norm", lambda g: g.distinct(3, 4), ord=_ord, axes=[1])
one("variance", away(3, 4), axes=[1], correction=0.0)


@case
def reduce_log_sum(g):
    return g.op("reduce_log_sum", g.uniform(0.5, 2, 2, 3), None, axes=[1], keep_dims=True)


@case
def prod_with_zero(g):
    return g.op("reduce_prod", g.input(np.array([[1.5, 0.0, 2.0], [0.0, 0.0, 3.0]])), axes=[1], keep_dims=False)


@case
def max_ties(g):
    return g.op("reduce_max", g.input(np.array([[1.0, 2.0, 2.0], [3.0, 0.0, 3.0]])), axes=[1], keep_dims=False)


@case
def norm_of_zero(g):
    return g.op("reduce_l2", g.input(np.array([[0.0, 0.0], [3.0, 4.0]])), axes=[1], keep_dims=False)


@case
def top_k(g):
    return g.op("top_k", g.distinct(3, 5), k=2, axis=1)[0]


@case
def sort(g):
    return g.op("sort", g.distinct(3, 5), axis=0, descending=None)[0]


@case
def median(g):
    return g.op("median", g.distinct(3, 5), axis=1)[0]


@case
def median_of_all(g):
    return g.op("median", g.distinct(3, 5))[0]


for _name in ("cum_sum", "cum_prod"):
    for _flags in ({}, {"exclusive": None}, {"reverse": None}, {"exclusive": None, "reverse": None}):
        CASES["_".join([_name, *_flags])] = lambda g, n=_name, f=_flags: g.op(n, g.normal(2, 4), axis=1, **f)


@case
def cum_prod_with_zero(g):
    return g.op("cum_prod", g.input(np.array([1.5, 0.0, 2.0, 0.0])), axis=0)


@case
def cum_sum_of_operand(g):
    return g.op("cum_sum", g.normal(2, 4), g.constant(np.int64(1)))
