"""Losses of evaluate.py."""

import torch
import torch.nn.functional as F
from mpopt.evaluation.evaluate import op

# -- losses ----------------------------------------------------------------------------


def ignored(a):
    return a.get("ignore_index", -100)


@op
def cross_entropy(a, x, t, weight=None):
    return F.cross_entropy(x, t, weight, ignore_index=ignored(a), reduction=a.get("reduction", "mean"),
                           label_smoothing=a.get("label_smoothing", 0.0))


@op
def softmax_cross_entropy(a, x, t, weight=None, ignore=None):
    return (F.cross_entropy(x, t, weight, ignore_index=ignored(a), reduction=a.get("reduction", "mean")),
            F.log_softmax(x, 1))


@op
def nll_loss(a, x, t, weight=None):
    return F.nll_loss(x, t, weight, ignore_index=ignored(a), reduction=a.get("reduction", "mean"))


@op
def multi_margin_loss(a, x, t, weight=None):
    return F.multi_margin_loss(x, t, int(a.get("p", 1.0)), a.get("margin", 1.0), weight,
                               reduction=a.get("reduction", "mean"))


def reduced(a, loss, batch=None):
    how = a.get("reduction", "mean")
    return {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum,
            "batchmean": lambda: loss.sum() / loss.shape[0]}[how]()


@op
def mse_loss(a, x, t):
    return reduced(a, (x - t).square())


@op
def l1_loss(a, x, t):
    return reduced(a, (x - t).abs())


@op
def smooth_l1_loss(a, x, t):
    return F.smooth_l1_loss(*torch.broadcast_tensors(x, t), reduction=a.get("reduction", "mean"),
                            beta=a.get("beta", 1.0))


@op
def huber_loss(a, x, t):
    return F.huber_loss(*torch.broadcast_tensors(x, t), reduction=a.get("reduction", "mean"),
                        delta=a.get("delta", 1.0))


@op
def kl_div(a, x, t):
    return reduced(a, F.kl_div(x, t, reduction="none", log_target=bool(a.get("log_target"))))


@op
def poisson_nll_loss(a, x, t):
    return F.poisson_nll_loss(x, t, a.get("log_input", True), bool(a.get("full")), eps=a.get("epsilon", 1e-8),
                              reduction=a.get("reduction", "mean"))


@op
def soft_margin_loss(a, x, t):
    return reduced(a, torch.log1p(torch.exp(-t * x)))


@op
def hinge_embedding_loss(a, x, t):
    return F.hinge_embedding_loss(x, t, a.get("margin", 1.0), reduction=a.get("reduction", "mean"))


@op
def binary_cross_entropy(a, x, t, weight=None):
    return F.binary_cross_entropy(x, t, weight, reduction=a.get("reduction", "mean"))


@op
def binary_cross_entropy_with_logits(a, x, t, weight=None, positives=None):
    return F.binary_cross_entropy_with_logits(x, t, weight, reduction=a.get("reduction", "mean"),
                                              pos_weight=positives)


@op
def gaussian_nll_loss(a, x, t, variance):
    return F.gaussian_nll_loss(x, t, variance, full=bool(a.get("full")), eps=a.get("epsilon", 1e-6),
                               reduction=a.get("reduction", "mean"))


@op
def multilabel_margin_loss(a, x, t):
    return F.multilabel_margin_loss(x, t, reduction=a.get("reduction", "mean"))


@op
def margin_ranking_loss(a, x, y, t):
    return F.margin_ranking_loss(x, y, t, a.get("margin", 0.0), reduction=a.get("reduction", "mean"))


@op
def cosine_embedding_loss(a, x, y, t):
    return F.cosine_embedding_loss(x, y, t, a.get("margin", 0.0), reduction=a.get("reduction", "mean"))


@op
def triplet_margin_loss(a, x, p, n):
    return F.triplet_margin_loss(x, p, n, a.get("margin", 1.0), a.get("p", 2.0), a.get("epsilon", 1e-6),
                                 bool(a.get("swap")), reduction=a.get("reduction", "mean"))


@op
def ctc_loss(a, x, t, inputs, targets):
    return F.ctc_loss(x, t, inputs, targets, a.get("blank", 0), a.get("reduction", "mean"),
                      bool(a.get("zero_infinity")))


@op
def cosine_similarity(a, x, y):
    return F.cosine_similarity(x, y, a.get("axis", 1), a.get("epsilon", 1e-8))


@op
def pdist(a, x):
    return F.pdist(x, a.get("p", 2.0))


@op
def cdist(a, x, y):
    if a.get("squared"):
        return (x.unsqueeze(-2) - y.unsqueeze(-3)).square().sum(-1)
    return torch.cdist(x, y, a.get("p", 2.0), "donot_use_mm_for_euclid_dist")


@op
def dist(a, x, y):
    return torch.dist(x, y, a.get("p", 2.0))


@op
def renorm(a, x):
    return torch.renorm(x, a["p"], a["axis"], a["max_norm"])
