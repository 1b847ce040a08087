"""Casts of autocast, which no probe sees, as the origin of NaN and Inf."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
import mpopt  # noqa: E402
from mpopt import _torch_ops  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402


class Loud(nn.Module):
    def __init__(self, factor):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.factor = nn.Linear(8, 8), nn.Linear(8, 4), factor

    def forward(self, x):
        return self.second(functional.layer_norm(self.first(x), [8]) * self.factor).sum()


@pytest.mark.parametrize("factor, dtype", [(1e6, torch.float16), (1e6, torch.bfloat16), (1.0, torch.float16)])
def test_a_cast_of_autocast_is_named(factor, dtype, tmp_path):
    model, x = Loud(factor), torch.randn(4, 8, generator=torch.Generator().manual_seed(0))
    torch.jit.trace(model, x).save(tmp_path / "model.pt")
    precision = "autocast-fp16" if dtype is torch.float16 else "autocast-bf16"
    probed = mpopt.instrument(tmp_path / "model.pt", tmp_path / "probed.pt", precision=precision, probe="all")
    assert _torch_ops.load()
    with Recorder(probed.ledger, tmp_path / "r.mprec"), torch.autocast("cpu", dtype):
        torch.jit.load(probed.path)(x)
    first = mpopt.confirm(tmp_path / "r.mprec", probed.ledger).first_bad
    if factor == 1.0 or dtype is torch.bfloat16:
        assert first is None
        return
    assert first["op"]["type"] == "aten::linear"
    assert "' from f32 to f16 makes Inf of " in first["why"] and "of up to 1.7" in first["why"], first["why"]
