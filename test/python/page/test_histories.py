"""Histories: read as they grow, and diagnosed."""

from __future__ import annotations

import json
import math
import re

import histories
import pytest
import tool  # noqa: F401: names the build for the package mpopt
from histories import alert, bell

from mpopt import Error, _run_page
from mpopt.monitor import diagnosis, history


def diagnose(path):
    return diagnosis.diagnose(history.read(path))


def test_reads_what_is_whole(tmp_path):
    path = histories.write(tmp_path / "run-0.history.jsonl", steps=30)
    text = path.read_bytes()
    whole = history.read(path)
    assert [step["step"] for step in whole.steps] == list(range(30)) and [sample.step for sample in whole.samples] == [7, 27]
    cut = text.rfind(b"\n", 0, len(text) // 2) + 40
    path.write_bytes(text[:cut])
    follower = history.Follower(path)
    assert follower.read() and not follower.read()
    before = len(follower.steps)
    assert 0 < before < 30
    with path.open("ab") as file:
        file.write(text[cut:])
    assert follower.read() and len(follower.steps) == 30
    assert history.join([follower]).samples == whole.samples


def test_follows_another_run_of_the_name(tmp_path):
    path = histories.write(tmp_path / "run-0.history.jsonl", steps=30)
    follower = history.Follower(path)
    follower.read()
    histories.write(path, steps=4)
    follower.read()
    assert len(follower.steps) == 4


@pytest.mark.parametrize("text", [b"", b"{}\n", b"no json\n", b'{"schema": "mpopt-history/2"}\n', b"[1]\n",
                                  b'{"schema": "mpopt-history/1"}\n{"sample": 1}\n', b'{"schema": "mpopt-history/1"}\n{"step": 1, "loss": {}}\n',
                                  b'{"schema": "mpopt-history/1"}\n{"alert": {}}\n', b"\xff\xfe\n"])
def test_refuses_what_is_none(tmp_path, text):
    path = tmp_path / "run.history.jsonl"
    path.write_bytes(text)
    with pytest.raises(Error, match="run.history.jsonl") as raised:
        history.read(path)
    assert "\n" not in str(raised.value)


def test_ranks_are_merged(tmp_path):
    paths = [histories.write(tmp_path / f"run-{rank}.history.jsonl", rank=rank, steps=20, alerts=[alert("MP505", 3)] if rank else ()) for rank in range(3)]
    joined, alone = history.read(paths), history.read(paths[0])
    assert joined.ranks == [0, 1, 2] and len(joined.steps) == 20
    for one, three in zip(alone.samples[0].seen, joined.samples[0].seen, strict=True):
        assert three.count == 3 * one.count and three.exponents == {key: 3 * value for key, value in one.exponents.items()}
    assert [entry["rank"] for entry in joined.alerts] == [1]


def test_healthy_run_has_no_cause(tmp_path):
    assert diagnose(histories.write(tmp_path / "run.history.jsonl")) == []


def nan_from(step):
    return lambda at: math.nan if at >= step else 2 * .99 ** at


FAILURES = {
    "the data": dict(loss=nan_from(50), alerts=[alert("MP501", 50, "", "error", "step 50: input 'x' holds NaN or Inf: the data are at fault")]),
    "values overflow in the forward pass": dict(
        loss=nan_from(50), scale=lambda step: 65536. if step < 50 else 65536. * 2. ** (50 - step),
        extra=lambda layer, step: {"inf": 9} if step > 40 and layer == "blocks.1.mlp" else {}),
    "gradients explode": dict(loss=nan_from(150), norm=lambda step: 1.1 ** step, value=lambda layer, step: bell(0)),
    "a gradient overflows at every loss scale": dict(scale=lambda step: 65536. * 2. ** -step, skipped=lambda step: True,
                                                     bad=lambda step: "head.weight", norm=lambda step: math.inf if step else 1.),
    "steps are skipped too often": dict(scale=lambda step: 65536. / (1 + step // 40), skipped=lambda step: step % 30 == 0,
                                        alerts=[alert("MP507", 60)]),
    "small gradients are lost": dict(loss=lambda step: 2., gradient=lambda layer, step: bell(-24)),
    "updates are lost in 16-bit weights": dict(loss=lambda step: 2., alerts=[alert("MP409", 27)]),
    "gradients vanish": dict(loss=lambda step: 2., norm=lambda step: 1e-8),
    "a layer does not learn": dict(alerts=[alert("MP508", 30)]),
    "small values beside large ones": dict(alerts=[alert("MP509", 30, severity="note")]),
    "channels of uneven sizes": dict(alerts=[alert("MP510", 30, severity="note")]),
    "the optimizer's epsilon is 0": dict(alerts=[alert("MP407", 1)]),
    "the scaler is used in the wrong order": dict(alerts=[alert("MP411", 1)]),
    "ranks disagree": dict(alerts=[alert("MP511", 30, severity="error")]),
    "not one that the record shows": dict(loss=lambda step: 2.),
}


@pytest.mark.parametrize("name", FAILURES)
def test_signs_lead_to_the_cause(tmp_path, name):
    causes = diagnose(histories.write(tmp_path / "run.history.jsonl", **FAILURES[name]))
    assert causes[0].name == name, [cause.name for cause in causes]
    assert causes[0].remedies and all(answer.evidence for answer in causes[0].answers)
    # Messages begin with their step: it is not said twice.
    assert not any(re.search(r"step (\d+): step \1:", answer.evidence) for answer in causes[0].answers)
    assert any(answer.answer == "yes" for answer in causes[0].answers)


def test_without_distributions_it_is_not_sure(tmp_path):
    """The loss is NaN and nothing says why: no cause is made up."""
    path = histories.write(tmp_path / "run.history.jsonl", loss=nan_from(50), every=None)
    (cause,) = diagnose(path)
    assert cause.certainty == "not sure" and "not recorded" in cause.name
    assert [answer.answer for answer in cause.answers] == ["yes", "no", "unknown", "no"]


def test_window_of_the_scale(tmp_path):
    """Gradients of one magnitude each: 2^-3 to 2^-1 times the scale."""
    path = histories.write(tmp_path / "run.history.jsonl", steps=8, scale=lambda step: 1024., gradient=lambda layer, step: {7: 10, 8: 10, 9: 10})
    (window,) = _run_page.describe(history.read(path), "run")["run"]["windows"]
    # 1.5 * 2^9 / 1024 = 0.75 stays below 65504 up to 2^16, and 2^-3 is 0 below 2^-22.
    assert window == [7, -22, 16]


def test_long_runs_are_thinned(tmp_path):
    path = histories.write(tmp_path / "run.history.jsonl", steps=30000, every=50, skipped=lambda step: step == 12345)
    run = _run_page.describe(history.read(path), "run")["run"]
    assert len(run["steps"]["step"]) <= 4000 and 12345 in run["steps"]["step"] and run["count"] == 30000
    assert len(run["samples"]["steps"]) <= 160
    assert len(json.dumps(run)) < 1_500_000


def test_export_to_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from mpopt.monitor.tensorboard import to_tensorboard

    path = histories.write(tmp_path / "run.history.jsonl", steps=60, scale=lambda step: 1024., skipped=lambda step: step == 5,
                           gradient=lambda layer, step: {3: 4, 5: 6}, alerts=[alert("MP505", 9)])
    made = to_tensorboard(path, tmp_path / "events")
    events = EventAccumulator(made, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    run = history.read(path)
    assert [(event.step, pytest.approx(event.value)) for event in events.Scalars("mpopt/loss")] == run.series("loss")
    assert [event.step for event in events.Scalars("mpopt/skipped") if event.value] == [5]
    first = events.Histograms("gradient/head.weight")[0]
    assert first.step == 7
    value = first.histogram_value
    filled = {limit: count for limit, count in zip(value.bucket_limit, value.bucket, strict=True) if count}
    # 2^3 to 2^4 and 2^5 to 2^6, less the loss scale.
    assert filled == {2. ** 4 / 1024: 4, 2. ** 6 / 1024: 6} and value.num == 10
    assert events.Tensors("mpopt/MP505")[0].step == 9
    with pytest.raises(Error):
        to_tensorboard(tmp_path / "none.mprec", tmp_path / "events")
