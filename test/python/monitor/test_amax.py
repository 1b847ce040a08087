"""Inputs beside the history that an FP8 scale comes from, in modules with the public attributes of TransformerEngine's and torchao's."""

from __future__ import annotations

import types

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch import nn  # noqa: E402

from mpopt.monitor import Monitor, amax  # noqa: E402

LENGTH = 4


class Layer(nn.Linear):
    """A product, and a history of its input's magnitudes that `end_step` moves on. `keeps`: the maximum of all passes of a step."""

    def __init__(self, keeps: bool):
        super().__init__(16, 16)
        self.keeps, self.now = keeps, torch.zeros(())
        self.make_history(torch.full((LENGTH,), 8.0))

    def forward(self, x):
        if self.training and torch.is_grad_enabled():
            magnitude = x.detach().abs().max()
            self.now = torch.maximum(self.now, magnitude) if self.keeps else magnitude
        return super().forward(x)

    def end_step(self) -> None:
        history = self.history()
        history[1:], history[0] = history[:-1].clone(), self.now
        self.now = torch.zeros(())


class OfEngine(Layer):
    margin = 0

    """`fp8_meta["scaling_fwd"].amax_history`: a row a step, a column a tensor."""

    def make_history(self, first):
        # Columns of the weight and the output are not the input's.
        table = torch.stack([first, torch.full((LENGTH,), 1e-3), torch.full((LENGTH,), 1e6)], 1)
        self.fp8_meta = {"scaling_fwd": types.SimpleNamespace(amax_history=table, scale=torch.ones(3)), "recipe": None}
        self.set_scale()

    def set_scale(self):
        """As `DelayedScaling(amax_compute_algo="max")` sets it."""
        self.fp8_meta["scaling_fwd"].scale[0] = amax.LARGEST / self.history().max() / 2 ** self.margin

    def end_step(self):
        super().end_step()
        self.set_scale()

    def history(self):
        return self.fp8_meta["scaling_fwd"].amax_history[:, 0]


class OfTorchao(Layer):
    def make_history(self, first):
        self.register_buffer("fp8_amax_history_input", first)
        self.register_buffer("fp8_amax_history_weight", torch.full((LENGTH,), 1e-3))

    def history(self):
        return self.fp8_amax_history_input


class Own(Layer):
    def make_history(self, first):
        self.register_buffer("amax_history", first)

    def history(self):
        return self.amax_history


KINDS = pytest.mark.parametrize("kind", [OfEngine, OfTorchao, Own])


def run(layer, sizes, steps=24):
    """Alerts of a training whose passes in a step have inputs of these sizes."""
    torch.manual_seed(0)
    model = nn.Sequential(layer, nn.ReLU(), nn.Linear(16, 4))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with Monitor(model, optimizer, record=None, sinks=[], config="none") as monitor:
        for step in range(steps):
            optimizer.zero_grad()
            for size in sizes(step):
                loss = model(torch.randn(8, 16) * size).square().mean() / size ** 2
                loss.backward()
            optimizer.step()
            layer.end_step()
            with torch.no_grad():
                model(torch.full((8, 16), 1e5))         # an evaluation
            monitor.step(loss=loss)
    return [alert for alert in monitor.alerts if alert.rule == "MP516"]


@KINDS
def test_the_last_pass_of_a_step(kind):
    alert, = run(kind(keeps=False), lambda step: (24.0, 8.0, 1.0))
    assert alert.layer == "0" and alert.severity == "warning" and "2 of the 3 passes" in alert.message and "clipped" in alert.message


@KINDS
def test_the_maximum_of_a_step(kind):
    assert not run(kind(keeps=True), lambda step: (24.0, 8.0, 1.0))


@KINDS
def test_one_batch_of_unlike_data(kind):
    assert not run(kind(keeps=True), lambda step: (20.0 if step == 9 else 1.0,))


@KINDS
def test_growth(kind):
    """Three times a step, with a history of the steps before."""
    assert run(kind(keeps=True), lambda step: (3.0 ** step,), steps=12)


def test_histories_that_are_not_there():
    empty = OfEngine(True)
    empty.fp8_meta["scaling_fwd"].amax_history = torch.zeros(0)
    current = nn.Linear(4, 4)
    current.fp8_meta = {"recipe": None}
    assert amax.find_history(empty) is None and amax.find_history(current) is None and amax.find_history(nn.Linear(4, 4)) is None
    cold = Own(True)
    cold.amax_history.zero_()
    assert not run(cold, lambda step: (1.0,))


class WithMargin(OfEngine):
    margin = 3


class OfLastStep(OfTorchao):
    """A scale that the last step alone gives, beside a history of four."""

    def make_history(self, first):
        super().make_history(first)
        self.register_buffer("fp8_scale_input", amax.LARGEST / first[0])

    def end_step(self):
        super().end_step()
        self.fp8_scale_input.fill_(amax.LARGEST / self.history()[0])


def test_a_margin_is_in_the_scale():
    """Inputs that are four times as large as in the steps before, in every fifth step."""
    sizes = lambda step: [4.0 if step % 5 == 0 else 1.0]  # noqa: E731
    assert run(OfEngine(keeps=True), sizes) and not run(WithMargin(keeps=True), sizes)


def test_a_scale_of_the_last_step():
    """Every other step has large inputs: a history of four knows them, the last step does not."""
    sizes = lambda step: [8.0 if step % 2 else 1.0]  # noqa: E731
    assert run(OfLastStep(keeps=True), sizes) and not run(OfTorchao(keeps=True), sizes)
