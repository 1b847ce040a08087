"""Movement, interpolation and indexing."""

import numpy as np
from gradient_cases import CASES, away, case, one

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
