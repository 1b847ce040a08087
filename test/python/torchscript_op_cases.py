# torchscript_op_cases.py - Expressions of aten ops, by family
#
# Part of mpopt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Each case is one expression over the inputs below. What PyTorch refuses is left
out: the lists name more combinations of dtypes than it has kernels for.
"""

# Name -> (dtype, shape); dtypes are torch's and MLIR's names.
DTYPES = {"f": "float32", "h": "float16", "b": "bfloat16", "d": "float64",
          "i": "int64", "j": "int32", "u": "uint8", "t": "bool"}
MLIR = {"float32": "f32", "float16": "f16", "bfloat16": "bf16",
        "float64": "f64", "int64": "i64", "int32": "i32", "uint8": "ui8",
        "bool": "i1", "int8": "i8", "int16": "i16"}
SHAPES = {"2": (2, 3), "0": (), "1": (3,), "s": (3, 3), "m": (3, 4),
          "c": (2, 4, 6, 6), "l": (2, 4, 7), "v": (2, 4, 5, 6, 6),
          "q": (2, 4, 5, 8), "B": (2, 3, 4), "D": (2, 4, 3)}

INPUTS = {f"{dtype}{shape}": (DTYPES[dtype], SHAPES[shape])
          for dtype, shapes in {"f": "201smclvqBD", "h": "201smclvqBD",
                                "b": "201smclvqB", "d": "20", "i": "201sm",
                                "j": "2", "u": "2", "t": "201"}.items()
          for shape in shapes}

# Every element of an input: numbers that tell the inputs apart, and legal classes.
NUMBER = {"f": 1.5, "h": 1.25, "b": 0.75, "d": 2.5, "i": 2, "j": 3, "u": 5,
          "t": 1}


def number_of(name):
    number = NUMBER[name[0]]
    if name == "ic" or name[0] == "t":
        return 1
    if name[1] == "0":
        return number / 2 if isinstance(number, float) else number + 1
    if name[1] == "1":
        return number * 0.375 if isinstance(number, float) else number + 2
    return number


DIMS = ["f2", "h2", "b2", "d2", "i2", "j2", "u2", "t2"]
ZERO = ["f0", "h0", "d0", "i0", "t0"]
ANY = DIMS + ["f0", "h0", "i0", "t0"]
FLOATS = ["f2", "h2", "b2", "f0", "h0"]
NUMBERS = ["2", "0.5", "True"]


def unary():
    names = """abs absolute neg negative sign sgn floor ceil trunc fix square
        sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan
        asin acos atan sinh cosh tanh asinh acosh atanh arcsin arccos arctan
        arcsinh arccosh arctanh erf erfc erfinv sigmoid logical_not bitwise_not
        isnan isfinite isinf isposinf isneginf positive deg2rad rad2deg frac
        signbit round logit nan_to_num special.expit special.exp2 special.expm1
        special.log1p special.erf special.erfc special.erfinv special.ndtr
        special.logit special.round relu selu celu rrelu
        hardshrink""".split()
    yield from (f"torch.{name}({x})" for name in names for x in ANY)
    for x in ANY:
        yield f"torch.round({x}, decimals=2)"
        yield f"torch.round({x}, decimals=-1)"
        yield f"torch.logit({x}, 1e-3)"
        yield f"torch.threshold({x}, 1.0, 0.0)"
        yield f"torch.threshold({x}, 1.0, 5.0)"
    for name in ["relu_", "exp_", "neg_", "sigmoid_", "abs_", "square_",
                 "logical_not_", "sqrt_", "round_"]:
        yield from (f"{x}.clone().{name}()" for x in ["f2", "h2", "i2", "t2"])


def binary():
    names = """add sub rsub mul div true_divide floor_divide remainder fmod pow
        float_power atan2 arctan2 maximum minimum fmax fmin eq ne lt le gt ge
        not_equal greater less_equal logical_and logical_or logical_xor
        bitwise_and bitwise_or bitwise_xor bitwise_left_shift
        bitwise_right_shift logaddexp logaddexp2 xlogy special.xlogy
        special.xlog1py ldexp max min multiply divide subtract""".split()
    pairs = [(x, y) for x in DIMS for y in DIMS + ZERO + NUMBERS]
    pairs += [(x, y) for x in ZERO for y in DIMS + ZERO + NUMBERS]
    pairs += [(x, y) for x in NUMBERS for y in ["f2", "h2", "i2", "t2", "h0"]]
    # All pairs for one op of each kind, every seventh for those that are alike.
    full = ["add", "mul", "div", "pow", "maximum", "eq"]
    for number, name in enumerate(names):
        chosen = pairs if name in full else pairs[number % 7::7]
        yield from (f"torch.{name}({x}, {y})" for x, y in chosen)
    for x, y in [("f2", "h2"), ("h2", "f0"), ("h2", "2.5"), ("i2", "2"),
                 ("i2", "f2"), ("t2", "i2")]:
        yield f"torch.add({x}, {y}, alpha=2)"
        yield f"torch.sub({x}, {y}, alpha=2)"
        yield f"torch.rsub({x}, {y}, alpha=2)"
        for mode in ["trunc", "floor"]:
            yield f"torch.div({x}, {y}, rounding_mode='{mode}')"
        yield f"torch.isclose({x}, {x})"
        yield f"torch.isclose({x}, {x}, equal_nan=True)"
        yield f"torch.copysign({x}, {y})"
        yield f"torch.heaviside({x}, {x})"
        for op in ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<",
                   ">>", "<", "=="]:
            yield f"{x} {op} {y}"
    # Numbers that a 16-bit float does not hold: kernels do not round them first.
    for x in ["h2", "b2", "hq", "h0"]:
        for number in ["1e-8", "1e6", "70000", "-3e-6", "0.1"]:
            for op in ["+", "-", "*", "/", "//", "%", "<", "=="]:
                yield f"{x} {op} {number}"
            yield f"{number} - {x}"
            yield f"{number} / {x}"
            yield f"torch.fmod({x}, {number})"
            yield f"torch.div({x}, {number}, rounding_mode='trunc')"
            yield f"{x} * 60000.0 * {number}"
    for name in ["add_", "mul_", "sub_", "div_", "pow_", "remainder_",
                 "logical_and_", "eq_"]:
        for x, y in [("f2", "h2"), ("h2", "f2"), ("h2", "2"), ("i2", "2"),
                     ("i2", "t2"), ("b2", "0.5")]:
            yield f"{x}.clone().{name}({y})"
    for name in ["__and__", "__or__", "__xor__", "__iand__", "__ior__",
                 "__ixor__", "__lshift__", "__irshift__"]:
        for x, y in [("i2", "i2"), ("i2", "3"), ("t2", "t2"), ("t2", "True")]:
            yield f"{x}.clone().{name}({y})"


def ternary():
    for x in ["f2", "h2", "b2", "i2", "t2", "f0", "h0"]:
        for low, high in [("0", "2"), ("0.5", "2"), ("None", "1.5"),
                          ("0", "None"), ("f0", "f2"), ("h2", "None")]:
            yield f"torch.clamp({x}, {low}, {high})"
            yield f"torch.clip({x}, {low}, {high})"
        for bound in ["1", "0.5", "f2", "h0", "i2"]:
            yield f"torch.clamp_min({x}, {bound})"
            yield f"torch.clamp_max({x}, {bound})"
        for y in ["f2", "h2", "i2", "i0", "h0", "2", "0.5", "True"]:
            yield f"torch.where(t2, {x}, {y})"
            yield f"torch.where(t2, {y}, {x})"
        for y, z in [("f2", "f2"), ("h2", "h2"), ("f2", "h0"), ("i2", "i2")]:
            yield f"torch.addcmul({x}, {y}, {z})"
            yield f"torch.addcmul({x}, {y}, {z}, value=2)"
            yield f"torch.addcdiv({x}, {y}, {z}, value=0.5)"
            yield f"torch.lerp({x}, {y}, 0.5)"
            yield f"torch.lerp({x}, {y}, {z})"
    for pair in ["1, 2", "1.0, 2.0", "1, 2.0", "True, False", "1.0, True"]:
        yield f"torch.where(t2, {pair})"


def conversion():
    names = ["float16", "bfloat16", "float32", "float64", "int64", "int32",
             "uint8", "bool"]
    for x in ["f2", "h2", "b2", "i2", "u2", "t2"]:
        for name in names:
            yield f"{x}.to(torch.{name})"
            yield f"{x}.to(torch.device('cpu'), torch.{name})"
        for method in ["half", "float", "double", "int", "long", "byte",
                       "char", "short"]:
            yield f"{x}.{method}()"
        for y in ["f2", "h0", "i2"]:
            yield f"{x}.to({y})"
            yield f"{x}.type_as({y})"
        yield f"{x}.to(torch.device('cpu'))"
        yield f"{x}.cpu()"
        yield f"{x}.to(torch.float32, copy=True)"


def activation():
    calls = """relu6 hardtanh hardswish hardsigmoid leaky_relu elu celu selu
        silu mish gelu softplus logsigmoid softsign tanhshrink hardshrink
        softshrink relu glu""".split()
    for x in ["f2", "h2", "b2", "f0", "h0", "i2"]:
        yield from (f"F.{name}({x})" for name in calls)
        yield f"F.hardtanh({x}, -2.0, 3.0)"
        yield f"F.leaky_relu({x}, 0.2)"
        yield f"F.elu({x}, 0.5)"
        yield f"F.celu({x}, 2.0)"
        yield f"F.gelu({x}, approximate='tanh')"
        yield f"F.softplus({x}, 2.0, 10.0)"
        yield f"F.rrelu({x}, 0.1, 0.3, False)"
        for dim in [0, -1]:
            for name in ["softmax", "log_softmax", "softmin"]:
                yield f"F.{name}({x}, dim={dim})"
                yield f"F.{name}({x}, dim={dim}, dtype=torch.float32)"
            yield f"torch.softmax({x}, {dim})"
            yield f"torch._softmax({x}, {dim}, False)"
            yield f"torch._log_softmax({x}, {dim}, False)"
            yield f"torch._safe_softmax({x}, {dim})"
            yield f"torch.special.softmax({x}, {dim})"
            yield f"torch.special.log_softmax({x}, {dim}, dtype=torch.float32)"
    for x, w in [("f2", "f1"), ("h2", "h1"), ("f1", "f1"), ("fl", "f1[:1]"),
                 ("fc", "f1[:1]"), ("f0", "f1[:1]"), ("hB", "h1")]:
        yield f"F.prelu({x}, {w})"
    yield "F.glu(fc, 1)"
    yield "F.glu(hc, -1)"
    yield "F.prelu(fc, fm[0])"
    for name in ["relu_", "hardtanh_", "leaky_relu_", "elu_", "celu_",
                 "selu_", "silu_", "mish_", "hardswish_"]:
        yield f"torch._C._nn.{name}(h2.clone())" if name not in (
            "relu_", "celu_", "selu_") else f"torch.{name}(h2.clone())"


def reduction():
    dims = ["", ", 0", ", -1", ", [0, 1]"]
    for x in ["f2", "h2", "b2", "i2", "u2", "t2", "f0", "i0"]:
        for name in ["sum", "mean", "amax", "amin", "nansum", "nanmean",
                     "logsumexp", "all", "any", "var", "std",
                     "special.logsumexp", "prod"]:
            for dim in dims:
                yield f"torch.{name}({x}{dim})"
                if dim:
                    yield f"torch.{name}({x}{dim}, keepdim=True)"
        for name in ["sum", "mean", "prod", "nansum", "nanmean"]:
            for dtype in ["float16", "float32", "float64", "int64"]:
                yield f"torch.{name}({x}, dtype=torch.{dtype})"
                yield f"torch.{name}({x}, 0, dtype=torch.{dtype})"
        for name in ["cumsum", "cumprod"]:
            yield f"torch.{name}({x}, 0)"
            yield f"torch.{name}({x}, 0, dtype=torch.float16)"
        for name in ["max", "min", "argmax", "argmin", "median",
                     "count_nonzero", "msort", "argsort"]:
            yield f"torch.{name}({x})"
        for name in ["argmax", "argmin"]:
            yield f"torch.{name}({x}, 0)"
            yield f"torch.{name}({x}, 0, keepdim=True)"
            yield f"torch.{name}({x}, keepdim=True)"
        for index in range(2):
            for name in ["max", "min", "median", "sort", "var_mean",
                         "std_mean"]:
                yield f"torch.{name}({x}, 0)[{index}]"
                yield f"torch.{name}({x}, -1, True)[{index}]"
            yield f"torch.aminmax({x})[{index}]"
            yield f"torch.aminmax({x}, dim=0, keepdim=True)[{index}]"
            yield f"torch.topk({x}, 2)[{index}]"
            yield f"torch.topk({x}, 1, dim=0, largest=False)[{index}]"
            yield f"torch.kthvalue({x}, 2)[{index}]"
            yield f"torch.kthvalue({x}, 1, 0, True)[{index}]"
            yield f"torch.sort({x}, dim=0, descending=True, stable=True)[{index}]"
            yield f"torch.var_mean({x})[{index}]"
        yield f"torch.var({x}, unbiased=False)"
        yield f"torch.var({x}, dim=0, correction=0)"
        yield f"torch.std({x}, dim=[0], correction=2, keepdim=True)"
        yield f"torch.count_nonzero({x}, 0)"
        yield f"torch.count_nonzero({x}, [0, 1])"
        yield f"torch.diff({x})"
        yield f"torch.diff({x}, n=1, dim=0)"
        for p in ["1", "2", "3", "float('inf')", "0"]:
            yield f"{x}.norm({p})"
            yield f"{x}.norm({p}, [0], True)"
            yield f"torch.linalg.vector_norm({x}, {p})"
            yield f"torch.linalg.vector_norm({x}, {p}, dim=-1)"
            yield f"torch.linalg.norm({x}, {p}, dim=0)"
        yield f"torch.linalg.vector_norm({x}, 2, dtype=torch.float64)"
        for order in ["float('inf')", "-float('inf')", "1", "-1", "'fro'"]:
            yield f"torch.linalg.norm({x}, {order})"
            yield f"torch.linalg.matrix_norm({x}, {order})"
            yield f"torch.linalg.matrix_norm({x}, {order}, keepdim=True)"
        yield f"torch.linalg.norm({x})"
        yield f"torch.frobenius_norm({x}, [0, 1])"
        yield f"torch.norm_except_dim({x}, 2, 0)"
        yield f"torch._weight_norm({x}, {x}[:, :1], 0)"


def linear():
    for t in "fhb":
        yield from (case.replace("@", t) for case in [
            "F.linear(@2, @s)", "F.linear(@2, @s, @1)", "F.linear(@1, @s)",
            "F.linear(@1, @1)", "torch.matmul(@2, @m)", "torch.mm(@2, @m)",
            "torch.matmul(@B, @m.t())", "torch.matmul(@1, @m)",
            "torch.matmul(@2, @1)", "torch.matmul(@1, @1)", "torch.mv(@2, @1)",
            "torch.dot(@1, @1)", "torch.vdot(@1, @1)", "torch.inner(@2, @s)",
            "torch.inner(@1, @1)", "torch.bmm(@B, @B.transpose(1, 2))",
            "@2 @ @s", "torch.addmm(@m[0], @2, @m)",
            "torch.addmm(@1, @2, @s, beta=0.5, alpha=2)",
            "torch.addmm(@1, @2, @s, beta=0)",
            "torch.addmv(@2[:, 0], @2, @1, beta=2, alpha=3)",
            "torch.addr(@s, @1, @1, beta=2, alpha=3)",
            "torch.baddbmm(@s, @B, @B.transpose(1, 2), beta=2, alpha=0.5)",
            "torch.addbmm(@s, @B, @B.transpose(1, 2), beta=2)",
            "torch.outer(@1, @1)", "torch.ger(@1, @1)",
            "torch.einsum('ij,jk->ik', @2, @m)",
            "torch.einsum('bij,bkj->bik', [@B, @B])",
            "torch.tensordot(@2, @s, dims=([1], [0]))",
            "torch.chain_matmul(@s, @s, @m)",
            "torch.linalg.multi_dot([@s, @s, @m])",
            "torch.linalg.matmul(@2, @m)", "torch.linalg.vecdot(@2, @2)",
            "torch.bilinear(@2, @2, torch.stack([@s, @s]), None)",
            "F.cosine_similarity(@2, @2)", "F.pairwise_distance(@2, @2)",
            "F.pairwise_distance(@2, @2, 1.0, 1e-4, True)",
            "torch.cdist(@2, @s)", "torch.cdist(@2, @s, 1.0)", "F.pdist(@s)",
            "torch.det(@s)", "torch.linalg.det(@s)", "torch.trace(@s)",
            "torch.cross(@2, @2)", "torch.linalg.cross(@s, @s, dim=0)",
            "@B.sum_to_size([3, 4])", "@B.sum_to_size([1, 3, 1])",
            "@2.sum_to_size([2, 3])", "torch.real(@2)", "torch.conj(@2)",
            "torch._add_relu(@2, @2)",
            "torch.dist(@2, @2, 3.0)", "torch.renorm(@2, 2, 0, 1.0)",
        ])
    yield "torch.matmul(i2, im)"
    yield "torch.mm(i2, im)"
    yield "torch.trace(im)"
    yield "F.cosine_similarity(i2, i2)"
    yield "F.cosine_similarity(f2, h2)"


def convolution():
    filters = {"1": "l", "2": "c", "3": "v"}
    for t in "fhb":
        for n, x in filters.items():
            w = f"{t}W{n}"
            yield f"F.conv{n}d({t}{x}, {w})"
            yield f"F.conv{n}d({t}{x}, {w}, {t}m[0], 2, 1)"
            yield f"F.conv{n}d({t}{x}[0], {w})"
            yield f"F.conv{n}d({t}{x}, {w}, padding='same')"
            yield f"F.conv{n}d({t}{x}, {w}, padding='valid', dilation=2)"
            yield f"F.conv{n}d({t}{x}, {w}, None, 1, 1, 1)"
            yield f"F.conv_transpose{n}d({t}{x}, {w})"
            yield f"F.conv_transpose{n}d({t}{x}, {w}, {t}m[0], 2, 1, 1)"
            yield f"F.conv_transpose{n}d({t}{x}[0], {w})"
        yield (f"torch.convolution({t}c, {t}W2, None, [1, 1], [1, 1], [1, 1], "
               "False, [0, 0], 1)")
        yield (f"torch.convolution({t}c, {t}W2, None, [2, 2], [1, 1], [1, 1], "
               "True, [1, 1], 1)")
        yield (f"torch._convolution({t}c, {t}W2, None, [1, 1], [1, 1], [1, 1], "
               "False, [0, 0], 1, False, False, False, False)")


def normalization():
    for t in "fhb":
        s = f"{t}m[0]"
        for p in [t, "f"]:
            w = f"{p}m[0]"
            yield f"F.batch_norm({t}c, {w}, {w}.abs(), {w}, {w})"
            yield f"F.batch_norm({t}l, {w}, {w}.abs())"
            yield (f"F.batch_norm({t}c, {w}.clone(), {w}.clone(), {w}, {w}, "
                   "True, 0.1, 1e-5)")
            yield f"F.batch_norm({t}c, None, None, {w}, {w}, True)"
            yield f"F.layer_norm({t}B, [4], {w}, {w})"
            yield f"F.group_norm({t}c, 2, {w}, {w})"
            yield f"F.instance_norm({t}c, None, None, {w}, {w})"
            yield f"F.rms_norm({t}B, [4], {w}, 1e-6)"
        yield f"F.batch_norm({t}m, None, None, {s}, {s}, True)"
        yield f"F.layer_norm({t}B, [3, 4])"
        yield f"F.rms_norm({t}B, [4])"
        yield f"F.rms_norm({t}B, [3, 4])"
        yield f"F.group_norm({t}l, 4)"
        yield f"F.instance_norm({t}c)"
        yield f"F.instance_norm({t}l, weight={s}, bias={s})"
        yield f"F.local_response_norm({t}c, 3)"
        yield f"F.normalize({t}2, dim=-1)"
        yield f"torch.native_layer_norm({t}B, [4], {s}, None, 1e-5)[0]"
        yield f"torch.native_group_norm({t}c, {s}, {s}, 2, 4, 36, 2, 1e-5)[0]"
        # The saved statistics are f32 on CUDA, of 16 bits on the CPU.
        for index in range(3 if t == "f" else 1):
            yield (f"torch.native_batch_norm({t}c, None, None, None, None, "
                   f"True, 0.1, 1e-5)[{index}]")
        for index in range(3):
            yield (f"torch.native_batch_norm({t}c, None, None, fm[0], fm[0], "
                   f"False, 0.1, 1e-5)[{index}]")
    for index in range(3):
        yield f"torch.native_layer_norm(fB, [3, 4], None, None, 1e-5)[{index}]"
        yield f"torch.native_group_norm(fc, None, None, 2, 4, 36, 2, 1e-5)[{index}]"


def pooling():
    for t in "fhb":
        for n, x in [("1", "l"), ("2", "c"), ("3", "v")]:
            v = f"{t}{x}"
            yield f"F.max_pool{n}d({v}, 2)"
            yield f"F.max_pool{n}d({v}[0], 3, 2, 1)"
            yield f"F.max_pool{n}d({v}, 3, 2, 1, 1, True)"
            yield f"F.max_pool{n}d({v}, 2, 1, 0, 2)"
            yield f"F.avg_pool{n}d({v}, 2)"
            yield f"F.avg_pool{n}d({v}, 3, 2, 1, True)"
            yield f"F.avg_pool{n}d({v}[0], 3, 2, 1, False, False)"
            yield f"F.adaptive_avg_pool{n}d({v}, 1)"
            yield f"F.adaptive_avg_pool{n}d({v}, 3)"
            yield f"F.adaptive_avg_pool{n}d({v}[0], 1)"
            for index in range(2):
                yield f"F.max_pool{n}d_with_indices({v}, 2)[{index}]"
                yield f"torch.adaptive_max_pool{n}d({v}, 2)[{index}]" if (
                    n == "1") else (
                    f"torch._C._nn.adaptive_max_pool{n}d({v}, 2)[{index}]")
        yield f"F.avg_pool2d({t}c, 2, divisor_override=3)"
        yield f"F.max_pool2d({t}c, [2, 3], [1, 2], [1, 0])"
        yield f"F.lp_pool2d({t}c, 2.0, 2)"
        yield f"F.adaptive_avg_pool2d({t}c, [2, 3])"
        yield f"F.max_unpool2d({t}c, torch.zeros_like({t}c).long(), 2)"


def attention():
    for t in "fhb":
        q = f"{t}q"
        yield f"F.scaled_dot_product_attention({q}, {q}, {q})"
        yield f"F.scaled_dot_product_attention({t}B, {t}B, {t}B)"
        yield f"F.scaled_dot_product_attention({q}, {q}, {q}, is_causal=True)"
        yield f"F.scaled_dot_product_attention({q}, {q}, {q}, scale=0.5)"
        yield (f"F.scaled_dot_product_attention({q}, {q}, {q}, "
               f"torch.ones([5, 5], dtype=torch.bool))")
        yield (f"F.scaled_dot_product_attention({q}, {q}, {q}, "
               f"{q}[:, :, :, :5])")
        yield (f"F.scaled_dot_product_attention({q}, {q}[:, :2], {q}[:, :2], "
               "enable_gqa=True)")
        yield f"F.scaled_dot_product_attention({q}, {q}, {q}, dropout_p=0.1)"
    for t in "f":
        w, p = f"{t}E3", f"{t}E1"
        yield (f"torch._native_multi_head_attention({t}D4, {t}D4, {t}D4, 4, 2, "
               f"{w}, {w}[:, 0], {p}, {p}[0], None, False)[0]")
        yield (f"torch._native_multi_head_attention({t}D4, {t}D4, {t}D4, 4, 2, "
               f"{w}, {w}[:, 0], {p}, {p}[0], tm2, False, True, 1)[0]")
        yield (f"torch._transformer_encoder_layer_fwd({t}D4, 4, 2, {w}, "
               f"{w}[:, 0], {p}, {p}[0], True, False, 1e-5, {p}[0], {p}[0], "
               f"{p}[0], {p}[0], {p}, {p}[0], {p}, {p}[0])")


def loss():
    for t in "fhb":
        x = f"{t}2"
        for reduction in ["none", "mean", "sum"]:
            r = f"reduction='{reduction}'"
            for name in ["mse_loss", "l1_loss", "smooth_l1_loss",
                         "huber_loss", "binary_cross_entropy_with_logits",
                         "kl_div", "poisson_nll_loss", "soft_margin_loss"]:
                yield f"F.{name}({x}, {x}, {r})"
            yield f"F.hinge_embedding_loss({x}, {x}.sign(), {r})"
            yield f"F.binary_cross_entropy({x}.sigmoid(), {x}.sigmoid(), {r})"
            yield f"F.cross_entropy({x}, ic, {r})"
            yield f"F.cross_entropy({x}, ic, {t}1, {r}, label_smoothing=0.1)"
            yield f"F.cross_entropy({x}, {x}, {r})"
            yield f"F.nll_loss({x}, ic, {r})"
            yield f"F.nll_loss({t}c, torch.zeros([2, 6, 6]).long(), {r})"
            yield f"F.multi_margin_loss({x}, ic, {r})"
            yield (f"F.multilabel_margin_loss({x}, torch.tensor("
                   f"[[1, -1, -1], [0, 2, -1]]), {r})")
            yield f"F.margin_ranking_loss({x}, {x}, {x}, {r})"
            yield f"F.cosine_embedding_loss({x}, {x}, ic, {r})"
            yield f"F.triplet_margin_loss({x}, {x}, {x}, {r})"
            yield f"F.gaussian_nll_loss({x}, {x}, {x}.abs(), {r})"
            yield (f"F.ctc_loss({t}B.log_softmax(-1), torch.ones([3, 1]).long(), "
                   f"torch.tensor([2, 2, 2]), torch.tensor([1, 1, 1]), {r})")
        yield f"F.kl_div({x}, {x}, reduction='batchmean', log_target=True)"
        yield f"F.huber_loss({x}, {x}, delta=0.5)"
        yield f"F.smooth_l1_loss({x}, {x}, beta=0.5)"
    for a, b in [("f2", "h2"), ("h2", "f2")]:
        yield f"F.mse_loss({a}, {b})"
        yield f"F.l1_loss({a}, {b})"
        yield f"F.cross_entropy({a}, {b})"
        yield f"F.binary_cross_entropy_with_logits({a}, {b})"


def random():
    for x in ["f2", "h2", "b2", "i2"]:
        for train in ["True", "False"]:
            for name in ["dropout", "alpha_dropout", "feature_alpha_dropout"]:
                yield f"F.{name}({x}, 0.3, {train})"
            yield f"torch.dropout_({x}.clone(), 0.3, {train})"
            yield f"torch.native_dropout({x}, 0.3, {train})[0]"
            yield f"torch.native_dropout({x}, 0.3, {train})[1]"
        for name in ["rand_like", "randn_like"]:
            yield f"torch.{name}({x})"
            yield f"torch.{name}({x}, dtype=torch.float16)"
        yield f"torch.randint_like({x}, 5)"
        yield f"torch.randint_like({x}, 1, 5)"
        yield f"torch.bernoulli({x}.sigmoid())"
        yield f"torch.bernoulli({x}, 0.5)"
        for call in ["normal_()", "normal_(1.0, 2.0)", "uniform_()",
                     "uniform_(-1.0, 1.0)", "exponential_()", "random_()",
                     "random_(5)", "random_(1, 5)", "bernoulli_(0.3)",
                     "log_normal_()"]:
            yield f"{x}.clone().{call}"
        yield f"torch.multinomial({x}.abs(), 2)"
        yield f"torch.normal({x}, 2.0)"
        yield f"torch.normal({x}, {x}.abs())"
    for t in "fhb":
        yield f"F.dropout2d({t}c, 0.3, True)"
        yield f"F.dropout3d({t}v, 0.3, True)"
    yield from ["torch.rand([2, 3])", "torch.randn([2, 3], dtype=torch.half)",
                "torch.randint(5, [2, 3])", "torch.randint(1, 5, [2, 3])",
                "torch.randint(1, 5, [2, 3], dtype=torch.float32)",
                "torch.randperm(5)", "torch.normal(0.0, 1.0, [2, 3])",
                "torch.randn([])", "torch.multinomial(f1.abs(), 2)"]


def resample():
    for t in "fhb":
        for x, modes in [("l", ["nearest", "linear", "area", "nearest-exact"]),
                         ("c", ["nearest", "bilinear", "bicubic", "area",
                                "nearest-exact"]),
                         ("v", ["nearest", "trilinear", "area"])]:
            for mode in modes:
                v = f"{t}{x}"
                yield f"F.interpolate({v}, scale_factor=1.5, mode='{mode}')"
                yield f"F.interpolate({v}, size=5, mode='{mode}')"
                if mode[-4:] in ("near", "ubic"):
                    yield (f"F.interpolate({v}, scale_factor=2.0, "
                           f"mode='{mode}', align_corners=True)")
        yield f"F.interpolate({t}c, size=[5, 7], mode='bilinear')"
        yield f"F.interpolate({t}c, scale_factor=[2.0, 1.5])"
        yield (f"F.interpolate({t}c, size=[3, 3], mode='bilinear', "
               "antialias=True)")
        yield f"torch._C._nn.upsample_nearest2d({t}c, [5, 5])"
        yield f"torch._C._nn.upsample_bilinear2d({t}c, [5, 5], True)"
        yield f"torch._C._nn.upsample_bicubic2d({t}c, None, False, [2.0, 2.0])"
        # Cubic weights in bf16 are off by several percent.
        for mode in ["bilinear", "nearest"] + ["bicubic"] * (t != "b"):
            for padding in ["zeros", "border"]:
                yield (f"F.grid_sample({t}c, {t}c[:, :, :, :2], mode='{mode}', "
                       f"padding_mode='{padding}', align_corners=False)")
        yield (f"F.affine_grid({t}B[:, :2, :3], [2, 4, 5, 6], "
               "align_corners=False)")
        yield f"F.pixel_shuffle({t}c, 2)"
        yield f"F.pixel_unshuffle({t}c, 2)"


EXTRA = {"W1": (4, 4, 3), "W2": (4, 4, 3, 3), "W3": (4, 4, 3, 3, 3)}
for dtype in "fhb":
    for name, shape in EXTRA.items():
        INPUTS[dtype + name] = (DTYPES[dtype], shape)
INPUTS["ic"] = ("int64", (2,))
INPUTS["fE3"] = ("float32", (12, 4))
INPUTS["fE1"] = ("float32", (4, 4))
INPUTS["fD4"] = ("float32", (2, 3, 4))
INPUTS["tm2"] = ("bool", (2, 3))

FAMILIES = [unary, binary, ternary, conversion, activation, reduction, linear,
            convolution, normalization, pooling, attention, loss, random,
            resample]
