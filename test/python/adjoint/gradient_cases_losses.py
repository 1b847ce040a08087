"""Losses and distances."""

import numpy as np
from gradient_cases import CASES, case, one

# -- losses ----------------------------------------------------------------------------

_PAIRS = {
    "mse_loss": [{}], "l1_loss": [{}], "smooth_l1_loss": [{"beta": 0.5}], "huber_loss": [{"delta": 0.7}],
    "soft_margin_loss": [{}],
}
for _name, _options in _PAIRS.items():
    for _option in _options:
        for _how in ("none", "mean", "sum"):
            CASES[f"{_name}_{_how}"] = lambda g, n=_name, o=_option, h=_how: g.op(
                n, g.normal(3, 4), g.normal(3, 4), reduction=h, **o)


@case
def mse_broadcast(g):
    return g.op("mse_loss", g.normal(3, 4), g.normal(4))


@case
def kl_div(g):
    return g.op("kl_div", g.normal(3, 4), g.uniform(0.1, 1, 3, 4), reduction="batchmean")


@case
def kl_div_log(g):
    return g.op("kl_div", g.normal(3, 4), g.normal(3, 4), reduction="mean", log_target=True)


@case
def poisson(g):
    return g.op("poisson_nll_loss", g.normal(3, 4), g.constant(np.full((3, 4), 2.5)))


@case
def poisson_rate(g):
    return g.op("poisson_nll_loss", g.uniform(0.5, 2, 3, 4), g.constant(np.full((3, 4), 2.5)), log_input=False,
                full=True, reduction="sum")


@case
def hinge_embedding(g):
    return g.op("hinge_embedding_loss", g.normal(2, 3), g.constant(np.array([[1.0, -1, 1], [-1, -1, 1]])), margin=0.8)


@case
def bce(g):
    return g.op("binary_cross_entropy", g.uniform(0.1, 0.9, 2, 3), g.uniform(0, 1, 2, 3), g.constant(np.array([1, .5, 2])))


@case
def bce_logits(g):
    return g.op("binary_cross_entropy_with_logits", g.normal(2, 3), g.constant(np.array([[1.0, 0, 1], [0.3, 1, 0]])),
                g.constant(np.array([1, .5, 2])), g.constant(np.array([3., 1, 2])), reduction="sum")


@case
def gaussian_nll(g):
    return g.op("gaussian_nll_loss", g.normal(2, 3), g.normal(2, 3), g.uniform(0.5, 2, 2, 3))


_TARGET = [2, 0, 1]
for _how in ("none", "mean", "sum"):
    CASES[f"cross_entropy_{_how}"] = lambda g, h=_how: g.op(
        "cross_entropy", g.normal(3, 4), g.ints(_TARGET), g.constant(np.array([1, .5, 2, 3])), reduction=h,
        label_smoothing=0.2, ignore_index=1)
    CASES[f"nll_loss_{_how}"] = lambda g, h=_how: g.op(
        "nll_loss", g.normal(3, 4), g.ints(_TARGET), g.constant(np.array([1, .5, 2, 3])), reduction=h, ignore_index=1)
    CASES[f"softmax_cross_entropy_{_how}"] = lambda g, h=_how: g.op(
        "softmax_cross_entropy", g.normal(3, 4), g.ints(_TARGET), g.constant(np.array([1, .5, 2, 3])), reduction=h,
        ignore_index=1)[0]


@case
def cross_entropy_positions(g):
    return g.op("cross_entropy", g.normal(2, 4, 3), g.ints([[0, 3, 1], [2, 2, 0]]))


@case
def cross_entropy_distribution(g):
    return g.op("cross_entropy", g.normal(3, 4), g.constant(np.full((3, 4), 0.25)), label_smoothing=0.1)


@case
def cross_entropy_single(g):
    return g.op("cross_entropy", g.normal(4), g.constant(np.int64(2)))


@case
def log_prob_used(g):
    loss, log = g.op("softmax_cross_entropy", g.normal(3, 4), g.ints(_TARGET))
    return g.op("mul", loss, log)


@case
def multi_margin(g):
    return g.op("multi_margin_loss", g.normal(3, 4), g.ints(_TARGET), g.constant(np.array([1, .5, 2, 3])), p=2.0)


@case
def multilabel_margin(g):
    return g.op("multilabel_margin_loss", g.normal(2, 4), g.ints([[3, 0, -1, 1], [1, -1, 0, 0]]))


@case
def margin_ranking(g):
    return g.op("margin_ranking_loss", g.normal(5), g.normal(5), g.constant(np.array([1.0, -1, 1, 1, -1])), margin=0.3)


@case
def cosine_embedding(g):
    return g.op("cosine_embedding_loss", g.normal(3, 4), g.normal(3, 4), g.constant(np.array([1.0, -1, -1])),
                margin=-0.5)


@case
def triplet(g):
    return g.op("triplet_margin_loss", g.normal(3, 4), g.normal(3, 4), g.normal(3, 4))


@case
def triplet_swap(g):
    return g.op("triplet_margin_loss", g.normal(5, 4), g.normal(5, 4), g.normal(5, 4), swap=True, margin=2.0)


@case
def ctc(g):
    x = g.op("log_softmax", g.normal(5, 2, 4), axis=2)
    return g.op("ctc_loss", x, g.ints([[1, 2], [3, 3]]), g.ints([5, 5]), g.ints([2, 2]))


@case
def ctc_of_log_probabilities(g):
    """PyTorch's gradient takes for granted that they are log-softmax of something."""
    x = g.random.normal(0, 1, (6, 2, 3))
    return g.op("ctc_loss", g.input(x - np.log(np.exp(x).sum(-1, keepdims=True))), g.ints([[1, 2], [2, 0]]),
                g.ints([6, 5]), g.ints([2, 1]), reduction="none")


@case
def cosine_similarity(g):
    return g.op("cosine_similarity", g.normal(3, 4), g.normal(3, 4), axis=1)


for _p in (1.0, 2.0, 3.0):
    one("pdist", lambda g: g.normal(4, 3), p=_p)
    CASES[f"cdist_{int(_p)}"] = lambda g, p=_p: g.op("cdist", g.normal(2, 3, 4), g.normal(2, 5, 4), p=p)
    CASES[f"dist_{int(_p)}"] = lambda g, p=_p: g.op("dist", g.normal(3, 4), g.normal(4), p=p)


@case
def cdist_squared(g):
    return g.op("cdist", g.normal(3, 4), g.normal(5, 4), squared=True)


one("renorm", lambda g: g.normal(3, 4), p=2.0, axis=0, max_norm=1.5)
