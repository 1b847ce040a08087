"""Libraries that run the loop, each training a tiny model from scratch; skipped where one is
not installed: `pip install --no-deps --target FOLDER accelerate psutil lightning pytorch-lightning lightning-utilities
torchmetrics` and PYTHONPATH bring them beside the environment of the tests."""

import json
import types

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from trainings import Blobs, mlp  # noqa: E402
from torch.nn import functional  # noqa: E402
from mpopt import integrations  # noqa: E402
from mpopt.monitor import Monitor, read  # noqa: E402


class Samples(torch.utils.data.Dataset):
    def __init__(self, spoilt=()):
        x, y = Blobs(64)(0)
        x[list(spoilt)] = torch.nan
        self.x, self.labels = x, y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "labels": self.labels[index]}


class Classifier(torch.nn.Module):
    """Returns its loss, as models of Transformers do."""

    def __init__(self):
        super().__init__()
        self.net = mlp(8)

    def forward(self, x, labels=None):
        logits = self.net(x)
        loss = None if labels is None else functional.cross_entropy(logits.float(), labels)
        return {"loss": loss, "logits": logits}


def check_folder(folder, steps):
    """A folder of a run, with all that belongs there."""
    assert {path.name for path in folder.iterdir()} == {
        "check.html", "check.json", "run-0.mprec", "run-0.history.jsonl", "run.probes.json", "summary.txt"}
    assert read(folder / "run-0.mprec")["loss", "scalar"].calls == steps
    assert json.loads((folder / "check.json").read_text())["training"]["gradients"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A working directory in which nothing is asked for."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield
    assert list(folder.iterdir()) == []


def drive(callback, folder, steps=12):
    """The events of `transformers.Trainer`, which takes Accelerate to run; with its callback alone."""
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    arguments = types.SimpleNamespace(output_dir=folder, fp16=False, bf16=False, max_grad_norm=1.0, world_size=1,
                                      per_device_train_batch_size=16, gradient_accumulation_steps=1)
    state = types.SimpleNamespace(log_history=[])
    loader = torch.utils.data.DataLoader(Samples(), batch_size=16)
    callback.on_train_begin(arguments, state, None, model=model, optimizer=optimizer)
    losses = []
    for step in range(steps):
        batch = next(iter(loader))
        loss = model(**batch)["loss"]
        losses.append(float(loss.detach()))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        callback.on_step_end(arguments, state, None)
        logs = {"loss": losses[-1]}
        state.log_history.append({**logs, "step": step})
        callback.on_log(arguments, state, None, logs=logs)
    callback.on_train_end(arguments, state, None)
    return losses, state.log_history


def test_the_events_of_a_trainer(tmp_path):
    pytest.importorskip("transformers")
    folders = []
    for number in (1, 2):
        callback = integrations.MpoptCallback()
        losses, history = drive(callback, tmp_path / "out")
        assert callback.report.verdict == "fine" and not callback.unchecked
        assert callback.folder == tmp_path / "out/mpopt" / f"run-{number}"
        check_folder(callback.folder, 12)
        assert callback.summary.splitlines()[1] == "12 steps; no alert" and "run-0.mprec" in callback.summary
        assert (callback.folder / "summary.txt").read_text() == f"{callback.summary}\n"
        assert "mpopt/gradient_norm" in history[-1] and "mpopt/loss" not in history[-1]
        folders.append((losses, sorted((tmp_path / "out/mpopt/run-1").iterdir())))
    # The second one left the first one's folder alone, and neither changed the training.
    assert folders[0] == folders[1]
    unwatched, _ = drive(integrations.MpoptCallback(tmp_path / "other", check=False), tmp_path / "out")
    assert unwatched == folders[0][0] and not (tmp_path / "other/mpopt/run-1/check.json").exists()


def test_a_batch_that_cannot_be_judged(tmp_path, monkeypatch):
    pytest.importorskip("transformers")

    def fail(*_, **__):
        raise ValueError("no graph\nat all")

    monkeypatch.setattr("mpopt.training.check_training", fail)
    callback = integrations.MpoptCallback()
    drive(callback, tmp_path / "out")
    assert callback.report is None and callback.unchecked == "no graph"
    assert callback.summary.startswith("not judged: no graph\n12 steps")


def test_the_summary_has_the_worst_alert_of_each_rule():
    model = mlp(8)
    with Monitor(model, record=None, sinks=[], config="none") as monitor:
        for step in range(24):
            x, _ = Blobs(16)(step)
            x[0, 0] = torch.nan if step == 9 else 0
            monitor.step(loss=functional.mse_loss(model(x), torch.zeros(16, 4)))
    lines = monitor.summary().splitlines()
    assert repr(monitor).startswith("Monitor(24 steps, ")
    count = len(monitor.alerts)
    assert lines[0] == f"24 steps; {count} alert{'s' * (count != 1)}"
    assert lines[1].startswith("  MP501 error: step 9: ")


@pytest.mark.parametrize("spoilt, bf16", [((), False), ((), True), ((5,), False)])
def test_transformers(spoilt, bf16, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    logged = {}

    class Logger(transformers.TrainerCallback):
        def on_log(self, args, state, control, logs=None, **_):
            logged.update(logs)

    arguments = transformers.TrainingArguments(
        tmp_path / "out", max_steps=12, per_device_train_batch_size=16, use_cpu=True, bf16=bf16,
        gradient_accumulation_steps=2, report_to=[], save_strategy="no", disable_tqdm=True, logging_steps=10)
    trainer = transformers.Trainer(Classifier(), arguments, train_dataset=Samples(spoilt), callbacks=[Logger()])
    callback = integrations.MpoptCallback().attach(trainer)
    trainer.train()
    alerts = callback.monitor.alerts
    if spoilt:
        assert ("MP501", "x") in {(alert.rule, alert.layer) for alert in alerts}
    else:
        assert alerts == []
    assert callback.report is not None, callback.unchecked
    assert "mpopt/gradient_norm" in logged
    check_folder(tmp_path / "out/mpopt/run-1", 12)


@pytest.mark.parametrize("accumulates", [1, 2])
def test_lightning(accumulates, tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = mlp(8)

        def training_step(self, batch, _):
            loss = functional.cross_entropy(self.net(batch["x"]), batch["labels"])
            self.log("own", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 1e-3)

    class Logger(lightning.loggers.logger.DummyLogger):
        """Keeps what it is given."""

        def __init__(self):
            super().__init__()
            self.metrics = {}

        def log_metrics(self, metrics, step=None):
            self.metrics |= metrics

    def fit(epochs, checkpoint=None):
        callback = integrations.MpoptCallback(tmp_path)
        trainer = lightning.Trainer(
            max_epochs=epochs, accelerator="cpu", logger=Logger(), enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, callbacks=[callback],
            accumulate_grad_batches=accumulates, default_root_dir=tmp_path)
        trainer.fit(Module(), torch.utils.data.DataLoader(Samples(), batch_size=8),
                    ckpt_path=checkpoint)
        return callback, trainer

    callback, trainer = fit(3)
    assert callback.monitor.alerts == []
    assert callback.report is not None, callback.unchecked
    check_folder(tmp_path / "mpopt/run-1", 24 // accumulates)
    loss = read(tmp_path / "mpopt/run-1/run-0.mprec")["loss", "scalar"]
    assert loss.calls == trainer.global_step == 24 // accumulates
    assert 0.5 < loss.max < 3
    assert "mpopt/gradient_norm" in trainer.logger.metrics
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    resumed, _ = fit(4, tmp_path / "last.ckpt")
    assert resumed.monitor.state_dict()["step"] == 32 // accumulates


def test_lightning_that_was_asked_for_no_files():
    """Its default for files is the working directory."""
    lightning = pytest.importorskip("lightning.pytorch")
    callback = integrations.MpoptCallback(check=False)
    trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False, callbacks=[callback])
    module = lightning.LightningModule()
    module.net = mlp(8)
    module.training_step = lambda batch, batch_idx: functional.cross_entropy(module.net(batch["x"]), batch["labels"])
    module.configure_optimizers = lambda: torch.optim.Adam(module.parameters(), 1e-3)
    trainer.fit(module, torch.utils.data.DataLoader(Samples(), batch_size=8))
    assert callback.folder is None and callback.summary == "8 steps; no alert"


def test_accelerate(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True, project_dir=tmp_path)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    loader = torch.utils.data.DataLoader(Samples(), batch_size=16)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with integrations.accelerate_monitor(accelerator, model, optimizer) as monitor:
        for _ in range(3):
            for batch in loader:
                loss = model(**batch)["loss"]
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                monitor.step(loss=loss)
        assert monitor.alerts == []
    records = read(tmp_path / "mpopt/run-1/run-0.mprec")
    assert records["gradient_norm", "scalar"].calls == 12
    assert records["net.0.weight", "gradient"].absmax > 0
