"""What the histogram of a tensor says of FP8, against its elements rounded by ml_dtypes."""

from __future__ import annotations

import json
import math

import ml_dtypes
import numpy as np
import pytest

from mpopt import _run_page
from mpopt.monitor import fp8, history
from mpopt.view import sources

DTYPES = {"E4M3": ml_dtypes.float8_e4m3fn, "E5M2": ml_dtypes.float8_e5m2}


def exponents_of(values: np.ndarray) -> dict[int, int]:
    found, counts = np.unique(np.frexp(np.abs(values[values != 0]))[1] - 1, return_counts=True)
    return dict(zip(found.tolist(), counts.tolist()))


def rounded(values: np.ndarray, most: float, form: fp8.Format) -> np.ndarray:
    scale = most / form.largest
    return np.clip(values / scale, -form.largest, form.largest).astype("f4").astype(DTYPES[form.name]).astype("f8") * scale


@pytest.mark.parametrize("form", [fp8.E4M3, fp8.E5M2])
@pytest.mark.parametrize("spread, clip", [(0.5, 1.0), (3.0, 1.0), (6.0, 1.0), (0.5, 0.25)])
def test_losses_are_those_of_elements(form, spread, clip):
    random = np.random.default_rng(1)
    values = random.normal(0, 1, 1 << 16) * np.exp(random.normal(0, spread, 1 << 16))
    absmax = float(np.abs(values).max())
    most = absmax * clip
    ratio, clipped, flushed = fp8.losses(exponents_of(values), absmax, most, form)
    stored = rounded(values, most, form)
    true = 10 * math.log10((values ** 2).sum() / ((stored - values) ** 2).sum())
    # The largest elements of a wide distribution have much of its square, and are read as they are; past an edge a
    # normal distribution falls faster than one that is even in its logarithm.
    assert ratio == pytest.approx(true, abs=6 if spread > 1 else 1 if clip == 1 else 2)
    assert clipped == pytest.approx(float((np.abs(values) > most).mean()), rel=0.5, abs=1e-4)
    assert flushed == pytest.approx(float((stored == 0).mean()), rel=0.05, abs=1e-3)


def write(path, growth: float, spread: float) -> None:
    random = np.random.default_rng(2)
    writer = history.Writer(path, 0, None)
    for step in range(4):
        values = random.normal(0, 1, 1 << 12) * np.exp(random.normal(0, spread, 1 << 12)) * growth ** step
        exponents = exponents_of(values)
        first = min(exponents)

        class Entry:
            dtype, count, zero, nan, inf, absmax = "f32", values.size, 0, 0, 0, float(np.abs(values).max())

            def binades(self):
                return first, [exponents.get(exponent, 0) for exponent in range(first, max(exponents) + 1)]

        writer.sample(step, 1, [(list(history.KINDS).index("gradient"), "w", Entry())])
    writer.close()


@pytest.mark.parametrize("growth, spread, recipes", [(1, 0, ["delayed", "current"]), (8, 0, ["current"]), (1, 16, [])])
def test_recipes_that_fit(tmp_path, capsys, growth, spread, recipes):
    write(tmp_path / "run-0.mprec", growth, spread)
    assert fp8.main([str(tmp_path / "run-0.history.jsonl"), "--format", "json"]) == 0
    fit, = json.loads(capsys.readouterr().out)
    assert fit["recipes"] == recipes and fit["format"] == "E5M2"
    assert (fit["delayed_clipped"] > 0.01) == (growth > 1)


def test_one_number_has_no_noise():
    """The noise of the largest number cancels, and the square of one below 1e-162 is 0."""
    for exponent in range(-200, 100):
        largest = 2.0 ** exponent
        assert fp8.losses({exponent: 3}, largest, largest, fp8.E4M3)[0] > 60
    assert math.isnan(fp8.losses({-1000: 3}, 2.0 ** -1000, 2.0 ** -1000, fp8.E4M3)[0])


def test_no_history_is_one_line(tmp_path, capsys):
    assert fp8.main([str(tmp_path / "none.mprec")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_page_of_a_run_has_the_worst_first(tmp_path):
    write(tmp_path / "run-0.mprec", 1, 16)
    read = history.read(tmp_path / "run-0.history.jsonl")
    fit, = _run_page.describe(read, "run")["run"]["fp8"]
    assert fit["recipes"] == [] and json.loads(json.dumps(fit, allow_nan=False)) == fit
    good, bad = fp8.judge(read)[0], fp8.Fit("value", "x", "E4M3", 9.0, 0.0, None, None, ["current"])
    assert [each.name for each in fp8.list_worst([bad, good])] == ["w", "x"]


def report_of(recipe: str, weight: float, gradient: float) -> dict:
    layer = {"weight": "layer.weight", "module": "w", "fprop": {"w": {"flushed": weight}}, "wgrad": {"dy": {"flushed": gradient}}}
    return {"training": {"fp8": {"recipe": recipe, "gemms": [layer]}}}


@pytest.mark.parametrize("recipe, gradient, agrees", [("current", 0.0, True), ("current", 0.2, False), ("delayed_cold", 0.0, True)])
def test_prediction_beside_observation(tmp_path, capsys, recipe, gradient, agrees):
    write(tmp_path / "run-0.mprec", 1, 0)
    report = tmp_path / "report.json"
    report.write_text(json.dumps(report_of(recipe, 0, gradient)))
    assert fp8.main([str(tmp_path / "run-0.mprec"), "--against", str(report), "--format", "json"]) == 0
    fit, = json.loads(capsys.readouterr().out)
    assert fit["foreseen"] == gradient and fit["agrees"] is agrees


@pytest.mark.parametrize("raw", [report_of("rowwise", 0, 0), {"training": None}, [], {"training": {"fp8": {"recipe": "current", "gemms": [3]}}}])
def test_no_prediction_is_one_line(tmp_path, capsys, raw):
    write(tmp_path / "run-0.mprec", 1, 0)
    report = tmp_path / "report.json"
    report.write_text(json.dumps(raw))
    assert fp8.main([str(tmp_path / "run-0.mprec"), "--against", str(report)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("recipe", ["current", "delayed_cold"])
def test_prediction_of_a_training(tmp_path, recipe):
    """Small gradients, of which a scale of 1 reads many as 0: the checker before, the monitor afterwards."""
    torch = pytest.importorskip("torch", reason="torch is not in this environment")
    import mpopt
    from mpopt.monitor import Monitor

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64))
    loss = lambda model, batch: (model(batch[0]) - batch[1]).square().mean() / 512  # noqa: E731
    draw = lambda: (torch.randn(32, 64), torch.randn(32, 64))  # noqa: E731
    report = mpopt.check_training(model, draw(), loss=loss, precision=f"fp8:{recipe}")
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with Monitor(model, optimizer, record=str(tmp_path / "run-%r.mprec"), sinks=[], config="none") as monitor:
        for _ in range(3):
            monitor.sample()
            optimizer.zero_grad()
            value = loss(model, draw())
            value.backward()
            optimizer.step()
            monitor.step(loss=value)
    (tmp_path / "report.json").write_text(json.dumps(report.raw))
    fits = {(fit.kind, fit.name): fit for fit in fp8.read(tmp_path / "run-0.mprec", against=tmp_path / "report.json") if fit.foreseen is not None}
    assert {("gradient", "0"), ("gradient", "2"), ("parameter", "0.weight"), ("parameter", "2.weight")} <= set(fits)
    assert all(fit.agrees for fit in fits.values())
    assert (fits["gradient", "2"].foreseen > 0.3) == (recipe == "delayed_cold")
    # The view has it where it shows both.
    shown = sources.Sources([tmp_path / "run-0.mprec", tmp_path / "report.json"]).document()["reports"]
    rows, = (page["run"]["fp8"] for page in shown if "run" in page)
    assert {(row["kind"], row["name"]) for row in rows if row["foreseen"] is not None} == set(fits)
