"""Trainings with nothing wrong: 500 steps without an alert, and the weights that they have
without a monitor."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from trainings import (  # noqa: E402
    Autoencoder, Blobs, Convolutional, Decoder, Recurrent, Text, Training, classify, mlp, predict)
from mpopt.monitor import Monitor  # noqa: E402

STEPS = 500


def adam(model, rate=1e-3, **options):
    return torch.optim.AdamW(model.parameters(), rate, **options)


def classifier(**options):
    model = mlp()
    return Training(model, Blobs(), classify, adam(model), trainings.scaler(), **options)


def momentum():
    model = mlp()
    return Training(model, Blobs(), classify,
                    torch.optim.SGD(model.parameters(), 0.05, momentum=0.9), None, None)


def convolutional():
    model = Convolutional()
    return Training(model, Blobs(8, (1, 8, 8)), classify, adam(model), trainings.scaler())


def decoder(**options):
    model, text = Decoder(checkpoint=options.pop("checkpoint", False)), Text()
    return Training(model, text, predict, adam(model), **options)


def recurrent():
    # oneDNN has no FP16 recurrent cells for every processor.
    model, blobs = Recurrent(), Blobs(8, (6, trainings.FEATURES))
    return Training(model, blobs, classify, adam(model), None, torch.bfloat16)


def autoencoder():
    model, blobs = Autoencoder(), Blobs()

    def batches(step):
        x, _ = blobs(step)
        return x, x

    return Training(model, batches, lambda output, x: (output.float() - x).square().mean(),
                    adam(model), trainings.scaler())


HEALTHY = {
    "mlp, FP16": classifier,
    "mlp, accumulated": lambda: classifier(accumulate=3),
    "mlp, growing scale": lambda: Training(model := mlp(), Blobs(), classify, adam(model),
                                           trainings.scaler(growth_interval=100)),
    "mlp, FP32 and momentum": momentum,
    "convolutional, FP16": convolutional,
    "decoder, FP16": lambda: decoder(scaler=trainings.scaler()),
    "decoder, BF16": lambda: decoder(autocast=torch.bfloat16),
    "decoder, checkpointed": lambda: decoder(checkpoint=True, autocast=None),
    "recurrent, BF16": recurrent,
    "autoencoder, FP16": autoencoder,
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_said_of_a_healthy_training(name, tmp_path):
    training = HEALTHY[name]()
    with Monitor(training.model, training.optimizer, training.scaler,
                 record=tmp_path / "run-%r.mprec") as monitor:
        losses = training.run(STEPS, monitor)
        alerts = monitor.alerts
    assert losses[-1] < losses[0]
    assert alerts == [], "\n".join(map(str, alerts))


@pytest.mark.parametrize("name", ["mlp, FP16", "decoder, checkpointed", "mlp, accumulated"])
def test_training_is_the_same_bit_for_bit(name, tmp_path):
    """With everything looked at in each step."""
    bare, watched = HEALTHY[name](), HEALTHY[name]()
    bare.run(20)
    every = dict.fromkeys(["gradient", "value", "parameter", "optimizer", "output_gradient",
                           "channel", "update"], 1)
    with Monitor(watched.model, watched.optimizer, watched.scaler, record=tmp_path / "run.mprec",
                 periods=every) as monitor:
        watched.run(20, monitor)
    for one, other in zip(bare.model.parameters(), watched.model.parameters(), strict=True):
        assert torch.equal(one, other)
