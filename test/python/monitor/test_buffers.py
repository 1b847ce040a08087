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
    assert [alert.layer for alert in found] == ["norm"] and found[0].rule == "MP501"
    assert 40 <= found[0].step <= 50 and "(and 1 more)" in found[0].message
    assert "evaluation, which reads it, is invalid since step 40; restore it from a checkpoint" in found[0].message
    cause = diagnosis.diagnose(history.read(path))[0]
    assert "evaluation is broken" in cause.name and cause.layer == "norm"


# -- The last steps --------------------------------------------------------------------------------


def run_watched(steps, change, averages=None):
    """The alerts on state of a training whose state `change` touches before each step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(trainings.FEATURES, 8), nn.BatchNorm1d(8), nn.Linear(8, trainings.CLASSES))
    model.register_buffer("cache", torch.zeros(4))
    average = averages(model) if averages else None
    change(model, average, -1)
    optimizer, batches = torch.optim.SGD(model.parameters(), 0.01), Blobs()
    monitor = Monitor(model, optimizer, record=None, sinks=[], config="none",
                      averages=None if average is None else {"ema": average})
    for step in range(steps):
        change(model, average, step)
        x, y = batches(step)
        optimizer.zero_grad()
        loss = classify(model(x), y)
        loss.backward()
        optimizer.step()
        if average is not None and step < 60:
            average.update_parameters(model)
        monitor.step(loss=loss)
    change(model, average, steps)
    monitor.close()
    return [alert for alert in monitor.alerts if "buffer" in alert.message]


@pytest.mark.parametrize("at", [5, 21, 24, 27])
def test_a_buffer_that_breaks_in_the_last_steps(at):
    """Also behind the last step, and in the first window."""
    def change(model, _, step):
        if step == at:
            model[1].running_var[2] = torch.nan
            model.cache[0] = torch.inf

    (alert,) = run_watched(27, change)
    assert (alert.rule, alert.layer, alert.severity) == ("MP501", "cache", "error")
    assert "'cache' (and 1 more)" in alert.message and "is invalid since step" in alert.message
    assert at - 8 <= int(alert.message.split("since step ")[1].split(";")[0]) <= max(at, 8)


def test_statistics_that_are_spoilt_from_the_start():
    def change(model, _, step):
        if step == -1:
            model[1].running_mean[0] = torch.nan

    (alert,) = run_watched(10, change)
    assert alert.layer == "1" and "invalid since step 0" in alert.message


@pytest.mark.parametrize("eval_at, told", [(None, False), (80, True), (96, False)])
def test_statistics_that_stand_still_in_the_last_steps(eval_at, told):
    def change(model, _, step):
        if step == eval_at:
            model.eval()

    found = run_watched(100, change)
    assert [(alert.rule, alert.layer) for alert in found] == ([("MP515", "1")] if told else [])
    if told:
        assert "evaluation is that of step 79" in found[0].message


def make_average(model):
    return torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))


@pytest.mark.parametrize("steps, rule", [(40, None), (59, "MP501"), (100, "MP515")])
def test_an_average_of_the_weights(steps, rule):
    """One that is not updated from step 60 on, and one that a bad step reaches."""
    def change(model, average, step):
        if step == 58:
            average.module[0].weight.data[0, 0] = torch.nan if rule == "MP501" else 0.0

    found = run_watched(steps, change, make_average)
    assert [alert.rule for alert in found] == ([rule] if rule else [])
    if rule:
        assert found[0].layer.startswith("ema.module")


class Shadow:
    """An average that is no module."""

    def __init__(self, model):
        self.shadow = [parameter.detach().clone() for parameter in model.parameters()]

    def state_dict(self):
        return {"decay": 0.9, "shadow_params": self.shadow}

    def update_parameters(self, model):
        for mine, parameter in zip(self.shadow, model.parameters(), strict=True):
            mine.lerp_(parameter.detach(), 0.1)


def test_an_average_that_is_no_module():
    def change(model, average, step):
        if step == 30:
            average.shadow[0][0, 0] = torch.inf

    (alert,) = run_watched(34, change, Shadow)
    assert alert.rule == "MP501" and "'ema.shadow_params.0'" in alert.message


def test_a_largest_value_so_far_is_no_frozen_buffer():
    draw = trainings.generator(3)

    def change(model, _, step):
        model.cache[:] = torch.maximum(model.cache, torch.rand(4, generator=draw))

    assert run_watched(300, change) == []
