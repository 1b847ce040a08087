"""What the page says of a planted run for each rule, in FP16 and in FP32: it agrees with the
alerts, and speaks of formats only where one of 16 bits is in use."""

import math

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from test_faults_planted import Amplified, Detached, Dying, adam, sgd  # noqa: E402
from trainings import Blobs, Training, classify, mlp  # noqa: E402
from torch import nn  # noqa: E402
from mpopt.monitor import Monitor, diagnosis, history  # noqa: E402


class Squashed(nn.Module):
    """A constant in front, another behind it: a layer's output times `gain`."""

    def __init__(self, gain=1.0):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(trainings.FEATURES, 16), nn.Linear(16, trainings.CLASSES)
        self.gain = gain
        with torch.no_grad():
            self.first.bias.fill_(gain)

    def forward(self, x):
        return self.second(self.first(x) / self.gain)


def training(half, model=None, *, batches=None, loss=classify, optimizer=None, scaled=True, **options):
    model = model or mlp()
    return Training(model, batches or Blobs(), loss, optimizer or adam(model),
                    trainings.scaler(init_scale=1024.0) if half and scaled else None,
                    torch.float16 if half else None, **options)


def spoiled(half):
    def spoil(training, step, batch):
        if step == 20:
            batch[0][3, 2] = math.nan
        return batch
    return training(half, before_batch=spoil)


def broken(half):
    model = Squashed()

    def spoil(training, step, batch):
        if step == 20:
            with torch.no_grad():
                model.first.weight.fill_(6e4 if half else 3e38)
        return batch
    return training(half, model, before_batch=spoil)


class Root(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.head = nn.Linear(trainings.FEATURES, 8), nn.Linear(8, trainings.CLASSES)

    def forward(self, x):
        return self.head(torch.sqrt(self.body(x).float().square() * 0.0))


def small(half):
    return training(half, loss=lambda output, y: classify(output, y) * 2e-5, scaled=False)


def large(half):
    model = mlp()
    return training(half, model, loss=lambda output, y: classify(output, y) * 300, optimizer=sgd(model, 1e-6))


def vanishing(half):
    model = mlp()
    return training(half, model, loss=lambda output, y: classify(output, y) * 1e-9, optimizer=sgd(model))


def jumping(half):
    model = mlp()

    def jump(training, step, batch):
        training.loss = lambda output, y: classify(output, y) * (90 if step == 60 else 1)
        return batch
    return training(half, model, optimizer=sgd(model, 1e-4), before_batch=jump)


def growing(half):
    """Overflows that come closer and closer together."""
    def spoil(training, step, batch):
        training.bad = step in (40, 62, 74, 82, 86, 90, 92, 94, 96)
        training.loss = lambda output, y: classify(output, y) * (1e36 if training.bad else 1.0)
        return batch
    return training(half, before_batch=spoil)


class Raw(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.head = nn.Linear(trainings.FEATURES, 8), nn.Linear(8, trainings.CLASSES)
        with torch.no_grad():
            self.embed.weight[3] *= 2e3
            self.embed.weight[:3] *= 1e-2
            self.embed.weight[4:] *= 1e-2
            self.embed.bias *= 1e-2

    def forward(self, x):
        return self.head(torch.tanh(self.embed(x)))


def channels(half):
    model = Raw()
    return training(half, model, optimizer=sgd(model, 1e-6))


def dead(half):
    model = Dying()
    with torch.no_grad():
        model.first.bias.fill_(-1e3)
    return training(half, model)


def widened(half):
    def widen(training, step, batch):
        return (batch[0] * 100, batch[1]) if step >= 20 else batch
    return training(half, before_batch=widen)


#: Rules that have to be told of in FP16 and in FP32, causes on the page, what makes the run.
PLANTED = {
    "data": (spoiled, "MP501", "MP501", "the data"),
    "forward": (broken, "MP501", "MP501", ("a cast overflows", "values overflow in the forward pass",
                                           "NaN or Inf begins in the forward pass")),
    "backward": (lambda half: training(half, Root(), scaled=False), "MP501", "MP501",
                 ("a gradient is NaN or Inf", "NaN or Inf begins in the forward pass", "values overflow in the forward pass")),
    "near overflow": (lambda half: training(half, Squashed(62_000.)), "MP502", None, "values come near the end of FP16"),
    "flushed": (small, "MP503", None, "small gradients are lost"),
    "dead": (dead, "MP504", "MP504", "a layer does not learn"),
    "large": (large, "MP505", "MP505", "gradients are large from the start"),
    "vanishing": (vanishing, "MP505", "MP505", ("gradients vanish", "small gradients are lost")),
    "jump": (jumping, "MP505", "MP505", "the norm of the gradients jumps"),
    "scale": (lambda half: training(half, Amplified()), "MP506", None, "a gradient overflows at every loss scale"),
    "skipped": (growing, "MP507", None, "steps are skipped too often"),
    "detached": (lambda half: training(half, Detached()), "MP508", "MP508", "a layer does not learn"),
    "channels": (channels, "MP510", "MP510", "channels of uneven sizes"),
    "inputs": (widened, "MP513", "MP513", "inputs outside of their assumed range"),
}
#: Words of formats, and of what only they need.
FORMATS = ("FP16", "BF16", "FP32", "16-bit", "GradScaler", "loss scale", "scaler.", "flushed", "autocast")


def watch(training, folder, thresholds=None):
    path = folder / "run.mprec"
    with Monitor(training.model, training.optimizer, training.scaler, record=path, sinks=[],
                 thresholds=thresholds, periods={"channel": 10, "value": 10, "gradient": 10},
                 inputs={"x": "-10:10", "input": "-10:10"}) as monitor:
        training.run(110, monitor)
        alerts = monitor.alerts
    return alerts, diagnosis.diagnose(history.read(path)), diagnosis.healthy_answers(history.read(path))


def check_agreement(alerts, causes):
    """Each alert above a note is the sign of a cause, or listed without one."""
    for alert in alerts:
        if alert.severity != "note":
            assert any(alert.rule in cause.rules for cause in causes), (alert, causes)
    assert not (alerts and any(cause.name == "not one that the record shows" for cause in causes
                               if any(alert.severity != "note" for alert in alerts)))


@pytest.mark.parametrize("name", PLANTED)
def test_page_and_alerts_agree(name, tmp_path):
    make, rule, _, cause = PLANTED[name]
    alerts, causes, _ = watch(make(True), tmp_path)
    assert rule in {alert.rule for alert in alerts}, alerts
    check_agreement(alerts, causes)
    names = [found.name for found in causes]
    assert any(known in names for known in ([cause] if isinstance(cause, str) else cause)), names
    assert not any("without a known cause" in found for found in names)


@pytest.mark.parametrize("name", PLANTED)
def test_the_same_in_fp32(name, tmp_path):
    make, _, rule, cause = PLANTED[name]
    alerts, causes, answers = watch(make(False), tmp_path)
    told = {alert.rule for alert in alerts}
    assert rule in told if rule else told <= {"MP501", "MP505", "MP514"}, alerts
    check_agreement(alerts, causes)
    text = "\n".join([*map(str, alerts), *(word for found in causes for word in
                                           (found.name, *found.remedies))])
    assert not [word for word in FORMATS if word in text], text


@pytest.mark.parametrize("threshold", [1e-4, 1e-6])
def test_vanished_gradients_at_any_threshold(threshold, tmp_path):
    """Norms below the threshold, though above the default one, are one cause."""
    model = mlp()
    planted = training(False, model, loss=lambda output, y: classify(output, y) * 0.05 * threshold, optimizer=sgd(model))
    alerts, causes, _ = watch(planted, tmp_path, {"norm-vanished": threshold})
    assert "MP505" in {alert.rule for alert in alerts if alert.severity == "warning"}, alerts
    check_agreement(alerts, causes)
    assert "gradients vanish" in [cause.name for cause in causes], causes


def test_ranks_and_what_no_cause_is_known_of(tmp_path):
    """MP511, which takes processes, and a rule of another version."""
    path = tmp_path / "run.history.jsonl"
    writer = history.Writer(tmp_path / "run.mprec", 0, None)
    from mpopt.monitor.alerts import Alert
    for rule in ("MP511", "MP599"):
        writer.alert(Alert(rule, "error", "head", 3, f"step 3: {rule} is told"))
    writer.close()
    causes = diagnosis.diagnose(history.read(path))
    assert {cause.name for cause in causes} == {"ranks disagree", "an alert of MP599 without a known cause"}
    assert not any(word in remedy for cause in causes for remedy in cause.remedies for word in FORMATS)


@pytest.mark.parametrize("half", [False, True])
def test_small_gradients_of_fp32_are_not_flushed(half, tmp_path):
    """All of one magnitude, that of the last numbers of FP16, and exact in FP32."""
    model = nn.Sequential(nn.Linear(trainings.FEATURES, 8, bias=False))
    planted = Training(model, lambda step: (torch.ones(1, trainings.FEATURES), None),
                       lambda output, _: output.float().sum() * 2.0**-24, sgd(model, 1e-3), None,
                       torch.float16 if half else None)
    alerts, causes, answers = watch(planted, tmp_path)
    assert ("MP503" in {alert.rule for alert in alerts}) == half, alerts
    assert ("small gradients are lost" in {cause.name for cause in causes}) == half
    check_agreement(alerts, causes)
