"""Every op of the FP32, widest-type and banned lists of the policies has an effect: the expected error of its output
is within 4x of a run whose operands and result are rounded to FP16."""

from __future__ import annotations

import json

import pytest
from tool import ROOT, run_mpopt

torch = pytest.importorskip("torch")
F = torch.nn.functional

POLICIES = ("pytorch-cuda-2.14", "pytorch-cpu-2.14")
CATEGORIES = ("fp32", "fp32_set_opt_dtype", "fp32_append_dtype", "promote", "banned")
DRAWS = 6


class Input:
    """What an operand is drawn from: a normal distribution that is cut off at its bounds."""

    def __init__(self, *shape, lo=-4.0, hi=4.0, mean=0.0, std=1.0):
        self.shape, self.lo, self.hi, self.mean, self.std = shape, lo, hi, mean, std

    def draw(self, generator):
        values = self.mean + self.std * torch.randn(*self.shape, generator=generator)
        return values.clamp(self.lo, self.hi)

    def options(self, name):
        return ["--input", f"{name}={self.lo}:{self.hi}", "--input", f"{name}~{self.mean},{self.std}"]


def plain(*shape):
    return Input(*(shape or (32, 64)))


def positive(*shape):
    return Input(*(shape or (32, 64)), lo=0.2, hi=4, mean=1.5, std=0.5)


def inside(*shape):
    """Away from the ends of [-1, 1]."""
    return Input(*(shape or (32, 64)), lo=-0.9, hi=0.9, mean=0, std=0.4)


def probability(*shape):
    return Input(*(shape or (32, 64)), lo=0.05, hi=0.95, mean=0.5, std=0.15)


def sign(x):
    return torch.where(x > 0, 1.0, -1.0)


def classes(x):
    return x.argmax(1)


def image(*shape):
    return plain(*(shape or (2, 3, 8, 8)))


LABELS = torch.arange(32) % 64
ONE_LABEL = torch.cat([LABELS[:, None], torch.full((32, 63), -1)], 1)

#: The names of the lists, with a call of each and its operands.
OPS = {
    "acos": (torch.acos, inside()), "asin": (torch.asin, inside()), "cosh": (torch.cosh, plain()),
    "erfinv": (torch.erfinv, inside()), "exp": (torch.exp, plain()), "expm1": (torch.expm1, plain()),
    "log": (torch.log, positive()), "log10": (torch.log10, positive()), "log2": (torch.log2, positive()),
    "log1p": (torch.log1p, positive()), "reciprocal": (torch.reciprocal, positive()),
    "rsqrt": (torch.rsqrt, positive()), "sinh": (torch.sinh, plain()), "tan": (torch.tan, inside()),
    "pow.Tensor_Scalar": (lambda x: torch.pow(x, 3), plain()),
    "pow.Tensor_Tensor": (torch.pow, positive(), inside()),
    "pow.Scalar": (lambda x: torch.pow(2.0, x), plain()), "softplus": (F.softplus, plain()),
    "layer_norm": (lambda x: F.layer_norm(x, (64,)), plain()),
    "native_layer_norm": (lambda x: torch.native_layer_norm(x, (64,), None, None, 1e-5)[0], plain()),
    "rms_norm": (lambda x: F.rms_norm(x, (64,)), plain()),
    "group_norm": (lambda x: F.group_norm(x, 4), plain(2, 8, 8, 8)),
    "frobenius_norm.dim": (lambda x: torch.norm(x, "fro", 1), plain()),
    "cosine_similarity": (F.cosine_similarity, plain(), plain()),
    "poisson_nll_loss": (F.poisson_nll_loss, plain(), positive()),
    "cosine_embedding_loss": (lambda x, y: F.cosine_embedding_loss(x, y, sign(x[:, 0])), plain(), plain()),
    "nll_loss": (lambda x: F.nll_loss(F.log_softmax(x, 1), LABELS), plain()),
    "nll_loss2d": (lambda x: F.nll_loss(F.log_softmax(x, 1), classes(x)), image()),
    "hinge_embedding_loss": (lambda x: F.hinge_embedding_loss(x, sign(x)), plain()),
    "kl_div": (F.kl_div, Input(32, 64, lo=-6, hi=-1, mean=-3, std=0.5), probability()),
    "l1_loss": (F.l1_loss, plain(), plain()), "smooth_l1_loss": (F.smooth_l1_loss, plain(), plain()),
    "huber_loss": (F.huber_loss, plain(), plain()), "mse_loss": (F.mse_loss, plain(), plain()),
    "margin_ranking_loss": (lambda x, y: F.margin_ranking_loss(x, y, sign(x)), plain(), plain()),
    "multilabel_margin_loss": (lambda x: F.multilabel_margin_loss(x, ONE_LABEL), plain()),
    "soft_margin_loss": (lambda x: F.soft_margin_loss(x, sign(x)), plain()),
    "triplet_margin_loss": (F.triplet_margin_loss, plain(), plain(), plain()),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, LABELS), plain()),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, plain(), probability()),
    "binary_cross_entropy": (F.binary_cross_entropy, probability(), probability()),
    "cross_entropy_loss": (lambda x: F.cross_entropy(x, LABELS), plain()),
    "dist": (torch.dist, plain(), plain()), "pdist": (torch.pdist, plain()), "cdist": (torch.cdist, plain(), plain()),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.0), plain()), "logsumexp": (lambda x: torch.logsumexp(x, 1), plain()),
    "upsample_nearest1d": (lambda x: F.interpolate(x, scale_factor=2), plain(2, 3, 8)),
    "_upsample_nearest_exact1d": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), plain(2, 3, 8)),
    "upsample_nearest2d": (lambda x: F.interpolate(x, scale_factor=2), image()),
    "_upsample_nearest_exact2d": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"), image()),
    "upsample_nearest3d": (lambda x: F.interpolate(x, scale_factor=2), plain(2, 3, 4, 4, 4)),
    "_upsample_nearest_exact3d": (lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
                                  plain(2, 3, 4, 4, 4)),
    "upsample_linear1d": (lambda x: F.interpolate(x, scale_factor=2, mode="linear"), plain(2, 3, 8)),
    "upsample_bilinear2d": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), image()),
    "_upsample_bilinear2d_aa": (lambda x: F.interpolate(x, size=(5, 5), mode="bilinear", antialias=True), image()),
    "upsample_trilinear3d": (lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), plain(2, 3, 4, 4, 4)),
    "upsample_bicubic2d": (lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), image()),
    "_upsample_bicubic2d_aa": (lambda x: F.interpolate(x, size=(5, 5), mode="bicubic", antialias=True), image()),
    "prod": (torch.prod, Input(24, lo=0.5, hi=2, mean=1, std=0.3)),
    "prod.dim_int": (lambda x: torch.prod(x, 1), Input(32, 8, lo=0.5, hi=2, mean=1, std=0.3)),
    "softmax.int": (lambda x: torch.softmax(x, 1), plain()),
    "log_softmax.int": (lambda x: torch.log_softmax(x, 1), plain()),
    "cumprod": (lambda x: torch.cumprod(x, 1), Input(32, 8, lo=0.5, hi=2, mean=1, std=0.3)),
    "cumsum": (lambda x: torch.cumsum(x, 1), plain()),
    "linalg_vector_norm": (lambda x: torch.linalg.vector_norm(x, dim=1), plain()),
    "linalg_matrix_norm": (lambda x: torch.linalg.matrix_norm(x), plain(4, 8, 8)),
    "linalg_matrix_norm.str_ord": (lambda x: torch.linalg.matrix_norm(x, "fro"), plain(4, 8, 8)),
    "sum": (torch.sum, positive()), "sum.dim_IntList": (lambda x: torch.sum(x, 1), positive()),
    "norm.Scalar": (torch.norm, plain()), "norm.ScalarOpt_dim": (lambda x: torch.norm(x, 2, 1), plain()),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), plain(), plain(), positive()),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=0.5), plain(), plain(), plain()),
    "atan2": (torch.atan2, plain(), positive()),
    "bilinear": (lambda x, y, w: F.bilinear(x, y, w), plain(32, 8), plain(32, 8), plain(4, 8, 8)),
    "cross": (lambda x, y: torch.linalg.cross(x, y), plain(32, 3), plain(32, 3)),
    "dot": (torch.dot, positive(64), positive(64)), "vdot": (torch.vdot, positive(64), positive(64)),
    "grid_sampler": (lambda x, g: F.grid_sample(x, g, align_corners=False), image(), inside(2, 5, 5, 2)),
    "index_put": (lambda x, y: x.index_put((torch.arange(4),), y), plain(8, 16), plain(4, 16)),
    "tensordot": (lambda x, y: torch.tensordot(x, y, dims=1), plain(8, 16), plain(16, 8)),
    "scatter_add": (lambda x, y: x.scatter_add(1, torch.arange(16).repeat(8, 1), y), plain(8, 16), plain(8, 16)),
    "stack": (lambda x, y: torch.stack([x, y]), plain(), plain()), "cat": (lambda x, y: torch.cat([x, y]), plain(),
                                                                         plain()),
    "index_copy": (lambda x, y: x.index_copy(0, torch.arange(4), y), plain(8, 16), plain(4, 16)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), plain(2, 3, 4, 4, 4)),
    "grid_sampler_2d": (lambda x, g: F.grid_sample(x, g, align_corners=False), image(), inside(2, 5, 5, 2)),
    "grid_sampler_3d": (lambda x, g: F.grid_sample(x, g, align_corners=False), plain(2, 3, 4, 4, 4),
                        inside(2, 3, 3, 3, 3)),
    "trace": (torch.trace, positive(8, 8)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), plain(2, 3, 4, 4, 4)),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, 2), plain(2, 3, 4, 4, 4)),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, 2), plain(2, 3, 4, 4, 4)),
    "reflection_pad1d": (lambda x: F.pad(x, (2, 2), "reflect"), plain(2, 3, 8)),
    "reflection_pad2d": (lambda x: F.pad(x, (2, 2, 2, 2), "reflect"), image()),
    "replication_pad1d": (lambda x: F.pad(x, (2, 2), "replicate"), plain(2, 3, 8)),
    "replication_pad2d": (lambda x: F.pad(x, (2, 2, 2, 2), "replicate"), image()),
    "replication_pad3d": (lambda x: F.pad(x, (1, 1, 1, 1, 1, 1), "replicate"), plain(2, 3, 4, 4, 4)),
    "fake_quantize_per_tensor_affine": (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 0, -128, 127),
                                        plain()),
    "max_unpool2d": (lambda x: torch.ops.aten.max_unpool2d(x, torch.arange(16).reshape(4, 4).expand(2, 3, 4, 4) * 4, [8, 8]), plain(2, 3, 4, 4)),
    "max_unpool3d": (lambda x: torch.ops.aten.max_unpool3d(x, torch.arange(8).reshape(2, 2, 2).expand(2, 3, 2, 2, 2) * 8, [4, 4, 4], [2, 2, 2], [0, 0, 0]),
                     plain(2, 3, 2, 2, 2)),
    "ctc_loss.IntList": (lambda x: F.ctc_loss(torch.log_softmax(x, 2), torch.ones(4, 5).long(), [20] * 4, [5] * 4),
                         plain(20, 4, 8)),
    "ctc_loss.Tensor": (lambda x: F.ctc_loss(torch.log_softmax(x, 2), torch.ones(4, 5).long(),
                                             torch.full((4,), 20), torch.full((4,), 5)), plain(20, 4, 8)),
}


#: Linear algebra, Fourier transforms of PyTorch and the rest of the CPU's list that mpopt does not read: reports name the
#: op. An op that is read has to leave this list.
NOT_READ = set("""
    _grid_sampler_2d_cpu_fallback _lu_with_info cholesky_inverse cholesky_solve fft_fft fft_fft2 fft_fftn fft_hfft
    fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn
    fractional_max_pool2d fractional_max_pool3d geqrf inverse linalg_cholesky linalg_cholesky_ex linalg_cond
    linalg_cond.p_str linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv
    linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_matrix_rank.atol_rtol_float
    linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.tol_tensor linalg_matrix_sqrth linalg_qr linalg_solve
    linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve lu_solve multilabel_margin_loss_forward
    nanquantile nanquantile.scalar nuclear_norm nuclear_norm.dim orgqr ormqr pinverse polar quantile quantile.scalar
    stft stft.center svd triangular_solve view_as_complex""".split())


def listed():
    names = {}
    for policy in POLICIES:
        table = json.loads((ROOT / "lib/Policy/tables" / f"{policy}.json").read_text())["categories"]
        for category in CATEGORIES:
            for name in table[category]:
                names.setdefault(name, (policy, category))
    return names


def operands_of(name):
    return [f"{name.replace('.', '_')}_{place}" for place in range(len(OPS[name]) - 1)]


@pytest.fixture(scope="module")
def effects(tmp_path_factory):
    """Of all ops as the outputs of one model, by name."""
    names = [operand for name in OPS for operand in operands_of(name)]
    inputs = [each for call, *inputs in OPS.values() for each in inputs]
    calls = ", ".join(f"OPS[{name!r}][0]({', '.join(operands_of(name))})" for name in OPS)
    scope = {"OPS": OPS}
    exec(f"def forward(self, {', '.join(names)}):\n    return {calls}", scope)  # traced inputs have names of their own
    module = type("Listed", (torch.nn.Module,), {"forward": scope["forward"]})()
    generator = torch.Generator().manual_seed(1)
    file = tmp_path_factory.mktemp("listed") / "ops.pt"
    torch.jit.trace(module, tuple(each.draw(generator) for each in inputs), check_trace=False).save(file)
    [results] = torch.jit.load(file).inlined_graph.outputs()
    options = [word for name, each in zip(names, inputs, strict=True) for word in each.options(name)]
    run = run_mpopt("--check", file, "--precision", "fp16", "--format", "json", *options)
    assert run.returncode in (0, 1), run.stderr
    found = {effect["output"]: effect for effect in json.loads(run.stdout)["effects"]}
    return {name: found.get(value.debugName()) for name, value in
            zip(OPS, results.node().inputs(), strict=True)}


def measure(call, inputs):
    """As a kernel does that computes in FP32: operands and result are rounded."""
    generator, found = torch.Generator().manual_seed(3), []
    for _ in range(DRAWS):
        operands = [each.draw(generator) for each in inputs]
        exact = call(*operands).double()
        seen = call(*(each.half().float() for each in operands)).half().double()
        found.append(float((seen - exact).abs().max() / exact.abs().max()))
    return sorted(found)[DRAWS // 2], max(found)


@pytest.mark.parametrize("name", OPS)
def test_the_effect_of_a_listed_op_is_known(name, effects):
    effect = effects[name]
    assert effect is not None and effect["expected_error"] is not None, effect
    typical, largest = measure(*OPS[name][:1], OPS[name][1:])
    assert typical / 4 <= effect["expected_error"] <= max(largest, 2 ** -12) * 4, (effect, typical)


def test_every_listed_op_is_there():
    assert set(listed()) == OPS.keys() | NOT_READ and not OPS.keys() & NOT_READ
