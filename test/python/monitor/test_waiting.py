"""A step waits for no device."""

import collections

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from trainings import Blobs, Training, classify, mlp  # noqa: E402
from mpopt.monitor import Monitor, packs  # noqa: E402

EVERY = dict.fromkeys(["norm", "input", "gradient", "value", "parameter", "optimizer", "channel",
                       "update"], 1)
#: Ops whose result, or its shape, the host reads.
WAITING = {"_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "unique2", "_unique2",
           "masked_select", "allclose"}


class Count(TorchDispatchMode):
    """Counts ops that wait for what a device computed."""

    def __init__(self):
        super().__init__()
        self.found = collections.Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.removeprefix("aten::")
        if name in WAITING:
            self.found[name] += 1
        return func(*args, **(kwargs or {}))


def read_by_hand(model):
    """As hooks are often written."""
    def hook(parameter):
        parameter.grad.abs().max().item()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)


STEPS = 24


def count(watch, folder) -> int:
    """Calls that wait, in a training on the processor with a scaler and an optimizer."""
    model = mlp()
    training = Training(model, Blobs(), scaler=trainings.scaler())
    if watch == "by hand":
        read_by_hand(model)
    with Monitor(model, training.optimizer, training.scaler, record=folder / f"{watch}.mprec",
                 periods=EVERY, enabled=watch == "monitor") as monitor:
        with Count() as counted:
            for step in range(STEPS):
                loss = training.forward(step)
                training.scaler.scale(loss).backward()
                training.scaler.step(training.optimizer)
                training.scaler.update()
                training.optimizer.zero_grad()
                monitor.step(loss=loss)
    return sum(counted.found.values())


def test_calls_that_wait_are_counted(tmp_path):
    """The monitor adds none to those of the training; hooks of the usual kind add theirs."""
    without = count("nothing", tmp_path)
    assert count("monitor", tmp_path) == without
    assert count("by hand", tmp_path) == without + 6 * STEPS


class Copies:
    """Takes the place of the one copy of a window, which `meta` has not."""

    def __init__(self, monkeypatch):
        self.steps = []
        monkeypatch.setattr(packs.Pack, "close", self.close)

    def close(self, step):
        self.steps.append(step)
        return self

    def is_there(self):
        return False


def test_nothing_is_read_on_a_device_whose_values_cannot_be_read(monkeypatch, tmp_path):
    """Tensors of `meta` have no values, so reading one fails: all that a step computes is queued."""
    copies = Copies(monkeypatch)
    model = mlp().to("meta")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, momentum=0.9)
    with pytest.raises(RuntimeError, match="meta"):
        next(model.parameters()).sum().item()
    monitor = Monitor(model, optimizer, record=tmp_path / "run.mprec", periods=EVERY, sinks=[])
    seen = []
    monkeypatch.setattr(monitor._collector._pack.__class__, "add",
                        lambda self, tag, vector, work=None: seen.append((tag[0], vector.device.type)))
    for _ in range(20):
        x = torch.empty(trainings.BATCH, trainings.FEATURES, device="meta")
        y = torch.empty(trainings.BATCH, dtype=torch.long, device="meta")
        loss = classify(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        monitor.step(loss=loss)
    assert copies.steps == [8, 16]
    assert {device for _, device in seen} == {"meta"}
    assert {word for word, _ in seen} >= {"norms", "loss", "input", "channels"}
    monitor._windows.clear()
    monitor._collector.disable()
