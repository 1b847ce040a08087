"""Elementwise ops and activations of evaluate.py."""

import functools
import math

import torch
import torch.nn.functional as F
from mpopt.evaluation.evaluate import FORWARD, op

# -- elementwise -----------------------------------------------------------------------

UNARY = {
    "abs": torch.abs, "neg": torch.neg, "sign": torch.sign, "floor": torch.floor, "ceil": torch.ceil,
    "round": torch.round, "trunc": torch.trunc, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal, "square": torch.square, "exp": torch.exp, "exp2": torch.exp2,
    "expm1": torch.expm1, "log": torch.log, "log2": torch.log2, "log10": torch.log10, "log1p": torch.log1p,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": torch.asin, "acos": torch.acos,
    "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "asinh": torch.asinh,
    "acosh": torch.acosh, "atanh": torch.atanh, "erf": torch.erf, "erfc": torch.erfc, "erfinv": torch.erfinv,
    "log_ndtr": torch.special.log_ndtr, "logical_not": torch.logical_not, "relu": torch.relu, "relu6": F.relu6,
    "sigmoid": torch.sigmoid, "log_sigmoid": F.logsigmoid, "softsign": F.softsign, "tanh_shrink": F.tanhshrink,
    "mish": F.mish, "hard_swish": F.hardswish, "identity": lambda x: x, "is_nan": torch.isnan,
}
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "atan2": torch.atan2,
    "pow": torch.pow, "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt, "less_equal": torch.le,
    "greater": torch.gt, "greater_equal": torch.ge, "logical_and": torch.logical_and,
    "logical_or": torch.logical_or, "floor_div": torch.floor_divide,
}
for _name, _function in UNARY.items():
    FORWARD["mp." + _name] = lambda a, x, f=_function: f(x)
for _name, _function in BINARY.items():
    FORWARD["mp." + _name] = lambda a, x, y, f=_function: f(x, y)


@op
def mod(a, x, y):
    return torch.fmod(x, y) if a.get("fmod") else torch.remainder(x, y)


@op
def max_(a, *xs):
    return functools.reduce(torch.maximum, xs)


@op
def min_(a, *xs):
    return functools.reduce(torch.minimum, xs)


@op
def add_n(a, *xs):
    return sum(xs)


@op
def mean_n(a, *xs):
    return sum(xs) / len(xs)


@op
def where(a, c, x, y):
    return torch.where(c, x, y)


@op
def clip(a, x, low=None, high=None):
    return torch.clamp(x, low, high) if low is not None or high is not None else x


@op
def addcmul(a, x, y, z):
    return x + a.get("value", 1.0) * y * z


@op
def addcdiv(a, x, y, z):
    return x + a.get("value", 1.0) * y / z


@op
def lerp(a, x, y, w):
    return torch.lerp(x, y, w)

# -- activations -----------------------------------------------------------------------


@op
def leaky_relu(a, x):
    return F.leaky_relu(x, a.get("alpha", 0.01))


@op
def thresholded_relu(a, x):
    return F.threshold(x, a.get("alpha", 1.0), 0)


@op
def hard_sigmoid(a, x):
    return torch.clamp(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1)


@op
def hard_tanh(a, x):
    return F.hardtanh(x, a.get("low", -1.0), a.get("high", 1.0))


@op
def shrink(a, x):
    lambd, bias = a.get("lambd", 0.5), a.get("bias", 0.0)
    return torch.where(x < -lambd, x + bias, torch.where(x > lambd, x - bias, torch.zeros_like(x)))


@op
def elu(a, x):
    return F.elu(x, a.get("alpha", 1.0))


@op
def celu(a, x):
    return F.celu(x, a.get("alpha", 1.0))


@op
def selu(a, x):
    alpha, gamma = a.get("alpha", 1.6732632423543772), a.get("gamma", 1.0507009873554805)
    return gamma * torch.where(x > 0, x, alpha * torch.expm1(x))


@op
def softplus(a, x):
    return F.softplus(x, a.get("beta", 1.0), a.get("threshold", math.inf))


@op
def silu(a, x):
    return x * torch.sigmoid(a.get("alpha", 1.0) * x)


@op
def quick_gelu(a, x):
    return x * torch.sigmoid(a.get("alpha", 1.702) * x)


@op
def gelu(a, x):
    return F.gelu(x, approximate=a.get("approximate", "none"))


@op
def prelu(a, x, slope):
    return torch.where(x < 0, slope * x, x)


@op
def swiglu(a, gate, value):
    return gate * torch.sigmoid(a.get("alpha", 1.0) * gate) * value


def along(a, x, function):
    axis = a.get("axis", -1) % x.dim()
    if not a.get("flatten"):
        return function(x, axis)
    return function(x.reshape(*x.shape[:axis], -1), axis).reshape(x.shape)


@op
def softmax(a, x):
    return along(a, x, torch.softmax)


@op
def log_softmax(a, x):
    return along(a, x, torch.log_softmax)


@op
def softmin(a, x):
    return along(a, -x, torch.softmax)
