# torchscript_op_cases.py - Expressions of aten ops, by family
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Each case is one expression over the inputs of torchscript_op_inputs.py. What
PyTorch refuses is left out: the lists name more combinations of dtypes than it has
kernels for.
"""

from torchscript_layer_cases import (attention, convolution, linear, loss,
                                     normalization, pooling, random, resample)
from torchscript_op_inputs import (ANY, DIMS, DTYPES, INPUTS, MLIR,  # noqa: F401
                                   NUMBERS, ZERO, number_of)


def unary():
    names = """abs absolute neg negative sign sgn floor ceil trunc fix square
        sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan
        asin acos atan sinh cosh tanh asinh acosh atanh arcsin arccos arctan
        arcsinh arccosh arctanh erf erfc erfinv sigmoid logical_not bitwise_not
        isnan isfinite isinf isposinf isneginf positive deg2rad rad2deg frac
        signbit round logit nan_to_num special.expit special.exp2 special.expm1
        special.log1p special.erf special.erfc special.erfinv special.ndtr
        special.log_ndtr special.logit special.round relu selu celu rrelu
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


def signal():
    for name in ["hann", "hamming", "blackman"]:
        for arguments in ["8", "9", "8, False", "1", "8, dtype=torch.float16",
                          "f2.size(1) + 4, dtype=torch.float64"]:
            yield f"torch.{name}_window({arguments})"
    for x in ["fl[0]", "fl[0, 0]"]:
        for rest in ["4", "4, 2", "4, 2, 3", "4, 1, 4, torch.hann_window(4)",
                     "4, 2, 2, torch.hamming_window(2)"]:
            for center in ["True, 'reflect'", "True, 'constant'", "False"]:
                for norm in ["False", "True"]:
                    given = rest + ", None" * (4 - len(split_arguments(rest)))
                    mode = center if "," in center else center + ", 'reflect'"
                    call = f"torch.stft({x}, {given}, {mode}, {norm}, None"
                    yield f"torch.view_as_real({call}, True))"
                    yield f"torch.stft({x}, {given}, {mode}, {norm}, False, True).abs()"
        yield f"torch.stft({x}, 4, None, None, None, True, 'reflect', False, None, False)"
    for x in ["f2", "fl", "f0.reshape(1)", "i2"]:
        for norm in ["None", "'ortho'", "'forward'", "'backward'"]:
            for dim in [-1, 0]:
                for name in ["rfft", "fft", "ifft"]:
                    yield f"torch.view_as_real(torch.fft.{name}({x}, None, {dim}, {norm}))"
                yield f"torch.fft.rfft({x}, 8, {dim}, {norm}).abs()"
                for size in ["None", "5"]:
                    yield (f"torch.fft.irfft(torch.fft.rfft({x}, 6, {dim}), {size}, "
                           f"{dim}, {norm})")
            for name in ["rfft2", "fft2", "ifft2"]:
                yield f"torch.view_as_real(torch.fft.{name}(fl, norm={norm}))"
            yield f"torch.fft.irfft2(torch.fft.rfft2(fl), norm={norm})"


def split_arguments(text):
    depth, parts = 0, 1
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        parts += letter == "," and depth == 0
    return [text] * parts


def complex_numbers():
    z, w = "torch.complex(f2, f2 * -0.5)", "torch.polar(f2, f2 * 0.25)"
    for x in [z, w, "torch.view_as_complex(torch.stack([f2, f0 * f2], -1))"]:
        yield from (f"torch.view_as_real({x})", f"{x}.real", f"{x}.imag", f"{x}.abs()",
                    f"torch.angle({x})", f"torch.view_as_real(torch.conj({x}).resolve_conj())",
                    f"torch.real({x})", f"torch.imag({x})")
        for y in [z, w]:
            for op in ["+", "-", "*"]:
                yield f"torch.view_as_real({x} {op} {y})"
        for real in ["f2", "2", "0.5", "i2"]:
            yield f"torch.view_as_real({x} * {real})"
            yield f"torch.view_as_real({x} / {real})"
        for call in ["t()", "transpose(0, 1)", "transpose(-1, -2)", "unsqueeze(-1)",
                     "reshape(-1)", "view(3, 2)", "flatten()", "sum()", "sum(-1)", "mean(0)",
                     "expand(4, 2, 3)", "permute(1, 0)", "clone()", "contiguous()", "neg()"]:
            yield f"torch.view_as_real({x}.{call})"
        yield f"torch.view_as_real({x}[:, 1:])"
        yield f"torch.view_as_real({x}[..., 0])"
        yield f"torch.view_as_real({x}[:, None])"
        yield f"torch.view_as_real(torch.cat([{x}, {z}], -1))"
        yield f"torch.view_as_real(torch.stack([{x}, {z}]))"
    yield f"({z} + 1).abs()"


FAMILIES = [unary, binary, ternary, conversion, activation, reduction, linear,
            convolution, normalization, pooling, attention, loss, random,
            resample, signal, complex_numbers]
