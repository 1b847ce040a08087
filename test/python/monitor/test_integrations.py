"""Libraries that run the loop, each training a tiny model from scratch; skipped where one is
not installed."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from trainings import Blobs, mlp  # noqa: E402
from torch.nn import functional  # noqa: E402
from mpopt.monitor import integrations, read  # noqa: E402


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


@pytest.mark.parametrize("spoilt", [(), (5,)])
def test_transformers(spoilt, tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    callback = integrations.transformers_callback(record=tmp_path / "run.mprec")
    arguments = transformers.TrainingArguments(
        tmp_path / "out", max_steps=12, per_device_train_batch_size=16, use_cpu=True,
        gradient_accumulation_steps=2, report_to=[], save_strategy="no", disable_tqdm=True)
    transformers.Trainer(Classifier(), arguments, train_dataset=Samples(spoilt),
                         callbacks=[callback]).train()
    alerts = callback.monitor.alerts
    if spoilt:
        assert ("MP501", "x") in {(alert.rule, alert.layer) for alert in alerts}
    else:
        assert alerts == []
    loss = read(tmp_path / "run.mprec")["loss", "scalar"]
    assert loss.calls == 12


@pytest.mark.parametrize("accumulates", [1, 2])
def test_lightning(accumulates, tmp_path):
    lightning = pytest.importorskip("lightning.pytorch")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = mlp(8)

        def training_step(self, batch, _):
            return functional.cross_entropy(self.net(batch["x"]), batch["labels"])

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 1e-3)

    def fit(epochs, checkpoint=None):
        callback = integrations.lightning_callback(record=tmp_path / "run.mprec")
        trainer = lightning.Trainer(
            max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, callbacks=[callback],
            accumulate_grad_batches=accumulates, default_root_dir=tmp_path)
        trainer.fit(Module(), torch.utils.data.DataLoader(Samples(), batch_size=8),
                    ckpt_path=checkpoint)
        return callback, trainer

    callback, trainer = fit(3)
    assert callback.monitor.alerts == []
    loss = read(tmp_path / "run.mprec")["loss", "scalar"]
    assert loss.calls == trainer.global_step == 24 // accumulates
    assert 0.5 < loss.max < 3
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    resumed, _ = fit(4, tmp_path / "last.ckpt")
    assert resumed.monitor.state_dict()["step"] == 32 // accumulates


def test_accelerate(tmp_path):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    loader = torch.utils.data.DataLoader(Samples(), batch_size=16)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    with integrations.accelerate_monitor(accelerator, model, optimizer,
                                         record=tmp_path / "run.mprec") as monitor:
        for _ in range(3):
            for batch in loader:
                loss = model(**batch)["loss"]
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                monitor.step(loss=loss)
        assert monitor.alerts == []
    records = read(tmp_path / "run.mprec")
    assert records["gradient_norm", "scalar"].calls == 12
    assert records["net.0.weight", "gradient"].absmax > 0
