"""Where alerts go."""

import json
import logging
import os
import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import tool  # noqa: E402
from trainings import Blobs, Training, mlp  # noqa: E402
from mpopt.monitor import Monitor  # noqa: E402
from mpopt.monitor.alerts import MLflow, TensorBoard, WeightsAndBiases, make_sink  # noqa: E402


def train(sinks, steps=20):
    def spoil(training, step, batch):
        if step == 5:
            batch[0][0] = torch.nan
        return batch

    training = Training(mlp(), Blobs(), before_batch=spoil)
    with Monitor(training.model, training.optimizer, record=None, sinks=sinks) as monitor:
        training.run(steps, monitor)
        return monitor.alerts


def test_log_is_the_default(caplog):
    with caplog.at_level(logging.INFO, "mpopt.monitor"):
        alerts = train(None)
    assert len(caplog.records) == len(alerts) > 0
    assert caplog.records[0].levelno == logging.ERROR
    assert caplog.records[0].getMessage() == str(alerts[0])


def test_json_lines(tmp_path):
    path = tmp_path / "run.jsonl"
    alerts = train([path])
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    steps = [line for line in lines if "step" in line]
    assert [line["step"] for line in steps] == list(range(20))
    assert steps[5]["loss"] == "nan" and steps[0]["gradient_norm"] > 0
    assert [line["alert"] for line in lines if "alert" in line] == [alert.as_dict() for alert in alerts]


def test_a_function():
    found = []
    assert train([found.append]) == found


class Writer:
    """What TensorBoard's `SummaryWriter` has."""

    def __init__(self):
        self.scalars, self.texts = [], []

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def add_text(self, name, text, step):
        self.texts.append((name, step))


def test_tensorboard():
    writer = Writer()
    alerts = train([writer])
    assert isinstance(make_sink(writer), TensorBoard)
    assert ("mpopt/MP501", alerts[0].step) in writer.texts
    assert {name for name, _, _ in writer.scalars} == {
        "mpopt/loss", "mpopt/gradient_norm", "mpopt/learning_rate"}
    assert [step for name, _, step in writer.scalars if name == "mpopt/loss"] == list(range(20))


def test_weights_and_biases():
    class Fake:
        config, logged, alerts = {}, [], []

        def log(self, values):
            self.logged.append(values)

        def alert(self, title, text, level):
            self.alerts.append((title, level))

    fake = Fake()
    assert isinstance(make_sink(fake), WeightsAndBiases)
    train([fake])
    assert [values["mpopt/step"] for values in fake.logged] == list(range(20))
    assert fake.alerts[0] == ("MP501", "ERROR")


def test_mlflow():
    fake = types.SimpleNamespace(metrics=[], tags={})
    fake.log_metrics = lambda values, step: fake.metrics.append((step, values))
    fake.set_tag = fake.tags.__setitem__
    assert isinstance(make_sink(fake), MLflow)
    alerts = train([fake])
    assert fake.tags[f"mpopt.MP501.{alerts[0].step}"] == alerts[0].message
    assert [step for step, _ in fake.metrics] == list(range(20))


def test_the_real_weights_and_biases(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(dir=tmp_path, project="test", mode="offline")
    train([run])
    assert isinstance(make_sink(run), WeightsAndBiases) and run.summary["mpopt/step"] == 19
    run.finish()


def test_the_real_mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path}/runs")
    with mlflow.start_run() as run:
        alerts = train([mlflow])
    tags = mlflow.get_run(run.info.run_id).data.tags
    assert tags[f"mpopt.MP501.{alerts[0].step}"] == alerts[0].message
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "mpopt/loss")
    assert [metric.step for metric in history] == list(range(20))


def test_the_real_summary_writer(tmp_path):
    tensorboard = pytest.importorskip("torch.utils.tensorboard",
                                      reason="tensorboard is not in this environment")
    with tensorboard.SummaryWriter(tmp_path) as writer:
        train([writer])
    assert list(tmp_path.iterdir())


def test_import_needs_no_torch():
    """`import mpopt` alone."""
    code = "import sys, mpopt; assert 'torch' not in sys.modules and 'mpopt.monitor' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60,
                   env={**os.environ, "PYTHONPATH": str(tool.ROOT / "python")})
