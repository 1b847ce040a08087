"""PyTorch ops as mp ops: one snippet an op, for test_autocast_observed.py.

A snippet is an mp op, its operand types with T for the dtype under test, and
whatever it needs besides. An operand type that starts with '=' is a constant of
one element, as exporters write Python numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Snippet:
    op: str
    operands: tuple[str, ...]
    results: tuple[str, ...] = ("T",)
    attrs: str = ""
    # How operands are written, where the op has keywords.
    words: str = ""
    # Devices on which the op stands for something else than this aten op.
    except_on: tuple[str, ...] = field(default=())

    def get_text(self, name: str, dtype: str) -> str:
        arguments, constants, values, types = [], [], [], []
        for index, operand in enumerate(self.operands):
            tensor = f"tensor<{operand.lstrip('=').replace('T', dtype)}>"
            values.append(f"%{index}")
            types.append(tensor)
            if operand.startswith("="):
                constants.append(f"  %{index} = mp.constant dense<2.0> : {tensor}\n")
            else:
                arguments.append(f"%{index}: {tensor}")
        results = [f"tensor<*x{result.replace('T', dtype)}>" for result in self.results]
        words = self.words.format(*values) if self.words else ", ".join(values)
        named = "%r" if len(results) == 1 else f"%r:{len(results)}"
        used = ["%r"] if len(results) == 1 else [f"%r#{i}" for i in range(len(results))]
        attrs = f" {{{self.attrs}}}" if self.attrs else ""
        listed = ", ".join(results)
        return (f"func.func @{name}({', '.join(arguments)}) -> ({listed}) {{\n"
                + "".join(constants)
                + f"  {named} = mp.{self.op} {words}{attrs}"
                f" : ({', '.join(types)}) -> ({listed})\n"
                f"  return {', '.join(used)} : {listed}\n}}\n")


def unary(*names: str, **more: str) -> dict[str, Snippet]:
    return {name: Snippet(more.get(name, name), ("4x8xT",)) for name in names}


def binary(result: str = "T", **ops: str) -> dict[str, Snippet]:
    return {name: Snippet(op, ("4x8xT", "4x8xT"), (result,)) for name, op in ops.items()}


def reduce(attrs: str = "", result: str = "T", **ops: str) -> dict[str, Snippet]:
    return {name: Snippet(op, ("4x8xT",), (result,), attrs) for name, op in ops.items()}


def loss(*names: str, target: str = "4x8xT", **renamed: str) -> dict[str, Snippet]:
    ops = {f"nn.functional.{name}": name for name in names}
    return {name: Snippet(op, ("4x8xT", target)) for name, op in {**ops, **renamed}.items()}


def conv(dims: int) -> dict[str, Snippet]:
    spatial = "x5" * dims
    operands = (f"2x3{spatial}xT", f"3x3{'x3' * dims}xT", "3xT")
    words = "{0}, {1} bias {2}"
    return {f"nn.functional.conv{dims}d": Snippet("conv", operands, words=words),
            f"nn.functional.conv_transpose{dims}d":
                Snippet("conv_transpose", operands, words=words)}


def pool(dims: int) -> dict[str, Snippet]:
    data = ("2x3" + "x6" * dims + "xT",)
    kernel = "kernel_shape = array<i64: " + ", ".join(["2"] * dims) + ">"
    size = "output_size = array<i64: " + ", ".join(["3"] * dims) + ">"
    return {f"nn.functional.avg_pool{dims}d": Snippet("average_pool", data, attrs=kernel),
            f"nn.functional.max_pool{dims}d": Snippet("max_pool", data, ("T", "i64"), kernel),
            f"nn.functional.max_unpool{dims}d":
                Snippet("max_unpool", data + (data[0].replace("T", "i64"),), attrs=kernel),
            f"nn.functional.adaptive_avg_pool{dims}d":
                Snippet("adaptive_avg_pool", data, attrs=size),
            f"nn.functional.adaptive_max_pool{dims}d":
                Snippet("adaptive_max_pool", data, attrs=size)}


def interpolate(dims: int, mode: str, *names: str) -> dict[str, Snippet]:
    data = "2x3" + "x6" * dims + "xT"
    snippet = Snippet("resize", (data, f"{dims + 2}xi64"), attrs=f'mode = "{mode}"',
                      words="{0} sizes {1}")
    return dict.fromkeys((f"nn.functional.{name}" for name in names), snippet)


def fft(attrs: str, operand: str, *names: str) -> dict[str, Snippet]:
    return {f"fft.{name}": Snippet("dft", (operand,), attrs=attrs) for name in names}


ROW = "axis = 1 : i64"
NORM = ("2x4x8xT", "8xT", "8xT")
CHANNELS = ("2x4x8xT", "4xT", "4xT")

SNIPPETS: dict[str, Snippet] = {
    # Elementwise.
    **unary("abs", "neg", "sign", "floor", "ceil", "round", "trunc", "sqrt", "rsqrt",
            "reciprocal", "square", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
            "acosh", "atanh", "erf", "erfc", "erfinv", "sigmoid", "clone",
            clone="identity"),
    "__rdiv__": Snippet("reciprocal", ("4x8xT",)),
    "isnan": Snippet("is_nan", ("4x8xT",), ("i1",)),
    "isfinite": Snippet("is_finite", ("4x8xT",), ("i1",)),
    "isinf": Snippet("is_inf", ("4x8xT",), ("i1",)),
    **binary(add="add", sub="sub", mul="mul", true_divide="div", atan2="atan2", pow="pow",
             maximum="max", minimum="min", fmod="mod", floor_divide="floor_div"),
    **binary("i1", eq="equal", ne="not_equal", lt="less", le="less_equal", gt="greater",
             ge="greater_equal"),
    "__rpow__": Snippet("pow", ("=T", "4x8xT")),
    "__radd__": Snippet("add", ("4x8xT", "=T")),
    "__rmul__": Snippet("mul", ("4x8xT", "=T")),
    "__rsub__": Snippet("sub", ("=T", "4x8xT")),
    "addcmul": Snippet("addcmul", ("4x8xT", "4x8xT", "4x8xT")),
    "addcdiv": Snippet("addcdiv", ("4x8xT", "4x8xT", "4x8xT")),
    "lerp": Snippet("lerp", ("4x8xT", "4x8xT", "4x8xT")),
    "where": Snippet("where", ("4x8xi1", "4x8xT", "4x8xT")),
    "clamp": Snippet("clip", ("4x8xT", "=T", "=T"), words="{0} min {1} max {2}"),
    # Activations.
    **{f"nn.functional.{name}": Snippet(op, ("4x8xT",)) for name, op in {
        "relu": "relu", "relu6": "relu6", "leaky_relu": "leaky_relu",
        "hardsigmoid": "hard_sigmoid", "hardswish": "hard_swish", "hardtanh": "hard_tanh",
        "elu": "elu", "celu": "celu", "selu": "selu", "logsigmoid": "log_sigmoid",
        "softplus": "softplus", "softsign": "softsign", "tanhshrink": "tanh_shrink",
        "mish": "mish", "silu": "silu", "gelu": "gelu"}.items()},
    "nn.functional.prelu": Snippet("prelu", ("2x4x8xT", "4x1xT")),
    "softmax": Snippet("softmax", ("4x8xT",), attrs=ROW),
    "log_softmax": Snippet("log_softmax", ("4x8xT",), attrs=ROW),
    "nn.functional.softmin": Snippet("softmin", ("4x8xT",), attrs=ROW),
    # Reductions and scans.
    **reduce(sum="reduce_sum", sum_to_size="reduce_sum", mean="reduce_mean",
             amax="reduce_max", amin="reduce_min", prod="reduce_prod",
             logsumexp="reduce_log_sum_exp", var="variance", std="std", norm="norm"),
    **reduce(**{"linalg.vector_norm": "norm", "linalg.norm": "reduce_l2",
                "norm|fro": "reduce_l2", "linalg.matrix_norm": "reduce_l2"}),
    "norm|inf": Snippet("norm", ("4x8xT",), attrs="ord = 0x7FF0000000000000 : f64"),
    **reduce("", "i1", all="reduce_all", any="reduce_any"),
    **reduce("", "i64", argmax="arg_max", argmin="arg_min", count_nonzero="count_nonzero"),
    **reduce(ROW, cumsum="cum_sum", cumprod="cum_prod"),
    "topk": Snippet("top_k", ("4x8xT",), ("T", "i64"), "k = 2 : i64"),
    "sort": Snippet("sort", ("4x8xT",), ("T", "i64")),
    # Moving data.
    "cat": Snippet("concat", ("4x8xT", "4x8xT"), attrs="axis = 0 : i64"),
    "stack": Snippet("concat", ("1x8xT", "1x8xT"), attrs="axis = 0 : i64"),
    "flip": Snippet("reverse", ("4x8xT",), attrs="axes = array<i64: 0>"),
    "transpose": Snippet("transpose", ("4x8xT",), attrs="perm = array<i64: 1, 0>"),
    "unsqueeze": Snippet("unsqueeze", ("4x8xT",), attrs="axes = array<i64: 0>"),
    "expand": Snippet("expand", ("1x8xT", "2xi64")),
    "reshape": Snippet("reshape", ("4x8xT", "1xi64")),
    "repeat": Snippet("tile", ("4x8xT", "2xi64")),
    "triu": Snippet("trilu", ("4x8xT",)),
    "gather": Snippet("gather_elements", ("4x8xT", "4x8xi64")),
    "index_select": Snippet("gather", ("4x8xT", "3xi64")),
    "scatter": Snippet("scatter_elements", ("4x8xT", "4x8xi64", "4x8xT")),
    "index_put": Snippet("scatter_nd", ("4x8xT", "3x1xi64", "3x8xT")),
    "masked_fill": Snippet("masked_fill", ("4x8xT", "4x8xi1", "=T")),
    "nn.functional.embedding": Snippet("embedding", ("4x8xT", "3xi64")),
    "nn.functional.dropout": Snippet("dropout", ("4x8xT",)),
    "bernoulli": Snippet("bernoulli", ("4x8xT",)),
    "nn.functional.pixel_shuffle":
        Snippet("depth_to_space", ("2x4x3x3xT",), attrs="block_size = 2 : i64"),
    **{f"nn.functional.pad|{name}":
       Snippet("pad", ("2x3x6x6xT",),
               attrs=f'mode = "{mode}", pads = array<i64: 0, 0, 1, 1, 0, 0, 1, 1>')
       for name, mode in {"reflect": "reflect", "replicate": "edge",
                          "constant": "constant"}.items()},
    **interpolate(2, "nearest", "interpolate|nearest", "interpolate|nearest-exact",
                  "upsample_nearest"),
    **interpolate(1, "linear", "interpolate|linear"),
    **interpolate(2, "linear", "interpolate|bilinear", "upsample_bilinear"),
    **interpolate(3, "linear", "interpolate|trilinear"),
    **interpolate(2, "cubic", "interpolate|bicubic"),
    "nn.functional.grid_sample": Snippet("grid_sample", ("2x3x6x6xT", "2x4x4x2xT")),
    "grid_sampler_2d": Snippet("grid_sample", ("2x3x6x6xT", "2x4x4x2xT")),
    "grid_sampler_3d": Snippet("grid_sample", ("2x3x6x6x6xT", "2x4x4x4x3xT")),
    **fft("", "2x8x2xT", "fft", "fft2", "fftn"),
    **fft("inverse", "2x8x2xT", "ifft", "ifft2", "ifftn"),
    **fft("onesided", "2x8x1xT", "rfft", "rfft2", "rfftn"),
    **fft("inverse, onesided", "2x5x2xT", "irfft", "irfft2", "irfftn"),
    # Products.
    "matmul": Snippet("matmul", ("2x4x8xT", "2x8x4xT")),
    "__rmatmul__": Snippet("matmul", ("2x4x8xT", "2x8x4xT")),
    "bmm": Snippet("matmul", ("2x4x8xT", "2x8x4xT")),
    "bmm|triton_optimized": Snippet("matmul", ("2x4x8xT", "2x8x4xT")),
    "mm": Snippet("matmul", ("4x8xT", "8x4xT")),
    "mv": Snippet("matmul", ("4x8xT", "8xT"), except_on=("cpu",)),
    "linalg.multi_dot": Snippet("matmul", ("4x8xT", "8x4xT")),
    "addmm": Snippet("gemm", ("4x8xT", "8x4xT", "4x4xT"), words="{0}, {1} bias {2}"),
    "addmm|decomposed": Snippet("gemm", ("4x8xT", "8x4xT", "4x4xT"),
                                words="{0}, {1} bias {2}"),
    "nn.functional.linear": Snippet("linear", ("4x8xT", "3x8xT", "3xT"),
                                    words="{0}, {1} bias {2}"),
    "nn.functional.bilinear": Snippet("bilinear", ("4x8xT", "4x6xT", "3x8x6xT")),
    # The observed sample has one operand; only a pair of them goes through bmm,
    # which is what CPU autocast lists.
    "einsum": Snippet("einsum", ("4x8xT", "8x4xT"), attrs='equation = "ij,jk->ik"',
                      except_on=("cpu",)),
    "tensordot": Snippet("einsum", ("4x8xT", "8x4xT"), attrs='equation = "ij,jk->ik"',
                         except_on=("cuda",)),
    **conv(1), **conv(2), **conv(3), **pool(1), **pool(2), **pool(3),
    "nn.functional.scaled_dot_product_attention":
        Snippet("attention", ("2x2x4x8xT", "2x2x4x8xT", "2x2x4x8xT")),
    # Norms.
    "nn.functional.layer_norm": Snippet("layer_norm", NORM, words="{0} scale {1} bias {2}"),
    "native_layer_norm": Snippet("layer_norm", NORM, ("T", "f32", "f32"),
                                 words="{0} scale {1} bias {2}", except_on=("cpu",)),
    "nn.functional.rms_norm": Snippet("rms_norm", ("4x8xT", "8xT"), words="{0} scale {1}"),
    "nn.functional.group_norm": Snippet("group_norm", CHANNELS, attrs="num_groups = 2 : i64",
                                        words="{0} scale {1} bias {2}"),
    "nn.functional.instance_norm": Snippet("instance_norm", CHANNELS,
                                           words="{0} scale {1} bias {2}"),
    "nn.functional.batch_norm": Snippet(
        "batch_norm", CHANNELS + ("4xT", "4xT"),
        words="{0} scale {1} bias {2} mean {3} variance {4}"),
    "nn.functional.local_response_norm": Snippet("lrn", ("2x4x8xT",), attrs="size = 3 : i64"),
    "nn.functional.normalize": Snippet("lp_normalize", ("4x8xT",)),
    # Losses and distances.
    **loss("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
           "poisson_nll_loss", "soft_margin_loss", "hinge_embedding_loss",
           "binary_cross_entropy_with_logits", "binary_cross_entropy",
           "cosine_similarity"),
    **loss("cross_entropy", "nll_loss", "multi_margin_loss", target="4xi64"),
    **loss("multilabel_margin_loss", target="4x8xi64"),
    "nn.functional.margin_ranking_loss":
        Snippet("margin_ranking_loss", ("4xT", "4xT", "4xT")),
    "nn.functional.cosine_embedding_loss":
        Snippet("cosine_embedding_loss", ("4x8xT", "4x8xT", "4xi64")),
    "nn.functional.triplet_margin_loss":
        Snippet("triplet_margin_loss", ("4x8xT", "4x8xT", "4x8xT")),
    "nn.functional.pdist": Snippet("pdist", ("4x8xT",)),
    "cdist": Snippet("cdist", ("4x8xT", "3x8xT")),
    "dist": Snippet("dist", ("4x8xT", "4x8xT")),
    "renorm": Snippet("renorm", ("4x8xT",),
                      attrs="axis = 0 : i64, max_norm = 1.0 : f64, p = 2.0 : f64"),
}
