"""Buffers that a step which was left out has changed."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from trainings import Blobs, Training, classify  # noqa: E402
from torch import nn  # noqa: E402
from mpopt.monitor import Monitor, diagnosis, history  # noqa: E402


class Net(nn.Module):
    """A batch norm behind a layer that one batch overflows, and a mask that holds -Inf."""

    def __init__(self, wide):
        super().__init__()
        torch.manual_seed(0)
        self.wide = wide
        self.first, self.norm = nn.Linear(trainings.FEATURES, 16), nn.BatchNorm1d(16)
        self.head = nn.Linear(16, trainings.CLASSES)
        self.register_buffer("mask", torch.full((3,), -torch.inf))

    def forward(self, x):
        with torch.autocast("cpu", torch.float16, enabled=not self.wide):
            h = self.norm(self.first(x.float() if self.wide else x))
        return self.head(torch.relu(h))


@pytest.mark.parametrize("wide", [False, True])
def test_statistics_that_one_batch_spoils(tmp_path, wide):
    def spoil(training, step, batch):
        return (batch[0] * 60_000, batch[1]) if step == 40 else batch

    model = Net(wide)
    training = Training(model, Blobs(), classify, torch.optim.Adam(model.parameters(), 1e-3),
                        trainings.scaler(init_scale=1024.0), before_batch=spoil)
    path = tmp_path / "run.mprec"
    with Monitor(model, training.optimizer, training.scaler, record=path, sinks=[]) as monitor:
        training.run(80, monitor)
        alerts = monitor.alerts
    found = [alert for alert in alerts if "buffer" in alert.message]
    if wide:
        assert alerts == []
        return
    assert [alert.layer for alert in found] == ["norm", "norm"] and found[0].rule == "MP501"
    assert 40 <= found[0].step <= 50 and "evaluation" in found[0].message
    cause = diagnosis.diagnose(history.read(path))[0]
    assert "evaluation is broken" in cause.name and cause.layer == "norm"
