"""`mpopt.try_op`: four planted ops, entries that a check takes, TorchScript and torch.export."""

import math

import mpopt
import pytest

torch = pytest.importorskip("torch")

from mpopt.trying import try_op  # noqa: E402


def silu(x):
    return x * torch.sigmoid(x)


def only_f16(x):
    """Its FP32 and BF16 paths take the first bits for FP16's."""
    return silu(x) if x.dtype == torch.float16 else silu(x.view(torch.int16).view(x.dtype) * 0 + x.abs())


def only_f32(x):
    """The spacing of FP16 at 1,000 is a half."""
    return silu((x + 1000) - 1000)


def neither(x):
    return silu(x) + x.abs().amax()


PLANTED = [(silu, ["f32", "f16", "bf16"]), (only_f16, ["f16"]), (only_f32, ["f32"]), (neither, [])]


def samples(count=4):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(4, 64, generator=generator) for _ in range(count)]


@pytest.mark.parametrize("fn, right", PLANTED, ids=[fn.__name__ for fn, _ in PLANTED])
def test_planted(fn, right, capsys):
    tried = try_op(fn, samples(), name="com.acme::FlashThing", reference=silu)
    assert tried.right == right
    shown = capsys.readouterr().out
    assert '[ops."com.acme::FlashThing"]' in shown and f"dtypes = {right}".replace("'", '"') in shown


def test_facts(capsys):
    """A matrix's slope is the root of the squares of a row; -1 where samples differ in shape."""
    matrix = torch.randn(64, 32, generator=torch.Generator().manual_seed(2))
    given = [torch.randn(rows, 64, generator=torch.Generator().manual_seed(rows)) for rows in (4, 7)]
    tried = try_op(lambda x: x @ matrix.to(x.dtype), given, name="m", show=False)
    assert tried.slopes == pytest.approx([float(matrix.square().sum(0).mean().sqrt())], rel=0.2)
    assert tried.shape == (-1, 32) and tried.like == 0 and tried.dtype is None
    assert capsys.readouterr().out == ""
    # Operands with slopes of their own, integers among them.
    pick = torch.tensor([0, 1])
    tried = try_op(lambda x, index, y: x[index] * 3 + y, [(given[0], pick, given[0][:2])], name="p", show=False)
    assert tried.slopes == pytest.approx([3, 0, 1], rel=0.2) and tried.like == 2
    assert try_op(lambda x: x.float() * 2, samples(), name="wide", show=False).dtype == "f32"


def test_sums_in_the_format():
    def added(x):
        total = torch.zeros(x.shape[:-1], dtype=x.dtype)
        for column in range(x.shape[-1]):
            total = total + x[..., column] * x[..., column]
        return total.unsqueeze(-1) * torch.ones_like(x)

    given = torch.randn(8, 1024, generator=torch.Generator().manual_seed(3))
    tried = try_op(added, given, name="added", show=False)
    assert tried.accumulator in ("f16", "bf16") and tried.formats["f32"].right


def test_no_backward_and_errors():
    def raises(x):
        if x.dtype != torch.float32:
            raise RuntimeError("not implemented for 'Half'")
        return silu(x)

    tried = try_op(raises, samples(), name="raises", show=False)
    assert tried.right == ["f32"] and "raises not implemented" in str(tried)
    assert try_op(lambda x: silu(x.detach()), samples(), name="d", show=False).formats["f32"].backward is None
    overflow = try_op(lambda x: (x * 1000).square().sqrt(), samples(), name="o", show=False)
    assert math.isnan(overflow.formats["f16"].forward) and "f16" not in overflow.right
    with pytest.raises(mpopt.Error, match="no float tensor"):
        try_op(silu, [torch.arange(3)])
    with pytest.raises(mpopt.Error, match="not one float tensor"):
        try_op(lambda x: (x, x), samples())


@pytest.fixture(scope="module")
def library():
    lib = torch.library.Library("acme", "DEF")
    lib.define("flash(Tensor x) -> Tensor")
    lib.impl("flash", silu, "CPU")
    lib.impl("flash", lambda x: torch.empty_like(x), "Meta")
    yield torch.ops.acme.flash
    lib._destroy()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, x):
        return self.last(torch.ops.acme.flash(self.first(x)))


@pytest.mark.parametrize("form", ["torchscript", "export"])
def test_models(library, form, tmp_path):
    """From unknown to a verdict that a run agrees with."""
    x = samples(1)[0]
    net = Net().eval()
    path = tmp_path / ("m.pt" if form == "torchscript" else "m.pt2")
    if form == "torchscript":
        torch.jit.save(torch.jit.trace(net, x), str(path))
    else:
        torch.export.save(torch.export.export(net, (x,)), str(path))
    before = mpopt.check(path, precision="fp16")
    assert "acme::flash" in list(before.outputs.values())[0].unknown
    tried = try_op(library, [net.first(x).detach()], show=False)
    assert tried.name == "acme::flash" and tried.right == ["f32", "f16", "bf16"]
    (tmp_path / "mpopt.toml").write_text(str(tried))
    after = mpopt.check(path, precision="fp16")
    with torch.no_grad():
        exact, half = net(x), Net().half()(x.half()).float()
    measured = float((half - exact).abs().max() / exact.abs().max())
    assert measured / 4 < list(after.outputs.values())[0].expected_error < measured * 4
    (tmp_path / "mpopt.toml").write_text(str(tried).replace('["f32", "f16", "bf16"]', '["f32"]'))
    assert [finding.rule for finding in mpopt.check(path, precision="fp16").findings
            if finding.severity == "error"].count("MP110") == 1
