"""Gradients of small networks, by torch.autograd in float64, lie in the bounds of the
backward graphs that mp-differentiate writes; these are finite, as the inputs' are."""

import math
import subprocess

import gradient_graph
import numpy as np
import pytest
import torch
from tool import BIN, read_ranges

SAMPLES = 24
NETWORKS = {}


def network(build):
    """A loss, of inputs that all lie in [-2, 2]."""
    NETWORKS[build.__name__] = build
    return build


def box(g, *shape):
    """Numbers of one magnitude or of many, and some at the ends."""
    x = g.random.uniform(-2, 2, shape) * g.random.choice([1, 0.01, 1e-4])
    return g.input(np.where(g.random.random(shape) < 0.2, g.random.choice([-2.0, 2.0], shape), x))


def dense(g, x, inputs, outputs):
    return g.op("add", g.op("matmul", x, box(g, inputs, outputs)), box(g, outputs))


def labels(g, count, *shape):
    """The same in each sample: they are constants."""
    return g.ints(np.random.default_rng(5).integers(0, count, shape))


@network
def classifier(g):
    hidden = g.op("relu", dense(g, box(g, 4, 5), 5, 6))
    return g.op("cross_entropy", dense(g, hidden, 6, 3), labels(g, 3, 4), reduction="mean")


@network
def regression(g):
    hidden = g.op("tanh", dense(g, box(g, 4, 5), 5, 6))
    return g.op("smooth_l1_loss", dense(g, hidden, 6, 2), box(g, 4, 2), reduction="mean", beta=0.5)


@network
def normed(g):
    rows = g.op("layer_norm", dense(g, box(g, 3, 4), 4, 6), box(g, 6), box(g, 6), axis=-1, epsilon=1e-3)
    rows = g.op("rms_norm", g.op("gelu", rows[0] if isinstance(rows, list) else rows), box(g, 6), axis=-1,
                epsilon=1e-3)
    return g.op("mse_loss", rows[0] if isinstance(rows, list) else rows, box(g, 3, 6), reduction="mean")


@network
def convolutional(g):
    x = g.op("conv", box(g, 2, 3, 6, 6), box(g, 4, 3, 3, 3), box(g, 4), pads=[1, 1, 1, 1])
    x = g.op("relu", g.op("group_norm", x, box(g, 4), box(g, 4), num_groups=2, epsilon=1e-3))
    x = g.op("average_pool", g.op("max_pool", x, kernel_shape=[2, 2], strides=[2, 2]), kernel_shape=[3, 3])
    x = g.op("reshape", x, g.ints([2, 4]))
    return g.op("cross_entropy", dense(g, x, 4, 3), labels(g, 3, 2), reduction="sum")


@network
def attentive(g):
    x = box(g, 2, 3, 4)
    q, k, v = (dense(g, x, 4, 4) for _ in range(3))
    scores = g.op("softmax", g.op("matmul", q, g.op("transpose", k, perm=[0, 2, 1])), axis=-1)
    y = g.op("add", g.op("matmul", scores, v), x)
    fused = g.op("attention", q, k, y)
    return g.op("binary_cross_entropy_with_logits", fused, g.input(np.full((2, 3, 4), 0.25), False), reduction="mean")


@network
def recurrent(g):
    states = g.op("lstm", box(g, 3, 2, 3), box(g, 1, 8, 3), box(g, 1, 8, 2), box(g, 1, 16), None, box(g, 1, 2, 2),
                  box(g, 1, 2, 2), hidden_size=2, activations=["Sigmoid", "Tanh", "Tanh"])
    return g.op("mse_loss", states[1], box(g, 1, 2, 2), reduction="mean")


def draw(name, seed):
    g = gradient_graph.Graph("main", seed)
    return g.returns(NETWORKS[name](g))


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_lie_in_finite_bounds(name, tmp_path):
    graph = draw(name, 0)
    done = subprocess.run([BIN / "mpopt-opt", "-", "--mp-differentiate=wrt=inputs"], input=graph.text(),
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    file = tmp_path / "backward.mlir"
    file.write_text(done.stdout)
    wanted = [x for x in graph.inputs if graph.values[x].requires_grad]
    ranges = read_ranges(file, *(part for x in wanted for part in ("--input", f"{x[1:]}=-2:2")))["tensors"]
    bounds = {x: ranges[f"grad({x[1:]})"] for x in wanted}
    for x, said in bounds.items():
        assert math.isfinite(float(said["lo"])) and math.isfinite(float(said["hi"])), f"{x}: {said}"
    largest = dict.fromkeys(wanted, 0.0)
    for seed in range(SAMPLES):
        graph = draw(name, seed)
        made = torch.autograd.grad(graph.values[graph.result], [graph.values[x] for x in wanted])
        for x, grad in zip(wanted, made):
            assert not grad.isnan().any() or bounds[x]["nan"]
            finite = grad[grad.isfinite()].numpy()
            slack = 1e-12 * max(abs(float(bounds[x]["lo"])), abs(float(bounds[x]["hi"])))
            assert float(bounds[x]["lo"]) - slack <= finite.min() <= finite.max() <= float(bounds[x]["hi"]) + slack
            largest[x] = max(largest[x], np.abs(finite).max())
    # A gradient that is 0 everywhere says nothing of a bound.
    assert all(largest.values()), largest
