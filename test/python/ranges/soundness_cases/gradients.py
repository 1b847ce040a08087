"""Cases of test_soundness.py: gradients that mp-differentiate writes as ops of their own,
by the formulas with which test/python/adjoint compares autograd's."""

from mpopt.evaluation import evaluate
import numpy as np
import torch
from formulas import FORMULAS
from soundness_family import Cases
from soundness_operands import scale_of

CASES = Cases()
ir_case = CASES.ir_case
REDUCTIONS = ["none", "mean", "sum"]


def gradient(draw, name, grads, operands, wanted=(0,), segments=False, **attributes):
    """The op `name`_grad of the operands in the places `wanted`, all of which its formula
    knows. `grads` is a list where the op has several results."""
    arriving = grads if isinstance(grads, list) else [grads]
    parts = [*arriving, *operands]
    numbers = [sum(part is not None for part in parts[:len(arriving) + place]) for place in wanted]

    # A unit attribute is None in the IR.
    known = {key: True if value is None else value for key, value in attributes.items()}

    def reference(*arrays):
        given = list(arrays[:len(arriving)])
        made = FORMULAS[f"mp.{name}_grad"](known, given if isinstance(grads, list) else given[0],
                                           *arrays[len(arriving):])
        made = made if isinstance(made, tuple) else (made,)
        return tuple(made[place] for place in wanted)
    options = {"segments": parts} if segments else {}
    return draw.op(f"{name}_grad", parts, reference, wanted=numbers, **options, **attributes)


def by_autograd(draw, name, grad, operands, wanted=(0,), segments=False, **attributes):
    """The same of ops that have no formula."""
    parts = [grad, *operands]
    numbers = [sum(part is not None for part in parts[:1 + place]) for place in wanted]

    def reference(g, *arrays):
        given = [None if array is None else torch.as_tensor(array) for array in arrays]
        for place in wanted:
            given[place] = given[place].clone().requires_grad_()
        y = evaluate.FORWARD[f"mp.{name}"](attributes, *given)
        made = torch.autograd.grad(y, [given[place] for place in wanted], torch.as_tensor(g).to(y.dtype))
        return tuple(array.numpy() for array in made)
    options = {"segments": parts} if segments else {}
    return draw.op(f"{name}_grad", parts, reference, wanted=numbers, **options, **attributes)


def maybe(draw, name):
    """A unit attribute, or none."""
    return draw.choice([{}, {name: None}])


def at_unit(draw, shape):
    """Probabilities, the ends included."""
    lo, hi = sorted(draw.random.uniform(0, 1, 2).astype(np.float32).tolist())
    return draw.box(shape, draw.choice([0.0, lo]), draw.choice([1.0, hi]))


# -- functions -------------------------------------------------------------------------


@ir_case
def functions(draw):
    shape, alpha = draw.shape(), draw.choice([0.25, 1.0, 1.5])
    for op, attributes in (
            ("relu6", {}), ("hard_swish", {}), ("log_sigmoid", {}), ("mish", {}),
            ("thresholded_relu", {"alpha": alpha}), ("hard_sigmoid", {"alpha": alpha, "beta": 0.5}),
            ("hard_tanh", {"low": -alpha, "high": 2 * alpha}), ("shrink", {"lambd": alpha, "bias": 0.0}),
            ("elu", {"alpha": alpha}), ("celu", {"alpha": draw.choice([alpha, -alpha])}),
            ("selu", {"alpha": alpha, "gamma": 1.25}), ("softplus", {"beta": alpha, "threshold": 20.0})):
        gradient(draw, op, draw.box(shape), [draw.box(shape)], **attributes)


# -- losses ----------------------------------------------------------------------------


@ir_case
def pairwise_losses(draw):
    shape = draw.choice([(2, 8), (3, 1, 5), (16,)])
    for op, attributes in (("mse_loss", {}), ("l1_loss", {}), ("smooth_l1_loss", {"beta": draw.choice([0.5, 1e-3])}),
                           ("huber_loss", {"delta": draw.choice([0.5, 2.0])}), ("soft_margin_loss", {}),
                           ("kl_div", {"log_target": bool(draw.integer(0, 1))})):
        reduction = draw.choice(REDUCTIONS)
        other = draw.choice([shape, shape[-1:]])
        grad = draw.box(shape if reduction == "none" else ())
        gradient(draw, op, grad, [draw.box(shape, scale=scale_of(draw)), draw.box(other)], (0, 1),
                 reduction=reduction, **attributes)


@ir_case
def losses_of_inputs(draw):
    """Of which the target's gradient has no formula."""
    shape = draw.choice([(2, 8), (3, 1, 5), (16,)])
    for op, attributes in (("poisson_nll_loss", {"log_input": bool(draw.integer(0, 1)), "full": False,
                                                 "epsilon": draw.choice([1e-8, 0.5])}),
                           ("hinge_embedding_loss", {"margin": draw.choice([0.5, 2.0])})):
        reduction = draw.choice(REDUCTIONS)
        grad = draw.box(shape if reduction == "none" else ())
        target = draw.box(shape, -1, 1) if draw.integer(0, 1) else draw.box(shape)
        gradient(draw, op, grad, [draw.box(shape, scale=draw.choice([1, 20])), target], reduction=reduction,
                 **attributes)


@ir_case
def weighted_losses(draw):
    shape = draw.choice([(2, 8), (3, 1, 5), (16,)])
    reduction = draw.choice(REDUCTIONS)
    grad = draw.box(shape if reduction == "none" else ())
    weight = draw.choice([None, draw.box(shape[-1:], 0, 3), draw.box(shape)])
    target = draw.choice([at_unit(draw, shape), draw.box(shape)])
    x = at_unit(draw, shape)
    gradient(draw, "binary_cross_entropy", grad, [x, target, weight], draw.choice([(0,), (0, 1)]),
             reduction=reduction)
    positives = draw.choice([None, draw.box(shape[-1:], 0, 9), draw.box(shape[-1:])])
    gradient(draw, "binary_cross_entropy_with_logits", grad,
             [draw.box(shape, scale=scale_of(draw)), target, weight, positives], segments=True, reduction=reduction)
    variance = draw.choice([draw.box(shape), draw.box(shape, 0.125, 8)])
    gradient(draw, "gaussian_nll_loss", grad, [draw.box(shape, scale=3), draw.box(shape), variance], (0, 1, 2),
             reduction=reduction, full=False, epsilon=draw.choice([1e-6, 0.25]))
    gradient(draw, "margin_ranking_loss", grad, [draw.box(shape), draw.box(shape), draw.box(shape, -1, 1)], (0, 1),
             reduction=reduction, margin=draw.choice([0.0, 0.5]))


def targets_of(draw, shape, classes, ignored):
    targets = draw.random.integers(0, classes, shape)
    return draw.constant(np.where(draw.random.random(shape) < ignored, -100, targets).astype(np.int64))


@ir_case
def class_losses(draw):
    n, c, more = draw.integer(1, 5), draw.integer(2, 7), draw.choice([(), (3,)])
    reduction, ignored = draw.choice(REDUCTIONS), draw.choice([0.0, 0.3, 1.0])
    grad = draw.box((n, *more) if reduction == "none" else (), scale=scale_of(draw))
    weight = draw.choice([None, draw.box((c,), 0.25, 4), draw.box((c,), 0, 2), draw.box((c,))])
    targets = targets_of(draw, (n, *more), c, ignored)
    options = {"reduction": reduction, "ignore_index": -100}
    gradient(draw, "cross_entropy", grad, [draw.box((n, c, *more), scale=scale_of(draw)), targets, weight],
             label_smoothing=draw.choice([0.0, 0.0, 0.25]), **options)
    gradient(draw, "nll_loss", grad, [draw.box((n, c, *more), -20, 0), targets, weight], **options)
    distribution = draw.op("softmax", [draw.box((n, c, *more))], lambda x: _softmax(x), axis=1)
    distribution = draw.choice([distribution, draw.box((n, c, *more))])
    gradient(draw, "cross_entropy", grad, [draw.box((n, c, *more), scale=3), distribution, weight],
             label_smoothing=draw.choice([0.0, 0.25]), reduction=reduction)


def _softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@ir_case
def margins_of_classes(draw):
    n, c = draw.integer(1, 4), draw.integer(2, 6)
    reduction = draw.choice(REDUCTIONS)
    grad, x = draw.box((n,) if reduction == "none" else ()), draw.box((n, c), scale=3)
    weight = draw.choice([None, draw.box((c,), 0, 2), draw.box((c,))])
    gradient(draw, "multi_margin_loss", grad, [x, targets_of(draw, (n,), c, 0), weight], reduction=reduction,
             p=draw.choice([1.0, 2.0]), margin=draw.choice([0.5, 1.0]))
    several = draw.random.integers(0, c, (n, c))
    several[:, draw.integer(1, c - 1):] = -1
    gradient(draw, "multilabel_margin_loss", grad, [x, draw.constant(several)], reduction=reduction)


@ir_case
def label_sequences(draw):
    steps, n, c = draw.integer(2, 5), draw.integer(1, 2), draw.integer(2, 4)
    reduction = draw.choice(REDUCTIONS)
    labels = draw.constant(draw.random.integers(1, c, (n, 2)))
    lengths = draw.constant(np.full(n, draw.integer(2, steps)))
    sizes = draw.constant(draw.random.integers(1, 3, n))
    x = draw.box((steps, n, c), -draw.integer(1, 30), 0)
    gradient(draw, "ctc_loss", draw.box((n,) if reduction == "none" else ()), [x, labels, lengths, sizes],
             reduction=reduction)


@ir_case
def distances(draw):
    n, d = draw.integer(1, 4), draw.integer(1, 6)
    a, b, other = (draw.box((n, d), scale=scale_of(draw)) for _ in range(3))
    p = draw.choice([1.0, 2.0, 2.0, 3.0])
    gradient(draw, "cosine_similarity", draw.box((n,)), [a, b], (0, 1), axis=1,
             epsilon=draw.choice([1e-8, 1e-3]))
    reduction = draw.choice(REDUCTIONS)
    each = draw.box((n,) if reduction == "none" else ())
    side = draw.constant(draw.choice([-1, 1]) * np.ones(n, np.float32))
    gradient(draw, "cosine_embedding_loss", each, [a, b, side], (0, 1), reduction=reduction, margin=0.25)
    gradient(draw, "triplet_margin_loss", each, [a, b, other], (0, 1, 2), reduction=reduction, p=p, margin=1.0,
             epsilon=1e-6, swap=bool(draw.integer(0, 1)))
    gradient(draw, "dist", draw.box(()), [a, draw.choice([b, draw.box((d,))])], (0, 1), p=p)
    gradient(draw, "cdist", draw.box((n, n)), [a, b], (0, 1), p=p, squared=bool(draw.integer(0, 1)))
    rows = draw.box((4, d), scale=scale_of(draw))
    gradient(draw, "pdist", draw.box((6,)), [rows], p=p)
    gradient(draw, "renorm", draw.box((n, d)), [a], p=p, axis=draw.integer(0, 1), max_norm=draw.choice([0.5, 4.0]))


# -- normalisations --------------------------------------------------------------------


@ir_case
def group_norms(draw):
    n, c, size = draw.integer(1, 3), draw.choice([2, 4]), draw.choice([(3,), (2, 2)])
    shape, epsilon = (n, c, *size), draw.choice([1e-5, 1e-3, 1.0])
    # A mean far from zero makes the variance one of roundings.
    x = draw.box(shape, scale=draw.choice([1e-3, 0.5, 5]))
    scale = draw.choice([draw.box((c,), 0.5, 2), draw.box((c,))])
    grad = draw.box(shape, scale=scale_of(draw))
    parts = draw.choice([([x, scale, draw.box((c,))], (0, 1, 2)), ([x, None, None], (0,))])
    gradient(draw, "group_norm", grad, *parts, segments=True, num_groups=draw.choice([1, 2]),
             epsilon=epsilon, channels_last=False)
    gradient(draw, "instance_norm", grad, *parts, segments=True, epsilon=epsilon)


@ir_case
def norms_of_vectors(draw):
    shape = draw.choice([(2, 5, 3), (1, 4, 2)])
    grad, x = draw.box(shape, scale=scale_of(draw)), draw.box(shape, scale=scale_of(draw))
    gradient(draw, "lrn", grad, [x], size=draw.integer(1, 5), alpha=draw.choice([1e-4, 0.5]),
             beta=draw.choice([0.75, 0.5]), bias=draw.choice([1.0, 2.0]))
    gradient(draw, "lp_normalize", grad, [x], axis=draw.choice([1, -1]), p=draw.choice([1.0, 2.0]),
             epsilon=draw.choice([0.0, 1e-12, 1e-3]))


# -- pools, reductions -----------------------------------------------------------------


@ir_case
def pools(draw):
    kernel, stride = draw.integer(1, 3), draw.integer(1, 3)
    x, out = draw.box((1, 2, 7)), (7 - kernel) // stride + 1
    for op in ("max_pool", "average_pool"):
        gradient(draw, op, draw.box((1, 2, out), scale=scale_of(draw)), [x], kernel_shape=[kernel], strides=[stride])
    away = draw.choice([x, draw.box((1, 2, 7), 0.5, 3)])
    gradient(draw, "lp_pool", draw.box((1, 2, out)), [away], kernel_shape=[kernel], strides=[stride],
             p=draw.choice([1.0, 2.0]))
    size = draw.integer(1, 9)
    for op in ("adaptive_max_pool", "adaptive_avg_pool"):
        gradient(draw, op, draw.box((1, 2, size), scale=scale_of(draw)), [x], output_size=[size])


@ir_case
def regions(draw):
    count, high, wide = 1, draw.integer(1, 2), draw.integer(1, 2)
    corners = np.sort(draw.random.uniform(-1, 5, (count, 2, 2)), 1)
    rois = draw.constant(corners.reshape(count, 4), exact=True)
    images = draw.constant(np.zeros(count, np.int64))
    by_autograd(draw, "roi_align", draw.box((count, 1, high, wide), scale=scale_of(draw)),
                [draw.box((1, 1, 3, 4)), rois, images], output_height=high, output_width=wide, sampling_ratio=2,
                mode="avg", half_pixel=bool(draw.integer(0, 1)), spatial_scale=1.0)


@ir_case
def regions_of_maxima(draw):
    count = draw.integer(1, 2)
    corners = np.sort(draw.random.integers(0, [4, 3], (count, 2, 2)), 1).reshape(count, 4)
    rois = draw.constant(np.concatenate([np.zeros((count, 1)), corners], 1), exact=True)
    high, wide = draw.integer(1, 2), draw.integer(1, 2)
    by_autograd(draw, "max_roi_pool", draw.box((count, 2, high, wide), scale=scale_of(draw)),
                [draw.box((1, 2, 3, 4)), rois], pooled_shape=[high, wide])


@ir_case
def reductions(draw):
    shape = draw.choice([(2, 3), (4,), (2, 2, 2)])
    axes = draw.choice([[0], list(range(len(shape)))])
    kept = tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    grad = draw.box(kept, scale=draw.choice([1, 100]))
    gradient(draw, "norm", grad, [draw.box(shape)], axes=axes, keep_dims=True,
             ord=draw.choice([0.0, 1.0, 2.0, 3.0, float("inf")]))
    x = draw.box(shape, scale=draw.choice([1e-3, 1, 3, 30]))
    gradient(draw, "reduce_prod", grad, [x], axes=axes, keep_dims=True)
    gradient(draw, "cum_prod", draw.box(shape, scale=3), [x], axis=0, **maybe(draw, "exclusive"),
             **maybe(draw, "reverse"))


# -- samples and transforms ------------------------------------------------------------


@ir_case
def pads_and_samples(draw):
    high, wide = draw.integer(2, 3), draw.integer(2, 3)
    mode = draw.choice(["constant", "reflect", "edge", "wrap"])
    pads = [draw.integer(-1 if mode == "constant" else 0, high - 1), 0, draw.integer(0, high - 1), draw.integer(0, 1)]
    x = draw.box((high, wide))
    gradient(draw, "pad", draw.box((high + pads[0] + pads[2], wide + pads[1] + pads[3]), scale=scale_of(draw)),
             [x, None, None, None], segments=True, pads=pads, mode=mode)
    sizes = [1, 1, draw.integer(1, 6), draw.integer(1, 6)]
    image = draw.box((1, 1, high, wide))
    gradient(draw, "resize", draw.box(sizes, scale=scale_of(draw)),
             [image, None, None, draw.constant(np.array(sizes))], segments=True,
             mode=draw.choice(["nearest", "linear", "cubic"]),
             coordinate_transformation=draw.choice(["half_pixel", "align_corners", "asymmetric"]))
    gradient(draw, "grid_sample", draw.box((1, 1, 2, 2)),
             [image, draw.box((1, 2, 2, 2), *sorted(draw.random.uniform(-1.5, 1.5, 2).astype(np.float32).tolist()))],
             (0, 1), mode="linear", padding_mode=draw.choice(["zeros", "border"]), **maybe(draw, "align_corners"))


@ir_case
def transforms(draw):
    size = draw.integer(1, 6)
    gradient(draw, "dft", draw.box((1, size, 2), scale=scale_of(draw)), [draw.box((1, size, 2)), None, None],
             segments=True, axis=1, **maybe(draw, "inverse"))
    length, step = draw.choice([2, 4]), draw.integer(1, 2)
    frames = (6 - length) // step + 1
    gradient(draw, "stft", draw.box((1, frames, length // 2 + 1, 2), scale=scale_of(draw)),
             [draw.box((1, 6, 1)), draw.constant(np.int64(step)), draw.box((length,)), draw.constant(np.int64(length))],
             segments=True, onesided=True)


@ir_case
def deformed_convolutions(draw):
    channels, filters, kernel, size = draw.integer(1, 2), draw.integer(1, 3), draw.choice([1, 1, 1, 2]), 3
    out, taps = size - kernel + 1, kernel * kernel
    operands = [draw.box((1, channels, size, size), scale=3), draw.box((filters, channels, kernel, kernel), scale=2),
                draw.box((1, 2 * taps, out, out), -1.5, draw.choice([0.5, 2.0])),
                draw.choice([None, draw.box((filters,))]), draw.choice([None, draw.box((1, taps, out, out), 0, 1)])]
    wanted = [place for place, operand in enumerate(operands) if operand]
    by_autograd(draw, "deform_conv", draw.box((1, filters, out, out), scale=scale_of(draw)), operands, wanted,
                segments=True, strides=[1, 1], dilations=[1, 1], pads=[0] * 4, group=1, offset_group=1)


# -- quantisation ----------------------------------------------------------------------


@ir_case
def quantisation(draw):
    x, grad = draw.box((2, 3)), draw.box((2, 3))
    scale = draw.constant(np.float32(draw.choice([0.25, 0.5, 2.0])), exact=True)
    gradient(draw, "fake_quantize", grad, [x, scale, draw.choice([None, draw.constant(np.int64(3))])],
             quant_min=-8, quant_max=draw.integer(1, 7))


@ir_case
def products_of_codes(draw):
    n, k = draw.integer(1, 5), 32
    codes = draw.constant(draw.random.integers(0, 256, (n, 2, 8)).astype(np.uint8))
    scales, bias = draw.box((n, 2), 0.01, 2), draw.choice([None, draw.box((n,))])
    operands = [draw.box((2, 3, n), scale=scale_of(draw)), draw.box((2, 3, k)), codes, scales, None, None, bias]

    def reference(g, x, codes, scales, *_):
        # The low half of a byte comes first; the zero point is 8.
        values = np.stack([codes & 15, codes >> 4], -1).reshape(n, 2, 16).astype(scales.dtype) - 8
        dx = g @ (values * scales[..., None]).reshape(n, k)
        return (dx, g.sum((0, 1))) if bias else dx
    draw.op("matmul_nbits_grad", operands, reference, segments=operands, wanted=[1, 4] if bias else [1], k=k, n=n,
            bits=4, block_size=16)


# -- attention and recurrent cells -----------------------------------------------------


@ir_case
def attention(draw):
    b, h, s, t, d = (draw.integer(1, 2), draw.choice([1, 2]), draw.integer(1, 3), draw.integer(1, 4),
                     draw.choice([1, 4]))
    scale = draw.choice([0.1, 1, 4])
    q, k, v = (draw.box((b, h, rows, d), scale=size) for rows, size in ((s, scale), (t, scale), (t, scale_of(draw))))
    mask = draw.choice([None, draw.box((s, t), scale=5), draw.constant(np.tril(np.ones((s, t), bool)))])
    operands = [q, k, v, mask, draw.choice([None, draw.box((h, s, t), scale=2)]), None, None, None,
                draw.choice([None, draw.box((h,), scale=2)])]
    wanted = [0, 1, 2] + [3] * bool(mask and mask.type.endswith("f32>")) + [4] * bool(operands[4]) + \
        [8] * bool(operands[8])
    gradient(draw, "attention", draw.box((b, h, s, d), scale=scale_of(draw)), operands, wanted, segments=True,
             softcap=draw.choice([0.0, 2.0]), scale=draw.choice([0.0, 0.3]))


def sequences(draw, name, gates, functions, states, **attributes):
    steps, batch, inputs, hidden = draw.integer(1, 4), draw.integer(1, 2), draw.integer(1, 3), 2
    directions = draw.choice([1, 2])
    small = draw.choice([0.25, 1, 3])
    operands = [draw.box((steps, batch, inputs), scale=small), draw.weights((directions, gates * hidden, inputs)),
                draw.choice([draw.weights((directions, gates * hidden, hidden)),
                             draw.box((directions, gates * hidden, hidden), scale=small)]),
                draw.choice([None, draw.box((directions, 2 * gates * hidden), scale=small)]), None,
                *(draw.box((directions, batch, hidden), scale=draw.choice([0.5, 4])) for _ in range(states))]
    if states > 1:
        operands.append(draw.choice([None, draw.box((directions, 3 * hidden), scale=0.5)]))
    grads = [draw.box((steps, directions, batch, hidden)),
             *(draw.choice([None, draw.box((directions, batch, hidden))]) for _ in range(states))]
    wanted = [place for place, operand in enumerate(operands) if operand]
    gradient(draw, name, grads, operands, wanted, segments=True, hidden_size=hidden,
             activations=functions * directions, direction="bidirectional" if directions == 2 else "forward",
             **attributes)


@ir_case
def recurrent(draw):
    sequences(draw, "rnn", 1, [draw.choice(["Tanh", "Relu"])], 1)
    sequences(draw, "lstm", 4, ["Sigmoid", "Tanh", "Tanh"], 2, input_forget=bool(draw.integer(0, 1)))
    sequences(draw, "gru", 3, ["Sigmoid", "Tanh"], 1, linear_before_reset=bool(draw.integer(0, 1)))


@ir_case
def cells(draw):
    batch, inputs, hidden = draw.integer(1, 3), draw.integer(1, 3), 2
    small = draw.choice([0.25, 1, 3])

    def cell(name, gates, state, **attributes):
        operands = [draw.box((batch, inputs), scale=small),
                    *(draw.box((batch, hidden), scale=draw.choice([0.5, 4])) for _ in range(state)),
                    draw.box((gates * hidden, inputs), scale=small), draw.weights((gates * hidden, hidden)),
                    *draw.choice([[None, None], [draw.box((gates * hidden,), scale=small) for _ in range(2)]])]
        grads = [draw.box((batch, hidden)) for _ in range(state)]
        wanted = [place for place, operand in enumerate(operands) if operand]
        gradient(draw, name, grads if state > 1 else grads[0], operands, wanted, segments=True, **attributes)
    cell("rnn_cell", 1, 1, activation=draw.choice(["tanh", "relu"]))
    cell("lstm_cell", 4, 2)
    cell("gru_cell", 3, 1)


# -- relations -------------------------------------------------------------------------


@ir_case
def rows_over_their_norm(draw):
    """The part of dX that goes through s, in the order in which a chain of small ops has it."""
    shape, epsilon = draw.choice([(2, 5), (3, 1, 4), (1, 16)]), draw.choice([1e-12, 1e-5, 1e-2])
    x, g = draw.box(shape, scale=draw.choice([1e-4, 0.5, 20])), draw.box(shape, scale=scale_of(draw))
    kept, row = {"axes": [len(shape) - 1], "keep_dims": True}, (-1,)
    one, two, n = (draw.constant(np.float32(value)) for value in (1, 2, shape[-1]))
    squares = draw.op("mul", [x, x], np.multiply)
    mean = draw.op("reduce_mean", [squares], lambda v: np.mean(v, row, keepdims=True), **kept)
    scale = draw.op("sqrt", [draw.op("add", [mean, draw.constant(np.float32(epsilon))], np.add)], np.sqrt)
    inner = draw.op("reduce_sum", [draw.op("mul", [g, x], np.multiply)], lambda v: np.sum(v, row, keepdims=True),
                    **kept)
    inverse = draw.op("div", [draw.op("div", [one, scale], np.divide), scale], np.divide)
    by_scale = draw.op("mul", [draw.op("neg", [inner], np.negative), inverse], np.multiply)
    by_mean = draw.op("div", [by_scale, draw.op("mul", [scale, two], np.multiply)], np.divide)
    each = draw.op("div", [by_mean, n], np.divide)
    if draw.integer(0, 1):
        each = draw.op("expand", [each, draw.constant(np.array(shape))], lambda v, to: np.broadcast_to(v, to).copy())
    draw.op("mul", [each, draw.op("mul", [x, two], np.multiply)], np.multiply)
