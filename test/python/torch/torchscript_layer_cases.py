# torchscript_layer_cases.py - Expressions of aten ops: products, layers, losses
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As in torchscript_op_cases.py, by family."""


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
               f"torch.zeros([5, 5], dtype=torch.bool))")
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
