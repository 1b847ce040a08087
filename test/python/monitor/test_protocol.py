"""The order of a step, kept casts, buffers that stand still, and terms of the loss."""

import logging
import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch import nn  # noqa: E402

import trainings  # noqa: E402
from mpopt.monitor import Monitor  # noqa: E402
from trainings import Blobs, classify, mlp  # noqa: E402


class Loop:
    """A step at a time, of one or two optimizers."""

    def __init__(self, optimizers=1):
        self.model, self.batches = mlp(), Blobs()
        parameters = list(self.model.parameters())
        groups = [parameters] if optimizers == 1 else [parameters[:3], parameters[3:]]
        self.optimizers = [torch.optim.SGD(group, 0.01) for group in groups]
        self.scaler = trainings.scaler(init_scale=1024.0)

    def loss(self, step):
        x, y = self.batches(step)
        with torch.autocast("cpu", torch.float16):
            return classify(self.model(x), y)

    def backward(self, step):
        loss = self.loss(step)
        self.scaler.scale(loss).backward()
        return loss

    def clear(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def watch(self, take, steps=12, **options) -> list:
        with Monitor(self.model, self.optimizers, self.scaler, record=None, sinks=[], config="none", **options) as monitor:
            for step in range(steps):
                loss = take(self, step)
                self.clear()
                monitor.step(loss=loss)
            return [alert for alert in monitor.alerts if alert.rule in ("MP411", "MP515")]


def finish(loop):
    for optimizer in loop.optimizers:
        loop.scaler.step(optimizer)
    loop.scaler.update()


def right(loop, step):
    loss = loop.backward(step)
    finish(loop)
    return loss


def unscaled(loop, step):
    loss = loop.backward(step)
    for optimizer in loop.optimizers:
        loop.scaler.unscale_(optimizer)
        loop.scaler.step(optimizer)
    loop.scaler.update()
    return loss


def accumulated(loop, step):
    for micro in range(3):
        loss = loop.backward(3 * step + micro)
    finish(loop)
    return loss


def in_turn(loop, step):
    """A pass, a step and an update of each optimizer."""
    for optimizer in loop.optimizers:
        loss = loop.backward(step)
        loop.scaler.step(optimizer)
        loop.scaler.update()
        loop.clear()
    return loss


@pytest.mark.parametrize("optimizers", [1, 2])
@pytest.mark.parametrize("take", [right, unscaled, accumulated, in_turn])
@pytest.mark.parametrize("norm", [1, 5])
def test_right_orders_are_silent(take, optimizers, norm):
    assert Loop(optimizers).watch(take, periods={"norm": norm}) == []


def test_update_between_two_steps():
    def take(loop, step):
        loss = loop.backward(step)
        for optimizer in loop.optimizers:
            loop.scaler.step(optimizer)
            loop.scaler.update()
        return loss

    found, = Loop(2).watch(take)
    assert (found.severity, found.step) == ("warning", 0) and "scaler.update() came between" in found.message


def test_update_before_unscaling():
    def take(loop, step):
        loss = loop.backward(step)
        loop.scaler.update(new_scale=512.0)
        loop.scaler.unscale_(loop.optimizers[0])
        loop.scaler.step(loop.optimizers[0])
        return loss

    found = Loop().watch(take, steps=1)
    assert ["scaler.update() came between" in alert.message for alert in found] == [True]


def test_two_steps_by_the_same_gradients():
    def take(loop, step):
        loss = right(loop, step)
        loop.optimizers[0].step()
        return loss

    found, = Loop().watch(take)
    assert (found.severity, found.step) == ("error", 0) and "stepped twice" in found.message


# -- Kept casts ---------------------------------------------------------------------------------------


def take_step(monitor, model, optimizer, batch):
    x, y = batch
    loss = classify(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    monitor.step(loss=loss)


def train(monitor, model, steps, around: bool, cache=True):
    optimizer, batches = torch.optim.SGD(model.parameters(), 0.01), Blobs()

    def region():
        return torch.autocast("cpu", torch.bfloat16, cache_enabled=cache)

    if around:
        with region():
            for step in range(steps):
                take_step(monitor, model, optimizer, batches(step))
    for step in () if around else range(steps):
        with region():
            take_step(monitor, model, optimizer, batches(step))


@pytest.mark.parametrize("around, cache, told", [(True, True, True), (True, False, False), (False, True, False)])
def test_a_region_around_the_loop(around, cache, told):
    model = mlp()
    with Monitor(model, record=None, sinks=[], config="none") as monitor:
        train(monitor, model, 20, around, cache)
        found = [alert for alert in monitor.alerts if alert.rule == "MP515"]
    assert [alert.step for alert in found] == ([3] if told else [])
    if told:
        assert found[0].severity == "error" and "one region lies around several steps" in found[0].message


class Through(torch.autograd.Function):
    """The copy, whose gradient is the weight's."""

    @staticmethod
    def forward(context, weight, copy):
        return copy

    @staticmethod
    def backward(context, gradient):
        return gradient, None


class Cached(nn.Module):
    """A layer that computes with a copy of its weight in 16 bits, which may be made once."""

    def __init__(self, is_stale):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.is_stale, self.copy = nn.Linear(trainings.FEATURES, trainings.CLASSES), is_stale, None
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        if self.copy is None or not self.is_stale:
            self.copy = self.inner.weight.detach().bfloat16()
        return nn.functional.linear(self.dropout(x), Through.apply(self.inner.weight, self.copy.float()))


@pytest.mark.parametrize("is_stale, form", [(True, tuple), (True, dict), (False, tuple)])
def test_weights_that_change_while_outputs_do_not(is_stale, form):
    model = Cached(is_stale)
    optimizer, batches = torch.optim.SGD(model.parameters(), 0.05), Blobs()
    x = batches(0)[0]
    with Monitor(model, optimizer, record=None, sinks=[], config="none", probe={"x": x} if form is dict else x) as monitor:
        for step in range(120):
            if step == 108:
                assert all(module.training for module in model.modules())
            take_step(monitor, model, optimizer, batches(step))
        found = [alert for alert in monitor.alerts if alert.rule == "MP515"]
    assert [(alert.step, alert.severity) for alert in found] == ([(107, "error")] if is_stale else [])


# -- Buffers ------------------------------------------------------------------------------------------


def test_statistics_that_stand_still(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(trainings.FEATURES, 8), nn.BatchNorm1d(8), nn.Linear(8, trainings.CLASSES))
    model.register_buffer("mask", torch.ones(4))
    optimizer, batches = torch.optim.SGD(model.parameters(), 0.01), Blobs()
    periods = dict.fromkeys(("gradient", "value", "parameter", "optimizer", "channel", "update", "output_gradient"), 10)
    with Monitor(model, optimizer, record=tmp_path / "run.mprec", sinks=[], periods=periods, config="none") as monitor:
        for step in range(120):
            if step == 60:
                model.eval()
            take_step(monitor, model, optimizer, batches(step))
        found = [alert for alert in monitor.alerts if alert.rule == "MP515"]
    assert {alert.severity for alert in found} == {"note"}
    assert [alert.message.split("changed")[0] for alert in found] == [f"step {found[0].step}: buffer '1.running_mean' (and 1 more) "]
    assert 60 < found[0].step < 110


# -- Terms of the loss --------------------------------------------------------------------------------


def test_the_term_of_a_loss():
    model, batches = mlp(), Blobs()
    with Monitor(model, record=None, sinks=[], config="none") as monitor:
        for step in range(12):
            x, y = batches(step)
            output = model(x)
            terms = {"cross_entropy": classify(output, y), "penalty": output.square().mean().log() * 0.01,
                     "ratio": torch.tensor(0.0) / (0.0 if step == 5 else 1.0)}
            loss = sum(terms.values())
            monitor.step(loss=loss, metrics=terms)
        found = [alert for alert in monitor.alerts if alert.rule == "MP501"]
    assert "step 5: the loss is nan, by its term 'ratio' (nan), while 'cross_entropy', 'penalty' are finite" in found[0].message


def test_a_micro_batch_without_a_token(tmp_path):
    """The mean over none is 0 / 0, and the outputs of all modules are finite."""
    model, batches = mlp(), Blobs()
    with Monitor(model, record=tmp_path / "run.mprec", sinks=[], config="none", periods={"value": 5}) as monitor:
        for step in range(12):
            terms = {}
            for place in range(3):
                x, y = batches(3 * step + place)
                losses = nn.functional.cross_entropy(model(x), y, reduction="none")
                mask = torch.zeros_like(losses) if (step, place) == (4, 1) else torch.ones_like(losses)
                terms[f"micro-batch {place}"] = (losses * mask).sum() / mask.sum()
            monitor.step(loss=sum(terms.values()), metrics=terms)
        found = [alert for alert in monitor.alerts if alert.rule == "MP501"]
    assert len(found) == 1 and "step 4: the loss is nan, by its term 'micro-batch 1' (nan)" in found[0].message
    assert "a mean over no tokens is 0 / 0: divide by max(1, count)" in found[0].message


def test_a_scaler_that_is_switched_off():
    """`GradScaler(enabled=use_amp)` has no scale where it is off."""
    loop = Loop()
    loop.scaler = torch.amp.GradScaler("cpu", enabled=False)

    def take(loop, step):
        loss = loop.backward(step)
        loop.scaler.unscale_(loop.optimizers[0])
        loop.scaler.step(loop.optimizers[0])
        loop.scaler.update()
        return loss

    assert loop.watch(take) == []


def test_a_loop_that_forgets_the_step_is_told(monkeypatch):
    said = []
    # Frameworks that other tests import may have switched the logger off.
    monkeypatch.setattr(logging.getLogger("mpopt.monitor"), "warning", said.append)
    with Monitor(mlp(), record=None, sinks=[], config="none"):
        pass
    assert ["call monitor.step(loss=loss) behind optimizer.step()" in text for text in said] == [True]
