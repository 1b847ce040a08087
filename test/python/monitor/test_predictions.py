"""--confirm judges the predictions of --train by the record of a monitored run of the plain
model."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from tool import run_mpopt  # noqa: E402
from torch import nn  # noqa: E402
import mpopt  # noqa: E402
from mpopt.monitor import Monitor, check_predictions, read  # noqa: E402
from mpopt.recorder import DTYPES  # noqa: E402

SHAPE = (32, 16)


class Net(nn.Module):
    def __init__(self, factor):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)
        self.factor = factor

    def forward(self, x):
        return self.second(torch.tanh(self.first(x))).float().square().mean() * self.factor


@pytest.fixture
def confirmed(tmp_path):
    """The findings of a rule with their status, after a run of a network like the judged one."""

    def run(judged, trained, rule, *options, scale=None, autocast=None):
        torch.jit.script(judged).save(str(tmp_path / "net.pt"))
        done = run_mpopt("--instrument", tmp_path / "net.pt", "-o", tmp_path / "probed.pt", "--train",
                         "--precision=autocast-fp16", "--input=x~0,1",
                         f"--input-shape=x={SHAPE[0]}x{SHAPE[1]}", *options)
        assert done.returncode == 0, done.stderr
        ledger = tmp_path / "probed.pt.probes.json"
        scaler = None if scale is None else trainings.scaler(init_scale=scale)
        optimizer, draw = torch.optim.SGD(trained.parameters(), 1e-3), trainings.generator()
        with Monitor(trained, optimizer, scaler, record=tmp_path / "run-%r.mprec", ledger=ledger,
                     periods={"gradient": 1}, sinks=[]) as monitor:
            for _ in range(6):
                with torch.autocast("cpu", autocast or torch.bfloat16, enabled=autocast is not None):
                    loss = trained(torch.randn(SHAPE, generator=draw))
                (scaler.scale(loss) if scaler else loss).backward()
                if scaler:
                    scaler.step(optimizer)
                    scaler.update()
                else:
                    optimizer.step()
                optimizer.zero_grad()
                monitor.step(loss=loss)
        verdict = mpopt.confirm(tmp_path / "run-0.mprec", ledger)
        return [finding.status for finding in verdict.findings if finding.rule == rule]

    return run


def test_underflow(confirmed):
    assert confirmed(Net(1e-7), Net(1e-7), "MP401", "--scaler=none") == ["confirmed"]


def test_underflow_that_the_run_refutes(confirmed):
    assert confirmed(Net(1e-7), Net(1.0), "MP401", "--scaler=none") == ["refuted"]


def test_overflow(confirmed, tmp_path):
    assert confirmed(Net(1e3), Net(1e3), "MP402", "--scaler=65536", scale=65536.0,
                     autocast=torch.float16) == ["confirmed"]
    # The dtype of the cast, which `.grad` does not have.
    records = read(tmp_path / "run-0.mprec", tmp_path / "probed.pt.probes.json")
    assert records["first.weight", "gradient"].dtype == DTYPES["f16"]
    assert records["loss_scale", "scalar"].calls == 6


def test_window_and_shares_against_the_run(confirmed, tmp_path):
    """A scale inside of the window as predicted and one above; shares that a run in FP32 counts."""
    def predictions(factor, *options, **run):
        (tmp_path / "run-0.mprec").unlink(missing_ok=True)
        confirmed(Net(factor), Net(factor), "MP401", *options, **run)
        return check_predictions(tmp_path / "run-0.mprec", tmp_path / "probed.pt.probes.json")

    found = predictions(1e-7, "--scaler=none")
    shares = {(entry.parameter, entry.scale): entry for entry in found.flushed}
    assert len(shares) == 8 and found.settled == 1.0 and found.inside is False
    for (_, scale), entry in shares.items():
        least, most = entry.seen
        assert least == most == pytest.approx(entry.predicted, abs=0.2)
        assert (least > 0.3) == (scale == 1)
    # The same counted by hand.
    record = read(tmp_path / "run-0.mprec", tmp_path / "probed.pt.probes.json")[
        "first.weight", "gradient"]
    lost = sum(record.histogram[:-25 + 150 + 1])
    assert shares["first.weight", 1.0].seen[0] == lost / sum(record.histogram)

    found = predictions(1.0, "--scaler=65536", scale=65536.0, autocast=torch.float16)
    assert found.settled == 65536.0 and found.inside is True
    assert all(entry.seen[0] <= entry.seen[1] <= 0.1 for entry in found.flushed
               if entry.scale == 65536.0)
    found = predictions(1e3, "--scaler=65536", scale=2.0**24, autocast=torch.float16)
    low, high = found.window
    assert low < high < 24 and found.inside is (math.log2(found.settled) <= high)


def test_a_ledger_without_predictions(tmp_path):
    model = trainings.mlp(8)
    with Monitor(model, record=tmp_path / "run.mprec", periods={"value": 1}, sinks=[]) as monitor:
        model(trainings.Blobs()(0)[0])
        monitor.step()
    with pytest.raises(mpopt.Error, match="no predictions of a training"):
        check_predictions(tmp_path / "run.mprec", tmp_path / "run.probes.json")
