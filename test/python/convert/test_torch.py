"""mpopt --convert of PyTorch's files: archives of TorchScript and exported programs in mixed precision."""

import json
import warnings
import zipfile

import pytest
from tool import run_mpopt

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils import _pytree  # noqa: E402

FORMS = ["exported", "decomposed", "traced", "scripted"]


def save(module, inputs, form, folder, **options):
    """The module in one of the forms; a file."""
    path = folder / ("m.pt" if form in ("traced", "scripted") else "m.pt2")
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if form == "scripted":
            torch.jit.script(module).save(path)
        elif form == "traced":
            torch.jit.trace(module, inputs, check_trace=False).save(path)
        else:
            program = torch.export.export(module, inputs, **options)
            torch.export.save(program.run_decompositions() if form == "decomposed" else program, path)
    return path


def load(path):
    return torch.export.load(path).module() if path.suffix == ".pt2" else torch.jit.load(path)


def call(path, inputs):
    with torch.no_grad():
        results = load(path)(*[value.clone() for value in inputs])
    return [value for value in _pytree.tree_flatten(results)[0] if isinstance(value, torch.Tensor)]


def convert(path, *options, status=0, shapes=()):
    """The report; of a refusal the line."""
    out, report = path.with_name(f"out{path.suffix}"), path.with_name("r.json")
    given = [word for shape in shapes for word in ("--input-shape", shape)] if path.suffix == ".pt" else []
    done = run_mpopt("--convert", path, "-o", out, "--report", report, *given, *options)
    assert done.returncode == status, done.stderr
    if status == 2:
        assert not out.exists()
        assert len(done.stderr.splitlines()) == 1
        return done.stderr
    return json.loads(report.read_text())


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
        assert error <= max(4 * report["expected_error"], torch.finfo(low).eps)
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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(tmp_path, name, form):
    kind, draw, shapes = NETWORKS[name]
    module, inputs = seeded(kind), draw()
    path = save(module, inputs, form, tmp_path)
    report = convert(path, shapes=shapes)
    out = check(path, inputs, report)
    assert report["bytes"][1] == report["bytes"][0] // 2
    # Once more: no byte is another one.
    first = out.read_bytes()
    assert convert(path, shapes=shapes) == report
    assert out.read_bytes() == first
    again = out.with_name(f"again{out.suffix}")
    assert run_mpopt("--convert", out, "-o", again).returncode == 0
    assert again.read_bytes() == first
    with zipfile.ZipFile(out) as archive:
        assert any(member.endswith("/extra/mpopt.convert") for member in archive.namelist())


@pytest.mark.parametrize("form", FORMS)
def test_what_overflows_stays(tmp_path, form):
    path = save(seeded(Squares), (torch.randn(4, 16),), form, tmp_path)
    report = convert(path, shapes=["x=4x16"])
    kept = {entry["type"] for entry in report["kept"]}
    assert any(kind.startswith("aten::pow") for kind in kept), kept
    assert not any("linear" in kind or "mm" in kind for kind in kept)
    # Without the plan the squares are Inf, and x / Inf is 0.
    done = run_mpopt("--convert", path, "-o", tmp_path / f"low{path.suffix}", "--to", "fp16", "--input-shape", "x=4x16")
    assert done.returncode == 1 and "Inf or NaN" in done.stderr or "overflow" in done.stderr
