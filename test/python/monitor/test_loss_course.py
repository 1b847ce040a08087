"""MP514: the course of the loss, on curves and in trainings, and what else moved."""

import math
import random

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from mpopt.monitor import Monitor  # noqa: E402
from mpopt.monitor.judging import Run, Step  # noqa: E402
from mpopt.monitor.loss_rules import LossCourse  # noqa: E402
from trainings import Blobs, Training, classify, mlp  # noqa: E402


def judge(losses, **numbers) -> list:
    judged = LossCourse(Run(["w"], ["w"], ["w"], narrow={"f16"}))
    return [alert for step, loss in enumerate(losses) for alert in judged.see_step(
        Step(step, loss=loss, norms={0: 1.0}, learning_rate=1e-3, **numbers))]


def curve(seed: int, steps: int = 1000) -> list[float]:
    """A loss as trainings have it: it falls to a floor, under noise that is partly in proportion, has
    heavy tails and lasts from step to step."""
    draw = random.Random(seed)
    floor = draw.choice([0.0, 0.01, 0.5, 2.0])
    first = floor + draw.uniform(0.5, 10)
    time, noise, lasting = draw.uniform(20, 400), draw.uniform(0.01, 0.25), draw.choice([0.0, 0.5])
    level, rest, losses = 0.0, 0.0, []
    for step in range(steps):
        rest = lasting * rest + draw.gauss(0, 1) * (3 if draw.random() < 0.02 else 1)
        level = floor + (first - floor) * math.exp(-step / time)
        losses.append(level * max(0.02, 1 + noise * rest) + 1e-4 * draw.random())
    return losses


def test_healthy_curves():
    alarms = {seed: found for seed in range(100) if (found := judge(curve(seed)))}
    # One in twenty is allowed.
    assert len(alarms) <= 5, [str(alert) for found in alarms.values() for alert in found]


def test_a_spike_is_told_once():
    losses = [1 + 0.02 * math.sin(3 * step) - step / 2000 for step in range(400)]
    for length, severity in ((1, "note"), (2, "note"), (3, "warning"), (20, "warning")):
        spiked = [50 * loss if 300 <= step < 300 + length else loss for step, loss in enumerate(losses)]
        found, = [alert for alert in judge(spiked) if alert.step >= 300]
        assert (found.severity, found.step) == (severity, 300), found
        assert "the batch of step 300" in found.message and "precision shows no sign" in found.message


def test_a_slow_rise():
    """From 1 to 7 in 300 steps."""
    draw = random.Random(0)
    losses = [3 - 2 * min(1, step / 200) + 6 * max(0, step - 300) / 300 + draw.gauss(0, 0.1) for step in range(600)]
    found = [alert for alert in judge(losses) if "rises" in alert.message]
    assert [alert.severity for alert in found] == ["warning"] and 300 < found[0].step < 450


def test_losses_around_zero():
    """As those of policies."""
    draw = random.Random(0)
    assert [alert for alert in judge([draw.gauss(0, 0.1) for _ in range(1000)]) if "has not fallen" not in alert.message] == []


def test_memory_is_plain():
    import json
    judged = LossCourse(Run(["w"], ["w"], ["w"]))
    for step in range(300):
        list(judged.see_step(Step(step, loss=1.0 + step % 3, norms={0: 1.0}, inputs={"x": (0.0, 1.0)})))
    json.dumps(judged.state())
    assert len(judged.state()["course"]) <= 201


# -- Trainings --------------------------------------------------------------------------------------


def watch(folder, steps=400, half=True, rate=0.05, model=None, optimizer=None, **hooks) -> list:
    model = model or mlp()
    optimizer = optimizer or torch.optim.SGD(model.parameters(), rate)
    training = Training(model, hooks.pop("batches", Blobs()), hooks.pop("loss", classify), optimizer,
                        trainings.scaler() if half else None, torch.float16 if half else None, **hooks)
    with Monitor(model, optimizer, training.scaler, record=folder / "run.mprec", sinks=[], config="none") as monitor:
        training.run(steps, monitor)
        return [alert for alert in monitor.alerts if alert.rule == "MP514"]


def noisy(spread: float = 2.0) -> Blobs:
    """Classes that overlap, whose loss does not go to 0."""
    blobs = Blobs()
    blobs._centres = blobs._centres / spread
    return blobs


def test_wrong_labels(tmp_path):
    def change(training, step, batch):
        return (batch[0], (batch[1] + 1) % trainings.CLASSES) if 300 <= step < 304 else batch

    found = watch(tmp_path, before_batch=change)[0]
    assert found.step == 300 and "the batch of step 300" in found.message and "precision shows no sign" in found.message


def test_odd_inputs(tmp_path):
    def change(training, step, batch):
        return (batch[0] * 40, batch[1].flip(0)) if 300 <= step < 303 else batch

    found = watch(tmp_path, before_batch=change)[0]
    assert found.step == 300 and "input 'input' reached" in found.message


@pytest.mark.parametrize("half", [False, True])
def test_learning_rate_that_jumps(half, tmp_path):
    def change(training, step, batch):
        if step == 300:
            training.optimizer.param_groups[0]["lr"] = 20.0
        return batch

    found = watch(tmp_path, half=half, before_batch=change, batches=noisy())[0]
    assert 300 <= found.step < 310 and "the learning rate rose from 0.05 to 20" in found.message


def test_gradients_that_are_too_large(tmp_path):
    """A batch whose loss has a weight of 500, in the step before."""
    blobs = noisy()

    def change(training, step, batch):
        training.at = step
        return batch

    def enlarge(training):
        if training.at == 300:
            raise_gradients(training)

    def raise_gradients(training):
        loss = classify(training.model(blobs(0)[0]), blobs(0)[1]) * 2000
        loss.backward()

    found = watch(tmp_path, half=False, batches=blobs, before_batch=change, before_step=enlarge)[0]
    assert 300 < found.step < 310 and "the gradient norm was" in found.message and "in step 300" in found.message


def test_rest_by_skipped_steps(tmp_path):
    found, = watch(tmp_path, 260, loss=lambda output, target: classify(trainings.Amplify.apply(output), target))
    assert "left out by the scaler" in found.message


def test_rest_by_a_small_learning_rate(tmp_path):
    found, = watch(tmp_path, 260, rate=1e-9)
    assert found.severity == "note" and "the learning rate 1e-09 is too small" in found.message


def test_rest_of_an_optimizer_of_another_model(tmp_path):
    found, = watch(tmp_path, 260, half=False, optimizer=torch.optim.SGD(mlp().parameters(), 0.05))
    assert found.severity == "warning" and "does not hold the model's parameters" in found.message


@pytest.mark.parametrize("half", [False, True])
def test_rest_with_healthy_gradients(half, tmp_path):
    """Labels that have nothing to do with the inputs."""
    draw = torch.Generator().manual_seed(5)

    def change(training, step, batch):
        return batch[0], torch.randint(0, trainings.CLASSES, batch[1].shape, generator=draw)

    model = mlp()
    with torch.no_grad():
        model[4].weight.mul_(0.1)
        model[4].bias.zero_()
    found, = watch(tmp_path, 260, half=half, rate=0.01, model=model, before_batch=change)
    assert found.severity == "warning" and "weights move: precision shows no sign" in found.message
