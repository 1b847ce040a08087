"""Functions of one number and softmax, of formulas.py."""

import math

import numpy as np
from formulas import erf, fixed, formula, sigmoid

# -- functions of one number -----------------------------------------------------------


@fixed
def relu_grad(a, g, x):
    return np.where(x > 0, g, 0)


@fixed
def leaky_relu_grad(a, g, y):
    return np.where(y > 0, g, a["alpha"] * g)


@fixed
def sigmoid_grad(a, g, y):
    return g * y * (1 - y)


@fixed
def tanh_grad(a, g, y):
    return g * (1 - y * y)


@fixed
def gelu_grad(a, g, x, bias=None):
    x = x if bias is None else x + bias
    if a.get("approximate", "none") == "none":
        return g * ((1 + erf(x / math.sqrt(2))) / 2 + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))
    k = math.sqrt(2 / math.pi)
    t = np.tanh(k * (x + 0.044715 * x ** 3))
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x))


@fixed
def quick_gelu_grad(a, g, x):
    alpha = a.get("alpha", 1.702)
    s = sigmoid(alpha * x)
    return g * s * (1 + alpha * x * (1 - s))


@formula
def relu6_grad(a, g, x):
    return g * ((x > 0) & (x < 6))


@formula
def thresholded_relu_grad(a, g, x):
    return g * (x > a.get("alpha", 1.0))


@formula
def hard_sigmoid_grad(a, g, x):
    alpha, beta = a.get("alpha", 0.2), a.get("beta", 0.5)
    return np.where((alpha * x + beta > 0) & (alpha * x + beta < 1), alpha * g, 0)


@formula
def hard_swish_grad(a, g, x):
    return g * np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))


@formula
def hard_tanh_grad(a, g, x):
    return g * ((x > a.get("low", -1.0)) & (x < a.get("high", 1.0)))


@formula
def shrink_grad(a, g, x):
    return g * (np.abs(x) > a.get("lambd", 0.5))


@formula
def elu_grad(a, g, x):
    return g * np.where(x > 0, 1, a.get("alpha", 1.0) * np.exp(x))


@formula
def celu_grad(a, g, x):
    return g * np.where(x > 0, 1, np.exp(x / a.get("alpha", 1.0)))


@formula
def selu_grad(a, g, x):
    return g * a.get("gamma", 1.0507009873554805) * np.where(x > 0, 1, a.get("alpha", 1.6732632423543772) * np.exp(x))


@formula
def log_sigmoid_grad(a, g, x):
    return g * sigmoid(-x)


@formula
def softplus_grad(a, g, x):
    inner = a.get("beta", 1.0) * x
    return g * np.where(inner > a.get("threshold", np.inf), 1, sigmoid(inner))


@formula
def mish_grad(a, g, x):
    t = np.tanh(np.log1p(np.exp(x)))
    return g * (t + x * sigmoid(x) * (1 - t * t))

# -- softmax ---------------------------------------------------------------------------


def rows_of(a, x):
    axis = a["axis"] % x.ndim
    return tuple(range(axis, x.ndim)) if a.get("coerced") else (axis,)


@fixed
def softmax_grad(a, g, y):
    return y * (g - np.sum(y * g, rows_of(a, y), keepdims=True))


@fixed
def log_softmax_grad(a, g, y):
    return g - np.exp(y) * np.sum(g, rows_of(a, y), keepdims=True)


@fixed
def dropout_grad(a, g, mask, ratio=None, training=None):
    return g * mask / (1 - (0.5 if ratio is None else ratio))
