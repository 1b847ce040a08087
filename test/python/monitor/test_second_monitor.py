"""Monitors of one process, one after the other and side by side."""

import logging
import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch import nn  # noqa: E402
from mpopt.monitor import Monitor, history, reading  # noqa: E402


def make(gain):
    """A model whose output is a constant."""
    model = nn.Sequential(nn.Identity(), nn.Linear(4, 4))
    with torch.no_grad():
        model[1].weight.zero_()
        model[1].bias.fill_(gain)
    return model


def step(model, monitor):
    with torch.autocast("cpu", torch.float16):
        loss = model(torch.ones(2, 4)).float().mean()
    loss.backward()
    monitor.step(loss=loss)


def run(path, gain):
    model = make(gain)
    monitor = Monitor(model, record=path, periods={"value": 1}, sinks=[])
    for _ in range(8):
        step(model, monitor)
    return monitor


def largest(path):
    return max(seen.absmax for sample in history.read(path).samples
               for seen in sample.seen if seen.kind == "value" and seen.name == "1")


def rules(monitor):
    return [alert.rule for alert in monitor.alerts]


@pytest.mark.parametrize("first, second", [(50_016., 50_016.), (64_000., 50_016.), (64_000., 2.)])
def test_the_same_record_again(tmp_path, first, second):
    """As in a notebook whose cell runs twice: nothing of the first run is in the second."""
    path = tmp_path / "run.mprec"
    one = run(path, first)
    assert rules(one) == (["MP502"] if first > 60_000 else [])
    one.close()
    assert largest(path) == first
    other = run(path, second)
    assert rules(other) == [] and other.record_path == str(path)
    other.close()
    assert largest(path) == second
    assert reading.read(path)["1", "value"].absmax == second


def test_the_same_record_while_one_is_open(tmp_path, caplog):
    """It gets a name of its own, and says so."""
    path = tmp_path / "run-%r.mprec"
    one = run(path, 64_000.)
    with caplog.at_level(logging.WARNING, "mpopt.monitor"):
        other = run(path, 2.)
    assert "run-0.mprec' is that of another monitor" in caplog.text
    assert rules(other) == [] and other.record_path == str(tmp_path / "run-0-2.mprec")
    for monitor, gain in ((one, 64_000), (other, 2)):
        written = monitor.record_path
        monitor.close()
        assert largest(written) == gain and reading.read(written)["1", "value"].absmax == gain


def test_the_default_record_of_an_earlier_run_is_kept(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    run("run-%r.mprec", 64_000.).close()
    with caplog.at_level(logging.WARNING, "mpopt.monitor"):
        other = run("run-%r.mprec", 2.)
    assert "run-0.mprec' is that of an earlier run" in caplog.text
    other.close()
    assert other.record_path == "run-0-2.mprec" and other.ledger_path == "run-2.probes.json"
    assert largest("run-0.mprec") == 64_000 and largest("run-0-2.mprec") == 2


def test_equal_models_side_by_side(tmp_path):
    """Step by step in turn: each record has its own model's values."""
    models = [make(gain) for gain in (64_000., 2.)]
    monitors = [Monitor(model, record=tmp_path / f"{place}.mprec", periods={"value": 1}, sinks=[])
                for place, model in enumerate(models)]
    for _ in range(16):
        for model, monitor in zip(models, monitors, strict=True):
            step(model, monitor)
    assert [rules(monitor) for monitor in monitors] == [["MP502"], []]
    for place, monitor in enumerate(monitors):
        monitor.close()
        seen = reading.read(tmp_path / f"{place}.mprec")["1", "value"]
        assert (seen.absmax, seen.calls) == ((64_000, 2)[place], 16)


@pytest.mark.parametrize("make", [lambda: nn.Linear(4, 4), lambda: nn.Conv1d(2, 4, 1)])
def test_a_model_that_is_one_leaf(tmp_path, make):
    """Its outputs are those of the model, which has the name of its class."""
    model = make()
    with torch.no_grad():
        model.bias.fill_(64_000.)
    with Monitor(model, record=tmp_path / "run.mprec", periods={"value": 1, "channel": 1},
                 sinks=[]) as monitor:
        for _ in range(8):
            with torch.autocast("cpu", torch.float16):
                loss = model(torch.ones(2, 2, 4) if isinstance(model, nn.Conv1d) else
                             torch.ones(2, 4)).float().mean()
            loss.backward()
            monitor.step(loss=loss)
        near = [alert for alert in monitor.alerts if alert.rule == "MP502"]
    assert [alert.layer for alert in near] == [type(model).__name__]
    bad = monitor.find_first_bad((torch.full((2, 2, 4) if isinstance(model, nn.Conv1d) else (2, 4), 1e6),),
                                 lambda model, batch: model(batch[0].half().float()).mean())
    assert bad.op == "the cast of float32 to float16"
