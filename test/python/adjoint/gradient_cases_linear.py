"""Products, pools and normalisations."""

import numpy as np
from gradient_cases import CASES, away, between, case, one

# -- products --------------------------------------------------------------------------

for _index, (_left, _right) in enumerate((((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)),
                                          ((2, 1, 4, 3), (5, 3, 2)), ((2, 4, 3), (3,)), ((3,), (2, 3, 4)))):
    CASES[f"matmul_{_index}"] = lambda g, a=_left, b=_right: g.op("matmul", g.normal(*a), g.normal(*b), alpha=0.7)
for _a in (False, True):
    for _b in (False, True):
        CASES[f"matmul_{_a}_{_b}"] = lambda g, a=_a, b=_b: g.op(
            "matmul", g.normal(2, *((4, 3) if a else (3, 4))), g.normal(*((5, 4) if b else (4, 5))),
            trans_a=a, trans_b=b)
        CASES[f"gemm_{_a}_{_b}"] = lambda g, a=_a, b=_b: g.op(
            "gemm", g.normal(*((4, 3) if a else (3, 4))), g.normal(*((5, 4) if b else (4, 5))), g.normal(5),
            trans_a=a, trans_b=b, alpha=0.5, beta=1.5)


for _swap in (False, True):
    CASES[f"matmul_folded_{_swap}"] = lambda g, s=_swap: g.op(
        "matmul", g.normal(2, 3, 4), g.normal(*((5, 4) if s else (4, 5))), trans_b=s, alpha=0.7)


@case
def linear(g):
    return g.op("linear", g.normal(2, 3, 4), g.normal(5, 4), g.normal(5))


@case
def linear_row(g):
    return g.op("linear", g.normal(2, 3, 4), g.normal(4))


@case
def bilinear(g):
    return g.op("bilinear", g.normal(2, 3, 4), g.normal(2, 3, 5), g.normal(6, 4, 5), g.normal(6))


for _equation, *_shapes in (("ij,jk->ik", (2, 3), (3, 4)), ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
                            ("ij->j", (2, 3)), ("ii->i", (3, 3)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
                            ("i,j,k->ijk", (2,), (3,), (4,)), ("ij,ij->", (2, 3), (2, 3)), ("ijj,i->j", (2, 3, 3), (2,)),
                            ("bshd,bthd->bhst", (1, 2, 2, 3), (1, 4, 2, 3))):
    CASES["einsum_" + "".join(s if s.isalnum() else "_" for s in _equation)] = \
        lambda g, e=_equation, s=tuple(_shapes): g.op("einsum", *(g.normal(*shape) for shape in s), equation=e)


@case
def conv(g):
    return g.op("conv", g.normal(2, 3, 5, 6), g.normal(4, 3, 3, 2), g.normal(4), strides=[2, 1], pads=[1, 0, 1, 1],
                dilations=[1, 2])


@case
def conv_groups(g):
    return g.op("conv", g.normal(2, 4, 7), g.normal(6, 2, 3), None, group=2, auto_pad="SAME_UPPER")


@case
def conv_uncovered(g):
    return g.op("conv", g.normal(1, 1, 6), g.normal(1, 1, 2), None, strides=[3])


@case
def conv_transpose(g):
    return g.op("conv_transpose", g.normal(2, 3, 4, 3), g.normal(3, 2, 3, 2), g.normal(2), strides=[2, 1],
                pads=[1, 0, 0, 1], output_padding=[1, 0])


@case
def conv_transpose_groups(g):
    return g.op("conv_transpose", g.normal(2, 4, 5), g.normal(4, 3, 3), None, strides=[2], dilations=[2], group=2)

# -- pools -----------------------------------------------------------------------------

_WINDOW = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 0, 1]}
one("max_pool", lambda g: g.distinct(2, 2, 4, 5), **_WINDOW)
one("average_pool", away(2, 2, 4, 5), **_WINDOW)
one("average_pool", away(2, 2, 4, 5), **_WINDOW, count_include_pad=True)
one("lp_pool", away(2, 2, 4, 5), **_WINDOW, p=3.0)
one("adaptive_avg_pool", away(2, 2, 5, 4), output_size=[3, 2])
one("adaptive_max_pool", lambda g: g.distinct(2, 2, 5, 4), output_size=[3, 2])
one("global_average_pool", away(2, 3, 4, 2))
one("global_max_pool", lambda g: g.distinct(2, 3, 4, 2))
one("global_lp_pool", away(2, 3, 4, 2), p=3.0)


@case
def max_unpool(g):
    return g.op("max_unpool", g.normal(1, 1, 2, 2), g.ints([[[[1, 3], [8, 14]]]]), g.ints([1, 1, 4, 4]),
                kernel_shape=[2, 2], strides=[2, 2])

# -- normalisations --------------------------------------------------------------------


@case
def layer_norm(g):
    return g.op("layer_norm", g.normal(2, 3, 4), g.normal(4), g.normal(4), axis=-1, epsilon=1e-3)


@case
def layer_norm_two_axes(g):
    return g.op("layer_norm", g.normal(2, 3, 4), g.normal(3, 4), None, axis=1)


@case
def layer_norm_plain(g):
    return g.op("layer_norm", g.normal(2, 3, 4), None, None)


@case
def rms_norm(g):
    return g.op("rms_norm", g.normal(2, 3, 4), g.normal(4), epsilon=1e-3)


@case
def rms_norm_plain(g):
    return g.op("rms_norm", g.normal(2, 3, 4), axis=1)


@case
def batch_norm_training(g):
    return g.op("batch_norm", g.normal(3, 2, 4), g.normal(2), g.normal(2), None, None, training=True, epsilon=1e-3)


@case
def batch_norm_frozen(g):
    return g.op("batch_norm", g.normal(3, 2, 4), g.normal(2), g.normal(2), g.constant(np.array([0.1, -0.3])),
                g.constant(np.array([1.5, 0.4])), epsilon=1e-3)


@case
def batch_norm_by_statistics(g):
    return g.op("batch_norm", g.normal(3, 2, 4), g.normal(2), g.normal(2), g.normal(2), g.uniform(0.5, 2, 2), epsilon=1e-3)


@case
def batch_norm_by_statistics_alone(g):
    return g.op("batch_norm", g.normal(3, 2, 4), None, None, g.normal(2), g.uniform(0.5, 2, 2), epsilon=1e-3)


@case
def instance_norm(g):
    return g.op("instance_norm", g.normal(2, 3, 4, 2), g.normal(3), g.normal(3))


@case
def group_norm(g):
    return g.op("group_norm", g.normal(2, 6, 4), g.normal(6), g.normal(6), num_groups=3)


@case
def group_norm_by_group(g):
    return g.op("group_norm", g.normal(2, 4, 6), g.normal(3), g.normal(3), num_groups=3, channels_last=True)


one("lrn", away(2, 5, 3), size=3, alpha=0.5, beta=0.75, bias=1.0)
one("lrn", away(2, 5, 3), size=4, alpha=0.5)
one("lp_normalize", away(3, 4), axis=1, p=2.0, epsilon=1e-12)
one("lp_normalize", away(3, 4), axis=0, p=1.0)
one("lp_normalize", between(-0.1, 0.1, 3, 4), axis=1, epsilon=9.0)
one("mean_variance_norm", away(2, 3, 4), axes=[0, 2])
