"""Bounds that were wrong once. After an op that mpopt does not know, whose dtype nobody
knows either, a Python number makes no integer of a float, nor a float64 of a float16; NaN
and Inf survive what PyTorch's kernels let them survive."""


import pytest
from tool import read_ranges

torch = pytest.importorskip("torch")


class Open(torch.nn.Module):
    def forward(self, x):
        y = torch.vander(x, 3)
        pair = torch.cartesian_prod(x, x)
        return (y, torch.nn.functional.softsign(pair), 1 - y, y * 0.5, y * 2, torch.pow(y, 3.0),
                torch.clamp(y, -1, 2), torch.where(y > 0, y, 0.5), y / 2, y + x[0], y > 0.5,
                torch.sigmoid(y * 3 + 1))


def dump(module, folder):
    module.save(str(folder / "m.pt"))
    ranges = read_ranges(folder / "m.pt", "--input-shape", "x=4:f32", "--input", "x=-0.75:0.75")
    return [ranges["tensors"][name] for name in ranges["outputs"]]


@pytest.mark.parametrize("compile", ["script", "trace"])
def test_numbers_beside_open_dtypes(compile, tmp_path):
    module = Open()
    example = torch.rand(4)
    compiled = (torch.jit.script(module) if compile == "script"
                else torch.jit.trace(module, example))
    said = dump(compiled, tmp_path)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for x in (torch.full((4,), -0.75), torch.tensor([0.75, 0.25, -0.5, 1e-3])):
            for number, (result, range) in enumerate(zip(module(x.to(dtype)), said)):
                assert result.dtype == torch.bool or range["dtype"] == "unknown", number
                values = result.double().flatten()
                assert float(range["lo"]) <= values.min() and values.max() <= float(range["hi"])
                least = values[values != 0].abs().min() if values.any() else 1.0
                assert float(range["min_nonzero"]) <= least, number


def test_what_is_dropped_is_multiplied(tmp_path):
    """Inf times 0: alpha_dropout gives NaN where its input is Inf."""
    class Dropped(torch.nn.Module):
        def forward(self, x):
            return torch.alpha_dropout(torch.exp(x * 1000.0), 0.5, True)
    said, = dump(torch.jit.script(Dropped()), tmp_path)
    assert said["nan"]


def test_thresholds_keep_nan(tmp_path):
    """NaN is not at most the threshold."""
    class Threshold(torch.nn.Module):
        def forward(self, x):
            return torch.threshold(torch.log(x), 1.0, 5.0), torch.threshold(x, 0.25, 5.0)
    logarithm, plain = dump(torch.jit.script(Threshold()), tmp_path)
    assert logarithm["nan"] and torch.threshold(torch.log(torch.tensor(-0.5)), 1.0, 5.0).isnan()
    assert not plain["nan"] and (plain["lo"], plain["hi"]) == (0.25, 5)
