"""Losses that `mp-attach-loss` appends, and their gradients by `mp-differentiate`, agree
with PyTorch's in float64."""

import subprocess

import gradient_harness as harness
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from gradient_graph import type_of
from mpopt.evaluation import evaluate, ir
from tool import BIN

RANDOM = np.random.default_rng(0)
REDUCTIONS = ("mean", "sum", "sum_then_batch_mean", "none")


def normal(*shape):
    return torch.from_numpy(RANDOM.normal(0, 1, shape))


def labels(count, *shape):
    return torch.from_numpy(RANDOM.integers(0, count, shape))


def signs(*shape):
    return torch.from_numpy(RANDOM.choice([-1.0, 1.0], shape))


def run(terms, predictions, targets):
    """The loss, its gradient seed, and the gradients of the predictions."""
    named = list(predictions.items())
    arguments = ", ".join(f'%{name}: {type_of(x)} {{mp.name = "in_{name}"}}' for name, x in named)
    types = ", ".join(f'{type_of(x)} {{mp.name = "{name}"}}' for name, x in named)
    returned = ", ".join(f"%{name}" for name, _ in named) + " : " + ", ".join(type_of(x) for _, x in named)
    text = f"func.func @main({arguments}) -> ({types}) {{\n  return {returned}\n}}\n"
    wanted = ";".join(f"in_{name}" for name, _ in named)
    done = subprocess.run([BIN / "mpopt-opt", "-", f"--mp-attach-loss=terms={terms}",
                           f"--mp-differentiate=of=loss wrt={wanted}", "-mlir-print-op-generic"],
                          input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    function, = ir.functions(done.stdout).values()
    assert "mp.lacks_gradient" not in function.attributes
    feed = {f"in_{name}": x for name, x in named} | targets
    types = function.regions[0].types
    values, seed = [], torch.tensor(1.0, dtype=torch.float64)
    for entry, type in zip(function.attributes["arg_attrs"], types):
        name = entry["mp.name"]
        if name == "seed(loss)":
            seed = torch.from_numpy(np.random.default_rng(2).normal(0, 1, type.shape))
            values.append(seed)
        else:
            values.append(feed.pop(name).detach())
    assert not feed, "targets that the function does not take"
    with torch.no_grad():
        made = dict(zip(harness.names_of(function), evaluate.run_function(function, values)))
    return made["loss"], seed, [made.get(f"grad(in_{name})") for name, _ in named]


def compare(terms, predictions, targets, expected):
    predictions = {name: x.clone().requires_grad_() for name, x in predictions.items()}
    loss, seed, gradients = run(terms, predictions, targets)
    right = expected(*predictions.values(), *targets.values())
    torch.testing.assert_close(loss, right.detach(), rtol=1e-9, atol=1e-12)
    for have, want in zip(gradients, torch.autograd.grad(right, list(predictions.values()), seed)):
        torch.testing.assert_close(have, want, rtol=1e-8, atol=1e-12)


def reduced(elements, how, batch=None):
    """One number of the losses of all positions, or those themselves."""
    return {"mean": elements.mean, "sum": elements.sum, "none": lambda: elements,
            "sum_then_batch_mean": lambda: elements.sum() / (batch or len(elements))}[how]()


# -- losses of two tensors -------------------------------------------------------------

PAIRS = {
    "mse": (lambda x, t: (x - t) ** 2, normal),
    "l1": (lambda x, t: (x - t).abs(), normal),
    "smooth-l1": (lambda x, t: F.smooth_l1_loss(x, t, reduction="none"), normal),
    "bce-with-logits": (lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"),
                        lambda *s: labels(2, *s).double()),
    "kl": (lambda x, t: F.kl_div(x, t, reduction="none"), lambda *s: normal(*s).softmax(-1)),
    "hinge": (lambda x, t: F.relu(1 - x * t), signs),
}


@pytest.mark.parametrize("how", REDUCTIONS)
@pytest.mark.parametrize("kind", PAIRS)
def test_pair(kind, how):
    function, draw = PAIRS[kind]
    compare(f"{kind}:y,t:reduction={how}", {"y": normal(4, 3)}, {"t": draw(4, 3)},
            lambda x, t: reduced(function(x, t), how))


@pytest.mark.parametrize("how", REDUCTIONS)
def test_probabilities(how):
    compare(f"bce:y,t:reduction={how}", {"y": normal(4, 3).sigmoid()}, {"t": labels(2, 4, 3).double()},
            lambda x, t: reduced(F.binary_cross_entropy(x, t, reduction="none"), how))


@pytest.mark.parametrize("how", REDUCTIONS)
def test_focal(how):
    def focal(x, t):
        p = x.sigmoid()
        right = p * t + (1 - p) * (1 - t)
        entropy = F.binary_cross_entropy_with_logits(x, t, reduction="none")
        return reduced((0.25 * t + 0.75 * (1 - t)) * entropy * (1 - right) ** 2, how)
    compare(f"focal:y:reduction={how}", {"y": normal(4, 3)}, {"target": labels(2, 4, 3).double()}, focal)


@pytest.mark.parametrize("option,gamma,alpha", [
    ("gamma=0", 0, 0.25), ("gamma=1:alpha=0.5", 1, 0.5), ("gamma=1.5:alpha=-1", 1.5, -1),
    ("gamma=3:alpha=0.9", 3, 0.9)])
def test_focal_weights(option, gamma, alpha):
    def focal(x, t):
        p = x.sigmoid()
        wrong = 1 - (p * t + (1 - p) * (1 - t))
        loss = F.binary_cross_entropy_with_logits(x, t, reduction="none") * wrong ** gamma
        return (loss if alpha < 0 else (alpha * t + (1 - alpha) * (1 - t)) * loss).mean()
    compare(f"focal:y:{option}", {"y": normal(4, 3)}, {"target": labels(2, 4, 3).double()}, focal)


@pytest.mark.parametrize("option,function", [
    ("beta=0.25", lambda x, t: F.smooth_l1_loss(x, t, beta=0.25)),
    ("beta=0", lambda x, t: F.smooth_l1_loss(x, t, beta=0.0)),
    ("delta=0.25", lambda x, t: F.huber_loss(x, t, delta=0.25)),
    ("delta=3", lambda x, t: F.huber_loss(x, t, delta=3.0))])
def test_where_the_square_ends(option, function):
    compare(f"smooth-l1:y,t:{option}", {"y": normal(4, 3)}, {"t": normal(4, 3)}, function)


# -- losses over classes ---------------------------------------------------------------


@pytest.mark.parametrize("how", REDUCTIONS)
@pytest.mark.parametrize("kind,function", [("cross-entropy", F.cross_entropy), ("nll", F.nll_loss)])
def test_classes(kind, function, how):
    def expected(x, t):
        kept = {"sum_then_batch_mean": "sum"}.get(how, how)
        value = function(x, t, ignore_index=1, reduction=kept)
        return value / 5 if how == "sum_then_batch_mean" else value
    compare(f"{kind}:y,t:ignore=1:reduction={how}", {"y": normal(5, 3)}, {"t": torch.tensor([0, 1, 2, 1, 2])},
            expected)


@pytest.mark.parametrize("how", REDUCTIONS)
@pytest.mark.parametrize("shape,axis,option", [
    ((2, 4, 5), 2, ""), ((2, 4, 5), 2, ":class_axis=-1"), ((2, 5, 4), 1, ":class_axis=1"),
    ((2, 5, 3, 4), 1, ""), ((2, 3, 4, 5), 3, ":class_axis=-1"), ((2, 3, 5, 4), 2, ":class_axis=2"),
    ((5, 4), 0, ":class_axis=0"), ((5,), 0, "")])
def test_class_axis(shape, axis, option, how):
    positions = shape[:axis] + shape[axis + 1:]
    batch = shape[0]
    compare(f"cross-entropy:y{option}:reduction={how}", {"y": normal(*shape)}, {"target": labels(5, *positions)},
            lambda x, t: reduced(-x.log_softmax(axis).movedim(axis, -1).gather(-1, t[..., None])[..., 0], how,
                                 batch if len(shape) > 1 else 5 * (how == "sum_then_batch_mean")))


def test_last_position():
    compare("cross-entropy:y,t:positions=last", {"y": normal(3, 4, 5)}, {"t": labels(5, 3, 1)},
            lambda x, t: F.cross_entropy(x[:, -1], t[:, 0]))


def test_last_position_behind_classes():
    compare("nll:y,t:positions=last:class_axis=1", {"y": normal(3, 5, 4)}, {"t": labels(5, 3, 1)},
            lambda x, t: F.nll_loss(x[..., -1], t[:, 0]))


def test_last_position_of_numbers():
    compare("mse:y,t:positions=last", {"y": normal(3, 4, 2)}, {"t": normal(3, 1, 2)},
            lambda x, t: F.mse_loss(x[:, -1:], t))


@pytest.mark.parametrize("how", REDUCTIONS)
def test_policy_gradient(how):
    compare(f"policy-gradient:y,action:reduction={how}", {"y": normal(4, 3)},
            {"action": labels(3, 4), "advantage(action)": normal(4)},
            lambda x, t, a: reduced(-a * x.log_softmax(1).gather(1, t[:, None])[:, 0], how))


# -- losses of other shapes ------------------------------------------------------------


@pytest.mark.parametrize("how", REDUCTIONS)
def test_kl_normal(how):
    compare(f"kl-normal:m,v:reduction={how}", {"m": normal(4, 3), "v": normal(4, 3)}, {},
            lambda m, v: reduced(-0.5 * (1 + v - m ** 2 - v.exp()), how))


@pytest.mark.parametrize("how", REDUCTIONS)
def test_contrastive(how):
    def expected(x):
        kept = {"sum_then_batch_mean": "sum"}.get(how, how)
        right = torch.arange(4)
        both = (F.cross_entropy(x, right, reduction=kept) + F.cross_entropy(x.T, right, reduction=kept)) / 2
        return both / 4 if how == "sum_then_batch_mean" else both
    compare(f"contrastive:y:reduction={how}", {"y": normal(4, 4)}, {}, expected)


@pytest.mark.parametrize("how", REDUCTIONS)
def test_triplet(how):
    compare(f"triplet:a,p,n:reduction={how}", {name: normal(4, 3) for name in "apn"}, {},
            lambda a, p, n: reduced(F.triplet_margin_loss(a, p, n, reduction="none"), how))


@pytest.mark.parametrize("how", REDUCTIONS)
def test_ctc(how):
    def expected(x, t, sizes):
        kept = {"sum_then_batch_mean": "sum"}.get(how, how)
        value = F.ctc_loss(x, t, torch.full((3,), 8), sizes, reduction=kept)
        return value / 3 if how == "sum_then_batch_mean" else value
    compare(f"ctc:y,t:reduction={how}", {"y": normal(8, 3, 5).log_softmax(-1)},
            {"t": 1 + labels(4, 3, 3), "lengths(t)": torch.tensor([3, 2, 1])}, expected)


@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_output_is_the_loss(kind):
    compare(f"{kind}:y", {"y": normal(4, 3)}, {}, lambda x: getattr(x, kind)())


# -- terms -----------------------------------------------------------------------------


def test_weighted_terms():
    compare("bce-with-logits:y,t:weight=0.3:reduction=sum_then_batch_mean;kl-normal:m,v:weight=1e-4;mse:y,t",
            {"y": normal(4, 3), "m": normal(4, 2), "v": normal(4, 2)}, {"t": labels(2, 4, 3).double()},
            lambda y, m, v, t: 0.3 * F.binary_cross_entropy_with_logits(y, t, reduction="sum") / 4
            + 1e-4 * (-0.5 * (1 + v - m ** 2 - v.exp())).mean() + F.mse_loss(y, t))


def test_targets_by_prediction():
    compare("mse:y;l1:z", {"y": normal(4, 3), "z": normal(2)},
            {"target(y)": normal(4, 3), "target(z)": normal(2)},
            lambda y, z, t, u: F.mse_loss(y, t) + F.l1_loss(z, u))
