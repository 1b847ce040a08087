"""mpopt --convert of PyTorch's files: archives of TorchScript and exported programs in mixed precision."""

import json
import subprocess
import warnings
import zipfile

import pytest
from tool import run_mpopt

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils import _pytree  # noqa: E402
from torch_conversions import FORMS, convert, save  # noqa: E402

def load(path):
    return torch.export.load(path).module() if path.suffix == ".pt2" else torch.jit.load(path)


def call(path, inputs):
    with torch.no_grad():
        results = load(path)(*[value.clone() for value in inputs])
    return [value for value in _pytree.tree_flatten(results)[0] if isinstance(value, torch.Tensor)]


def check(path, inputs, report, low=None):
    """The result gives what the source gives, within the expected error; a second run changes no byte."""
    out = path.with_name(f"out{path.suffix}")
    low = low or torch.float16
    types = [entry["to"] for entry in report["io"]]
    floats = iter(types)
    given = [value.to(low) if value.dtype == torch.float32 and next(floats) != "f32" else value for value in inputs]
    for wanted, had in zip(call(path, inputs), call(out, given), strict=True):
        assert had.isfinite().all()
        if not wanted.is_floating_point():
            assert wanted.equal(had)
            continue
        error = float((had.double() - wanted.double()).abs().max() / wanted.abs().max())
        # Estimates are of a root mean square, and within a factor 4 of it.
        # That of an inverse is not known.
        expected = report["expected_error"] if report["expected_error"] is not None else 0.01
        assert error <= max(4 * expected, torch.finfo(low).eps)
    return out


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.down, self.head = nn.Conv2d(8, 8, 3, stride=2), nn.Linear(8, 5)

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)), inplace=True)
        return self.head(F.max_pool2d(self.down(y), 2).mean((2, 3)))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.last = nn.Embedding(20, 16), nn.LayerNorm(16), nn.LayerNorm(16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        x = self.embed(tokens)
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / 4.0
        hidden = torch.ones(scores.shape[-1], scores.shape[-1], device=x.device).triu(1) > 0
        x = x + self.out(scores.masked_fill(hidden, -3.4e38).softmax(-1) @ v)
        x = x + self.down(F.gelu(self.up(self.last(x))))
        return self.head(x)


class Squares(nn.Module):
    """The squares of what the first layer gives are past 65504."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 4)
        self.up.weight.data.mul_(200)

    def forward(self, x):
        y = self.up(x)
        return self.down(y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6))


def seeded(kind):
    torch.manual_seed(0)
    return kind().eval()


NETWORKS = {
    "convolutional": (Convolutional, lambda: (torch.randn(2, 3, 16, 16),), ["x=2x3x16x16"]),
    "transformer": (Transformer, lambda: (torch.randint(0, 20, (2, 7)),), ["tokens=2x7:i64"]),
    "squares": (Squares, lambda: (torch.randn(4, 16),), ["x=4x16"]),
}


@pytest.mark.parametrize("name, form", [(name, form) for name in NETWORKS for form in FORMS
                                        if name == "transformer" or form in ("exported", "scripted")])
def test_networks(tmp_path, name, form):
    kind, draw, shapes = NETWORKS[name]
    module, inputs = seeded(kind), draw()
    path = save(module, inputs, form, tmp_path)
    report = convert(path, shapes=shapes)
    out = check(path, inputs, report)
    again = out.with_name(f"again{out.suffix}")
    assert run_mpopt("--convert", out, "-o", again).returncode == 0
    assert again.read_bytes() == out.read_bytes()
    assert report["bytes"][1] == report["bytes"][0] // 2
    with zipfile.ZipFile(out) as archive:
        assert any(member.endswith("/extra/mpopt.convert") for member in archive.namelist())


@pytest.mark.parametrize("form", ["exported", "traced"])
def test_what_overflows_stays(tmp_path, form):
    path = save(seeded(Squares), (torch.randn(4, 16),), form, tmp_path)
    report = convert(path, shapes=["x=4x16"])
    first = path.with_name(f"out{path.suffix}").read_bytes()
    assert convert(path, shapes=["x=4x16"]) == report
    assert path.with_name(f"out{path.suffix}").read_bytes() == first
    kept = {entry["type"] for entry in report["kept"]}
    assert any(kind.startswith("aten::pow") for kind in kept), kept
    assert not any("linear" in kind or "mm" in kind for kind in kept)
    # Without the plan the squares are Inf, and x / Inf is 0.
    done = run_mpopt("--convert", path, "-o", tmp_path / f"low{path.suffix}", "--to", "fp16", "--input-shape", "x=4x16")
    assert done.returncode == 1 and "Inf or NaN" in done.stderr or "overflow" in done.stderr


class InPlace(nn.Module):
    """A tensor is changed through views of it, in what the plan may keep and in what it may not."""

    def forward(self, x):
        y = x * 2
        y[:, 1:3] = x[:, :2]
        y[:, 0].add_(1.0)
        z = torch.zeros(4, 6)
        z[:, 2:] = y
        return z + 1, y.relu_()


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)

    def forward(self, x):
        one, other = self.first(x).chunk(2, dim=1)
        return torch.cat([one, other, torch.stack([one, other]).sum(0)], 1), x.argmax(1)


class NoKernel(nn.Module):
    """PyTorch has the inverse in FP32 and FP64 alone."""

    def forward(self, x):
        return torch.linalg.inv(x @ x.transpose(1, 2) + 4 * torch.eye(3)) * 2


class Counts(nn.Module):
    """2049 / 2 and 1: in FP16 another whole number."""

    def forward(self, x):
        return (x * 2049.0).floor().to(torch.int64), x * 2


class States(nn.Module):
    """A buffer goes on from call to call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        return x - self.mean


KINDS = {
    "in-place": (InPlace, lambda: (torch.randn(4, 4),), ["x=4x4"]),
    "lists": (Lists, lambda: (torch.randn(4, 6),), ["x=4x6"]),
    "no-kernel": (NoKernel, lambda: (torch.randn(2, 3, 3),), ["x=2x3x3"]),
    "counts": (Counts, lambda: (torch.rand(3, 5),), ["x=3x5"]),
    "states": (States, lambda: (torch.randn(3, 4),), ["x=3x4"]),
}


@pytest.mark.parametrize("form", ["exported", "scripted"])
@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_ops(tmp_path, name, form):
    kind, draw, shapes = KINDS[name]
    module, inputs = seeded(kind), draw()
    path = save(module, inputs, form, tmp_path)
    report = convert(path, "--keep-io-types", shapes=shapes)
    check(path, inputs, report)
    reasons = {entry["type"]: entry["why"] for entry in report["kept"]}
    if name == "no-kernel":
        assert "no kernel" in reasons["aten::linalg_inv"] or "no kernel" in reasons["aten::inverse"]
    elif name == "counts":
        assert {"aten::floor", "aten::mul", "aten::to"} <= set(reasons)
    elif name == "lists":
        assert not reasons and len(report["casts"]) <= 4


class Branches(nn.Module):
    def forward(self, x):
        y = x * 3
        if bool(x.sum() > 0):
            z = y.exp()
        else:
            z = y - 1
        for _ in range(int(x.size(0))):
            z = z * 0.5
        return z + y


class Conditional(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: self.one(y).tanh(), lambda y: y - 1.0, (x * 3,)) * 2


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("kind, form", [(Branches, "scripted"), (Conditional, "exported")])
def test_control_flow(tmp_path, kind, form, sign):
    inputs = (torch.rand(3, 4) * sign,)
    path = save(seeded(kind), inputs, form, tmp_path)
    check(path, inputs, convert(path, shapes=["x=3x4"]))


class Tied(nn.Module):
    """One weight is read in FP32 and in FP16, and the other by two names."""

    def __init__(self):
        super().__init__()
        self.wide, self.low, self.again = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.again.weight = self.low.weight

    def forward(self, x):
        y = self.wide(x)
        return F.linear(self.again(self.low(y)), self.wide.weight).sigmoid()


@pytest.mark.parametrize("form", ["exported", "traced"])
def test_shared_parameters(tmp_path, form):
    inputs = (torch.randn(2, 8),)
    module = seeded(Tied)
    path = save(module, inputs, form, tmp_path)
    plain = convert(path, "--to", "fp16", shapes=["x=2x8"])
    assert plain["bytes"] == [2 * 64 * 4 + 3 * 8 * 4, 2 * 64 * 2 + 3 * 8 * 2]
    report = convert(path, "--keep", "aten::linear>aten::sigmoid", "--keep-io-types", shapes=["x=2x8"])
    check(path, inputs, report)
    assert [entry["type"] for entry in report["kept"]] == ["aten::linear"]
    # The first weight stays FP32 for the last product, and is cast for the first one.
    assert report["bytes"][1] == 64 * 4 + 64 * 2 + 3 * 8 * 2
    made = load(path.with_name(f"out{path.suffix}"))
    assert made.low.weight.dtype == made.again.weight.dtype == torch.float16
    assert made.wide.weight.dtype == torch.float32


def test_open_dims_and_values_of_data(tmp_path):
    class Open(nn.Module):
        def forward(self, x):
            return x[x > 0].sum() + (x * 2).mean(1)

    inputs = (torch.rand(3, 4),)
    path = save(Open().eval(), inputs, "exported", tmp_path, dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}})
    report = convert(path, "--to", "bf16")
    check(path, (torch.rand(7, 4),), report, torch.bfloat16)


def test_refusals(tmp_path):
    class Cast(nn.Module):
        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return x @ x

    class Twice(nn.Module):
        def forward(self, x):
            return x * 2

        @torch.jit.export
        def other(self, x):
            return x + 1

    inputs = (torch.randn(4, 4),)
    path = save(Cast().eval(), inputs, "exported", tmp_path)
    assert "region of autocast" in convert(path, status=2)
    assert "--with-fixes is for ONNX files" in convert(path, "--with-fixes", status=2)
    path = save(Twice().eval(), inputs, "scripted", tmp_path)
    assert "with the method forward alone" in convert(path, shapes=["x=4x4"], status=2)
    path = save(seeded(Squares), (torch.randn(4, 16),), "exported", tmp_path)
    assert "has no node 'nothing'" in convert(path, "--keep", "nothing", status=2)
    assert "has no input or output 'nothing'" in convert(path, "--keep-io-types=nothing", status=2)


def test_sixteen_bits_stay(tmp_path):
    class Half(nn.Module):
        def forward(self, x):
            return (x.half() * 2).float() + x

    inputs = (torch.randn(4, 4),)
    path = save(Half().eval(), inputs, "exported", tmp_path)
    report = convert(path, "--keep-io-types")
    check(path, inputs, report)
    path = save(Convolutional().eval().half(), (torch.randn(2, 3, 16, 16).half(),), "exported", tmp_path)
    assert convert(path)["copied"]
    assert path.with_name("out.pt2").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("words, x, y", [
    ([], "f16", "f16"), (["--keep-io-types"], "f32", "f32"), (["--keep-io-types=input"], "f32", "f16"),
    (["--keep-io-types=!input"], "f16", "f32"), (["--keep", "aten::linear"], "f32", "f32")])
def test_borders(tmp_path, words, x, y):
    inputs = (torch.randn(2, 4),)
    path = save(nn.Linear(4, 4).eval(), inputs, "exported", tmp_path)
    report = convert(path, *words)
    assert [(entry["name"], entry["to"]) for entry in report["io"]] == [("input", x), ("linear", y)]


SOURCE = """import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(16, 32)
        self.up.weight.data.mul_(200)

    def forward(self, x):
        y = self.up(x)
        power = (y * y).mean(-1, keepdim=True)
        share = power * 1e-4
        return torch.tanh(share - 1)
"""


def test_patch_of_source(tmp_path, monkeypatch):
    source = tmp_path / "energy.py"
    source.write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    import energy

    torch.manual_seed(0)
    module = energy.Energy().eval()
    inputs = (torch.randn(4, 16),)
    path = save(module, inputs, "exported", tmp_path)
    patch, report = tmp_path / "energy.patch", tmp_path / "r.json"
    done = run_mpopt("--convert", path, "-o", patch, "--report", report, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = patch.read_text()
    assert "+++ b/energy.py" in text
    assert '+        with torch.autocast("cuda", enabled=False):' in text
    assert "+            power = (_float32(y) * _float32(y)).mean(-1, keepdim=True)" in text
    assert {entry["tensor"] for entry in json.loads(report.read_text())["casts"]} >= {"y"}
    subprocess.run(["patch", "-p1", "-i", patch], cwd=tmp_path, check=True, capture_output=True)
    names = {"__name__": "patched"}
    exec(source.read_text().replace('"cuda"', '"cpu"'), names)
    torch.manual_seed(0)
    patched = names["Energy"]().eval()
    wanted = module(*inputs)
    with torch.autocast("cpu", dtype=torch.float16):
        plain, had = module(*inputs), patched(*inputs)
    # Squares past 65504 are Inf, of which tanh is 1.
    assert float((plain - wanted).abs().max()) > 0.01
    assert float((had - wanted).abs().max()) < 0.01
    # The patched source has nothing left to be patched.
    path = save(patched, inputs, "exported", tmp_path)
    again = run_mpopt("--convert", path, "-o", patch, cwd=tmp_path)
    assert again.returncode == 0 and not patch.read_text()


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False)

    def forward(self, x):
        return self.down(torch.tanh(self.up(x)))


@pytest.mark.parametrize("form, kept, share", [("exported", "linear_1", 0.5), ("traced", "aten::linear", 1)])
def test_arithmetic_in_fp32_and_its_limit(tmp_path, form, kept, share):
    path = save(seeded(Halves), (torch.randn(4, 64),), form, tmp_path)
    assert convert(path, "--keep", kept, shapes=["x=4x64"])["macs_fp32_share"] == share
    stopped = convert(path, "--keep", kept, "--min-low", "0.6", status=1, shapes=["x=4x64"])
    assert f"{round(100 - 100 * share)}% of the multiplications became low" in stopped["obstacle"]


@pytest.mark.parametrize("form", ["exported", "traced"])
def test_roundings_of_weights_are_expected(tmp_path, form):
    """Weights that FP16 holds exactly add nothing."""
    module, errors = seeded(Halves), []
    for is_exact in (False, True):
        if is_exact:
            for weight in module.parameters():
                weight.data = weight.data.half().float()
        path = save(module, (torch.randn(4, 64),), form, tmp_path)
        errors.append(convert(path, "--keep-io-types", shapes=["x=4x64"])["expected_error"])
    assert 1.1 * errors[1] < errors[0] < 2 * errors[1]
