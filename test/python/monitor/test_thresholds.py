"""Thresholds of the monitor's rules: from records, settings and arguments."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import mpopt  # noqa: E402
import trainings  # noqa: E402
from mpopt.monitor import Monitor, thresholds  # noqa: E402
from trainings import Blobs, Training, classify, mlp  # noqa: E402


def test_records_have_what_the_tool_lists():
    listed = {entry["key"]: entry["default"] for rule in mpopt.list_rules() for entry in rule["thresholds"]}
    assert dict(thresholds.defaults()) == listed
    assert {"norm-high", "flushed-share", "scale-usual"} <= set(listed)


def test_arguments_go_over_settings(tmp_path, monkeypatch):
    (tmp_path / "mpopt.toml").write_text("[thresholds]\nnorm-high = 50\nnorm-error = 70\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    values = thresholds.read({"norm-error": 90})
    assert (values["norm-high"], values["norm-error"], values["norm-low"]) == (50, 90, 0.01)
    assert thresholds.read(None, "none")["norm-high"] == 100
    # The same in the settings of a package.
    (tmp_path / "mpopt.toml").rename(tmp_path / "old.toml")
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nnorm-high = 3\n[tool.mpopt.thresholds]\nnorm-high = 40\n")
    assert thresholds.read(None)["norm-high"] == 40


@pytest.mark.parametrize("given", [{"norm": 1}, {"norm-high": "much"}, {"norm-high": True}, {"norm-high": float("nan")}])
def test_what_is_no_threshold(given, tmp_path):
    with pytest.raises(mpopt.Error, match="thresholds"):
        Monitor(mlp(), thresholds=given, config="none")


def test_settings_that_cannot_be_read(tmp_path):
    path = tmp_path / "mpopt.toml"
    for text in ("[thresholds\n", "thresholds = 3\n", "[thresholds]\nnorm-hihg = 3\n"):
        path.write_text(text)
        with pytest.raises(mpopt.Error, match="mpopt.toml"):
            thresholds.read(None, path)


def test_a_rule_judges_by_them(tmp_path):
    model = mlp()
    training = Training(model, Blobs(), classify, torch.optim.SGD(model.parameters(), 0.01), None, None)
    with Monitor(model, training.optimizer, record=None, sinks=[], thresholds={"norm-high": 0.1}) as monitor:
        training.run(10, monitor)
        found, = monitor.alerts
    assert found.rule == "MP505" and "is over 0.1 for 3 steps" in found.message


def test_scale_under_the_usual():
    """Without an overflow for as long as it takes to grow."""
    from mpopt.monitor.judging import Run, Step
    from mpopt.monitor.scale_rules import LossScale

    def alerts(scale, steps, falls=()):
        judge = LossScale(Run(["w"], ["w"], ["w"], first_scale=scale, growth_interval=100))
        return [alert for step in range(steps) for alert in judge.see_step(
            Step(step, scale=scale, next_scale=scale / 2 if step in falls else scale))]

    found, = alerts(4096.0, 150)
    assert (found.severity, found.step) == ("note", 99) and "under 10000" in found.message
    assert alerts(4096.0, 99) == [] and alerts(16384.0, 300) == []
