"""The history beside a record is that run: its steps, alerts and distributions."""

from __future__ import annotations

import logging

import pytest
import torch
import trainings
from torch.nn import functional

from mpopt.monitor import Monitor, history, read


def run(record, steps=60, **options):
    logging.getLogger("mpopt.monitor").setLevel(logging.CRITICAL)
    model, draw = trainings.mlp(), trainings.Blobs()
    optimizer = torch.optim.SGD(model.parameters(), lr=.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2. ** 10)
    losses = []
    with Monitor(model, optimizer, scaler, record=record, periods=dict.fromkeys(("gradient", "value", "parameter"), 10), **options) as monitor:
        for step in range(steps):
            x, y = draw(step)
            if step == 30:
                x = x * float("inf")
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.float16):
                loss = functional.cross_entropy(model(x).float(), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(float(loss.detach()))
            monitor.step(loss=loss.detach())
        return losses, monitor.alerts, monitor.record_path


def test_history_has_the_run(tmp_path):
    losses, alerts, record = run(tmp_path / "run-%r.mprec")
    seen = history.read(record)
    assert [step["step"] for step in seen.steps] == list(range(60))
    assert [value for _, value in seen.series("loss")] == pytest.approx(losses, nan_ok=True)
    assert [alert["message"] for alert in seen.alerts] == [alert.message for alert in alerts] and alerts
    assert [step["step"] for step in seen.steps if step.get("skipped")] == [30]
    assert seen.first_scale == 2. ** 10
    # All samples together are the record, to the last count.
    for (name, kind), whole in read(record).items():
        if kind not in ("value", "gradient", "parameter"):
            continue
        parts = [entry for sample in seen.samples for entry in sample.seen if (entry.name, entry.kind) == (name, kind)]
        assert sum(entry.count for entry in parts) == whole.count, (name, kind)
        assert sum(entry.zero for entry in parts) == whole.zero and sum(entry.nan for entry in parts) == whole.nan
        counts = {index - 151: count for index, count in enumerate(whole.histogram) if count}
        merged: dict[int, int] = {}
        for entry in parts:
            for exponent, count in entry.exponents.items():
                merged[exponent] = merged.get(exponent, 0) + count
        assert merged == counts


def test_no_record_no_history(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(None, steps=12)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_ends_the_history_alone(tmp_path, monkeypatch):
    class Full:
        def write(self, *_):
            raise OSError(28, "No space left on device")

        flush = write

        def close(self):
            pass

    begin = history.Writer.__init__

    def broken(self, *arguments, **named):
        begin(self, *arguments, **named)
        self._file.close()
        self._file = Full()
    monkeypatch.setattr(history.Writer, "__init__", broken)
    with pytest.warns(UserWarning, match="No space left"):
        losses, _, _ = run(tmp_path / "run-%r.mprec", steps=20)
    assert len(losses) == 20
