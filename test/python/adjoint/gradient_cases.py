"""One small graph for each form of each op that has a gradient. A case gets a Graph and
returns the name of its result."""

import numpy as np

CASES = {}


def case(function):
    assert function.__name__ not in CASES
    CASES[function.__name__] = function
    return function


def one(name, draw, **attributes):
    """A case of an op of one operand."""
    label = "_".join([name, *(key if value is None else str(value).replace("-", "m")
                              for key, value in attributes.items())])
    label = "".join(sign if sign.isalnum() else "_" for sign in label)
    assert label not in CASES, label
    CASES[label] = lambda g: g.op(name, draw(g), **attributes)


def away(*shape):
    return lambda g: g.away(*shape)


def between(low, high, *shape):
    return lambda g: g.uniform(low, high, *shape)


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


# -- shapes ----------------------------------------------------------------------------


@case
def reshape(g):
    return g.op("reshape", g.normal(2, 6), g.ints([3, -1]))


one("flatten", away(2, 3, 4), axis=2)
one("transpose", away(2, 3, 4), perm=[2, 0, 1])
CASES["transpose_plain"] = lambda g: g.op("transpose", g.normal(2, 3, 4))
one("squeeze", away(2, 1, 3, 1), axes=[1])
one("unsqueeze", away(2, 3), axes=[0, 3])
one("reverse", away(2, 3, 4), axes=[0, 2])
one("roll", away(2, 3, 4), shifts=[1, -2], axes=[0, 2])
one("roll", away(2, 3), shifts=[2])
one("trilu", away(2, 3, 4), k=1, upper=True)
one("trilu", away(3, 4), upper=False)
one("det", away(2, 3, 3))
one("depth_to_space", away(1, 8, 2, 3), block_size=2)
one("depth_to_space", away(1, 8, 2, 3), block_size=2, mode="CRD")
one("space_to_depth", away(1, 2, 4, 6), block_size=2)
one("space_to_depth", away(1, 2, 4, 6), block_size=2, mode="CRD")
one("im2col", away(1, 2, 4, 5), kernel_shape=[2, 3], pads=[1, 0, 1, 0], strides=[1, 2])
one("identity", away(2, 3))


@case
def col2im(g):
    return g.op("col2im", g.normal(1, 12, 6), g.ints([3, 4]), g.ints([2, 2]))


@case
def expand(g):
    return g.op("expand", g.normal(3, 1), g.ints([2, 3, 4]))


@case
def tile(g):
    return g.op("tile", g.normal(2, 3), g.ints([3, 2]))


@case
def concat(g):
    x = g.normal(2, 3)
    return g.op("concat", x, g.normal(2, 1), x, axis=1)


@case
def split(g):
    parts = g.op("split", g.normal(2, 7), axis=1, sizes=[2, 4, 1])
    return g.op("mul", parts[0], parts[2])


@case
def slice(g):
    return g.op("slice", g.normal(4, 6, 3), starts=[-1, 1], ends=[-5, 6], axes=[0, 1], steps=[-2, 3])


@case
def slice_by_operand(g):
    return g.op("slice", g.normal(4, 6), g.ints([1]), g.ints([3]), g.ints([1]))


@case
def pad(g):
    return g.op("pad", g.normal(2, 4), None, g.normal(), pads=[1, -1, 0, 2])


@case
def pad_axes(g):
    return g.op("pad", g.normal(2, 3, 4), g.ints([1, 2]), None, g.ints([2]))


for _mode in ("reflect", "edge", "wrap"):
    CASES[f"pad_{_mode}"] = lambda g, m=_mode: g.op("pad", g.normal(3, 4), pads=[1, 2, 2, 1], mode=m)


@case
def center_crop_pad(g):
    return g.op("center_crop_pad", g.normal(5, 4), g.ints([2, 7]))


@case
def tensor_scatter(g):
    return g.op("tensor_scatter", g.normal(2, 5, 3), g.normal(2, 2, 3), axis=1)


@case
def tensor_scatter_at(g):
    past = g.normal(2, 5, 3)
    return g.op("tensor_scatter", past, g.constant(np.ones((2, 2, 3))), g.ints([1, 3]), axis=1, mode="circular")


@case
def reverse_sequence(g):
    return g.op("reverse_sequence", g.normal(4, 3, 2), g.ints([2, 4, 1]))


@case
def one_hot(g):
    return g.op("one_hot", g.ints([1, 0, 2]), g.constant(np.int64(4)), g.normal(2))


@case
def affine_grid(g):
    return g.op("affine_grid", g.normal(2, 2, 3), g.ints([2, 1, 3, 4]), align_corners=None)


@case
def affine_grid_3d(g):
    return g.op("affine_grid", g.normal(2, 3, 4), g.ints([2, 1, 2, 3, 2]))


for _mode in ("nearest", "linear", "cubic"):
    CASES[f"resize_{_mode}"] = lambda g, m=_mode: g.op(
        "resize", g.normal(1, 2, 3, 4), None, None, g.ints([5, 3]), mode=m, axes=[2, 3])


@case
def resize_corners(g):
    return g.op("resize", g.normal(1, 1, 3, 4), None, None, g.ints([1, 1, 5, 3]), mode="linear",
                coordinate_transformation="align_corners")


@case
def grid_sample(g):
    return g.op("grid_sample", g.normal(1, 2, 4, 5), g.uniform(-0.93, 0.91, 1, 3, 2, 2))


@case
def grid_sample_border(g):
    return g.op("grid_sample", g.normal(1, 2, 4, 5), g.uniform(-1.4, 1.3, 1, 3, 2, 2), padding_mode="border",
                align_corners=None)


one("dft", away(2, 5, 2), axis=1)
one("dft", away(2, 5, 1), axis=1, onesided=None)
one("dft", away(2, 4, 2), axis=1, inverse=None)


# -- indexing --------------------------------------------------------------------------


@case
def gather(g):
    return g.op("gather", g.normal(3, 4, 2), g.ints([[0, 3], [3, -1]]), axis=1)


@case
def embedding(g):
    return g.op("embedding", g.normal(5, 3), g.ints([[1, 4], [1, 0]]), padding_index=1)


@case
def gather_elements(g):
    return g.op("gather_elements", g.normal(3, 4), g.ints([[0, 0, 3], [1, 2, 2]]), axis=1)


@case
def gather_nd(g):
    return g.op("gather_nd", g.normal(2, 3, 4), g.ints([[[0, 1]], [[2, 1]]]), batch_dims=1)


for _how in ("none", "add"):
    CASES[f"scatter_elements_{_how}"] = lambda g, h=_how: g.op(
        "scatter_elements", g.normal(3, 4), g.ints([[0, 3], [1, 2]]), g.normal(2, 2), axis=1, reduction=h)
    CASES[f"scatter_nd_{_how}"] = lambda g, h=_how: g.op(
        "scatter_nd", g.normal(3, 4), g.ints([[0], [2]]), g.normal(2, 4), reduction=h)


@case
def masked_fill(g):
    return g.op("masked_fill", g.normal(2, 3), g.constant(np.array([True, False, True])), g.normal())


@case
def compress(g):
    return g.op("compress", g.normal(3, 4), g.constant(np.array([True, False, True, False])), axis=1)


@case
def compress_flat(g):
    return g.op("compress", g.normal(2, 3), g.constant(np.array([True, False, True, False, True, True])))


@case
def dropout(g):
    return g.op("dropout", g.normal(4, 5), training=None, ratio=0.3)[0]


@case
def dropout_off(g):
    x = g.normal(2, 3)
    g.lines.append(f'%d = "mp.dropout"({x}) <{{operandSegmentSizes = array<i32: 1, 0, 0>}}> : '
                   "(tensor<2x3xf64>) -> tensor<2x3xf64>")
    g.values["%d"] = g.values[x] * 1
    return "%d"


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


# -- attention -------------------------------------------------------------------------


@case
def attention(g):
    return g.op("attention", g.normal(1, 2, 3, 4), g.normal(1, 2, 5, 4), g.normal(1, 2, 5, 3))


@case
def attention_causal(g):
    return g.op("attention", g.normal(1, 3, 8), g.normal(1, 3, 8), g.normal(1, 3, 8), None, g.normal(3, 3),
                num_heads=2, is_causal=None, scale=0.3, softcap=2.0)


@case
def attention_groups(g):
    return g.op("attention", g.normal(1, 3, 8), g.normal(1, 5, 4), g.normal(1, 5, 4), g.normal(3, 5), num_heads=4,
                kv_num_heads=2)


@case
def attention_masked(g):
    mask = np.tril(np.ones((3, 3), bool))
    return g.op("attention", g.normal(2, 3, 4), g.normal(2, 3, 4), g.normal(2, 3, 4), g.constant(mask))


@case
def attention_sink(g):
    return g.op("attention", g.normal(1, 2, 3, 4), g.normal(1, 2, 3, 4), g.normal(1, 2, 3, 4), None, None,
                g.normal(1, 2, 2, 4), g.normal(1, 2, 2, 4), None, g.normal(2), left_window=2)


for _interleaved in (False, True):
    CASES[f"rotary_{_interleaved}"] = lambda g, i=_interleaved: g.op(
        "rotary_embedding", g.normal(1, 2, 3, 6), g.input(np.cos(np.arange(10.0)).reshape(5, 2), False),
        g.input(np.sin(np.arange(10.0)).reshape(5, 2), False), g.ints([[0, 4, 2]]), interleaved=i, rotary_dim=4)


# -- recurrent networks ----------------------------------------------------------------


def network(name, gates, activations, more=0, **attributes):
    directions = 2 if attributes.get("direction") == "bidirectional" else 1

    def build(g):
        operands = [g.normal(3, 2, 3), g.normal(directions, gates * 4, 3, scale=0.5),
                    g.normal(directions, gates * 4, 4, scale=0.5), g.normal(directions, gates * 8, scale=0.3), None,
                    g.normal(directions, 2, 4)]
        operands += [g.normal(directions, 2, 4)] * (more > 0)
        operands += [g.normal(directions, 12)] * (more > 1)
        made = g.op(name, *operands, hidden_size=4, activations=activations * directions, **attributes)
        return g.op("add", g.op("reduce_sum", made[0], axes=[], keep_dims=False),
                    g.op("square", made[-1]))
    CASES["_".join([name, *map(str, attributes.values())])] = build


network("rnn", 1, ["Tanh"])
network("rnn", 1, ["Relu"], direction="reverse")
network("lstm", 4, ["Sigmoid", "Tanh", "Tanh"], more=1)
network("lstm", 4, ["Sigmoid", "Tanh", "Tanh"], more=2, direction="bidirectional")
network("gru", 3, ["Sigmoid", "Tanh"], linear_before_reset=True)
network("gru", 3, ["Sigmoid", "Tanh"], direction="bidirectional")


@case
def lstm_output_only(g):
    return g.op("lstm", g.normal(2, 1, 2), g.normal(1, 12, 2), g.normal(1, 12, 3), hidden_size=3,
                activations=["Sigmoid", "Tanh", "Tanh"])[0]


@case
def rnn_cell(g):
    return g.op("rnn_cell", g.normal(2, 3), g.normal(2, 4), g.normal(4, 3), g.normal(4, 4), g.normal(4), g.normal(4))


@case
def lstm_cell(g):
    h, c = g.op("lstm_cell", g.normal(2, 3), g.normal(2, 4), g.normal(2, 4), g.normal(16, 3), g.normal(16, 4),
                g.normal(16), None)
    return g.op("mul", h, c)


@case
def lstm_cell_state(g):
    return g.op("lstm_cell", g.normal(2, 3), g.normal(2, 4), g.normal(2, 4), g.normal(16, 3), g.normal(16, 4))[1]


@case
def gru_cell(g):
    return g.op("gru_cell", g.normal(2, 3), g.normal(2, 4), g.normal(12, 3), g.normal(12, 4), g.normal(12), g.normal(12))


# -- quantisation ----------------------------------------------------------------------


@case
def fake_quantize(g):
    return g.op("fake_quantize", g.normal(3, 4, scale=2), g.constant(0.3), quant_min=-4, quant_max=5)


@case
def fake_quantize_by_channel(g):
    return g.op("fake_quantize", g.normal(3, 4, scale=2), g.constant(np.array([0.1, 0.2, 0.5, 1.0])),
                g.constant(np.array([0, 1, 0, -1])), quant_min=-4, quant_max=5, axis=1)


# -- training --------------------------------------------------------------------------


@case
def loss_scale(g):
    return g.op("loss_scale", g.normal(2, 3), g.constant(8.0), divide=True)


@case
def global_norm(g):
    return g.op("global_norm", g.normal(2, 3), g.normal(4))


# -- graphs ----------------------------------------------------------------------------


@case
def fan_out(g):
    x = g.normal(3, 4)
    y = g.op("tanh", x)
    return g.op("add", g.op("mul", y, x), g.op("matmul", y, g.op("transpose", y, perm=[1, 0]), trans_a=False)
                if False else g.op("exp", y))


@case
def dead_branch(g):
    x = g.normal(2, 3)
    g.op("log", g.op("square", x))
    return g.op("sin", x)
