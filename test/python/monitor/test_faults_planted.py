"""Faults in trainings that run: each is told of by its rule, at its layer, in time."""

import functools

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from trainings import Blobs, Training, classify, mlp  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from mpopt.monitor import Monitor, diagnosis, history  # noqa: E402


def sgd(model, rate=0.05):
    return torch.optim.SGD(model.parameters(), rate)


def adam(model, rate=1e-3, **options):
    return torch.optim.Adam(model.parameters(), rate, **options)


def fp16(model, batches=None, loss=classify, optimizer=None, **options) -> Training:
    """As most programs train: FP32 weights, autocast, a scaler."""
    return Training(model, batches or Blobs(), loss, optimizer or adam(model),
                    options.pop("scaler", None) or trainings.scaler(), **options)


class Raised:
    """Says at which step an alert was raised: that of the `step` call that delivered it."""

    def __init__(self, training):
        self.at, self.steps = {}, 0
        self._before, training.before_batch = training.before_batch, self._count

    def _count(self, training, step, batch):
        self.steps = step
        return self._before(training, step, batch) if self._before else batch

    def alert(self, alert):
        self.at.setdefault((alert.rule, alert.severity), self.steps)

    def numbers(self, step, values):
        pass


def watch(training, folder, rule, steps=150, severity=None, *, since=0, late, **options):
    """The first alert of the rule, and all. It was delivered at most `late` steps after step
    `since`, in which the fault began."""
    raised = Raised(training)
    with Monitor(training.model, training.optimizer, training.scaler,
                 record=folder / "run-%r.mprec", sinks=[raised], **options) as monitor:
        training.run(steps, monitor)
        alerts = monitor.alerts
    found = [alert for alert in alerts if alert.rule == rule and
             severity in (None, alert.severity)]
    assert found, f"no {rule}, but {[str(alert) for alert in alerts]}"
    after = raised.at[rule, found[0].severity] - since
    assert 0 <= after <= late
    return found[0], alerts


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_nan_in_data(value, tmp_path):
    def spoil(training, step, batch):
        if step == 30:
            batch[0][3, 2] = value
        return batch

    training = fp16(mlp(), before_batch=spoil)
    alert, alerts = watch(training, tmp_path, "MP501", 60, since=30, late=10)
    assert (alert.severity, alert.layer, alert.step) == ("error", "input", 30), alerts


@pytest.mark.parametrize("half", [False, True])
def test_exploding_learning_rate(half, tmp_path):
    model, blobs = trainings.Autoencoder(), Blobs()

    def batches(step):
        if step == 50:
            training.optimizer.param_groups[0]["lr"] = 5.0
        x, _ = blobs(step)
        return x, x

    training = Training(model, batches, lambda output, x: (output.float() - x).square().mean(),
                        sgd(model, 0.05), trainings.scaler(init_scale=2.0**12) if half else None,
                        torch.float16 if half else None)
    alert, alerts = watch(training, tmp_path, "MP505", 70, since=50, late=10)
    assert alert.severity in ("warning", "error") and 50 < alert.step, alerts
    assert alert.layer in ("encode.0", "decode")


def test_unsafe_loss(tmp_path):
    """A sum of squares in FP16: 65504 is soon passed. From 2^16 it takes sixteen steps to 1, and
    some more to see that it stays."""
    def loss(output, target):
        return (output * 200).square().half().sum().float()

    model = mlp()
    training = Training(model, Blobs(), loss, sgd(model, 1e-9), trainings.scaler())
    alert, alerts = watch(training, tmp_path, "MP506", 60, "error", since=19, late=10)
    assert "does not rise" in alert.message
    loss, = [alert for alert in alerts if alert.rule == "MP501"]
    assert loss.step == 0 and "loss is inf" in loss.message and not loss.layer


class Dying(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.act = nn.Linear(trainings.FEATURES, 16), nn.ReLU()
        self.skip, self.head = nn.Linear(trainings.FEATURES, 16), nn.Linear(16, trainings.CLASSES)

    def forward(self, x):
        return self.head(self.act(self.first(x)) + self.skip(x))


def test_dead_units(tmp_path):
    model = Dying()
    with torch.no_grad():
        model.first.bias.fill_(-1e3)
    alert, alerts = watch(fp16(model), tmp_path, "MP504", 110, late=15)
    assert alert.layer == "act" and alert.step <= 100, alerts
    gone = [alert for alert in alerts if alert.rule == "MP508"]
    assert [alert.layer for alert in gone] == ["first"]


class Amplified(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(trainings.FEATURES, 16), nn.Linear(16, trainings.CLASSES)

    def forward(self, x):
        return self.second(torch.relu(trainings.Amplify.apply(self.first(x))))


def test_scale_that_falls_to_one(tmp_path):
    alert, alerts = watch(fp16(Amplified()), tmp_path, "MP506", 40, "error", since=19, late=10)
    # Down there infinite gradients are nobody's search for a scale any more: they begin at the
    # layer behind which they overflow.
    bad = [alert for alert in alerts if alert.rule == "MP501"]
    assert [alert.layer for alert in bad] == ["first"], alerts
    early = [alert for alert in alerts if alert.rule == "MP506"][0]
    assert early.severity == "warning" and early.step <= 10 and "1 in" in early.message


def test_clipped_before_unscaled(tmp_path):
    def clip(training):
        nn.utils.clip_grad_norm_(training.model.parameters(), 0.1)

    alert, alerts = watch(fp16(mlp(), before_step=clip), tmp_path, "MP411", 20, late=10)
    assert (alert.severity, alert.step) == ("error", 0), alerts
    assert "before clip_grad_norm_" in alert.message


def test_clipped_after_unscaled_is_right(tmp_path):
    def clip(training):
        training.scaler.unscale_(training.optimizer)
        nn.utils.clip_grad_norm_(training.model.parameters(), 0.1)

    training = fp16(mlp(), before_step=clip)
    with Monitor(training.model, training.optimizer, training.scaler, record=None) as monitor:
        training.run(30, monitor)
        assert monitor.alerts == []


def test_stepped_with_scaled_gradients(tmp_path):
    model = mlp()
    training = fp16(model)
    scaler, optimizer = training.scaler, training.optimizer
    with Monitor(model, optimizer, scaler, record=None) as monitor:
        loss = training.forward(0)
        scaler.scale(loss).backward()
        optimizer.step()
        optimizer.zero_grad()
        monitor.step(loss=loss)
        found, = [alert for alert in monitor.alerts if alert.rule == "MP411"]
    assert found.severity == "error" and found.step == 0


def test_epsilon_of_zero(tmp_path):
    """1e-8 is 0 in FP16, the dtype of Adam's state of weights in FP16."""
    model = mlp().half()
    blobs = Blobs()

    def batches(step):
        x, y = blobs(step)
        return x.half(), y

    training = Training(model, batches, classify, adam(model), None, None)
    alert, alerts = watch(training, tmp_path, "MP407", 3, late=1)
    assert (alert.severity, alert.layer, alert.step) == ("error", "0", 0), alerts
    assert "float16" in alert.message


def test_lost_updates(tmp_path):
    model = mlp().bfloat16()
    blobs = Blobs()

    def batches(step):
        x, y = blobs(step)
        return x.bfloat16(), y

    training = Training(model, batches, classify, sgd(model, 1e-5), None, None)
    alert, alerts = watch(training, tmp_path, "MP409", 40, late=15)
    assert alert.severity == "warning" and alert.step <= 20, alerts
    assert {found.layer for found in alerts if found.rule == "MP409"} >= {"0", "2", "4"}


class Lion(torch.optim.Optimizer):
    """The sign of the gradient, as its first step is (Chen et al., 2023)."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.sub_(group["lr"] * parameter.grad.sign())


#: Learning rates of which a step leaves nothing of weights of 0.1, and a sound one.
RATES = {"sgd": (torch.optim.SGD, 1e4, 1e-2), "adam": (torch.optim.Adam, 1.0, 1e-3), "lion": (Lion, 1.0, 1e-4),
         "momentum": (functools.partial(torch.optim.SGD, momentum=0.9), 1e4, 1e-2)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", RATES)
def test_large_updates(name, dtype, tmp_path):
    make, large, sound = RATES[name]
    for rate, found in ((large, True), (sound, False)):
        model = mlp().to(dtype)
        blobs = Blobs()

        def batches(step, blobs=blobs):
            x, y = blobs(step)
            return x.to(dtype), y

        training = Training(model, batches, classify, make(model.parameters(), lr=rate), None, None)
        with Monitor(model, training.optimizer, record=tmp_path / f"{rate:g}-%r.mprec") as monitor:
            training.run(20, monitor)
            alerts = monitor.alerts
        assert any(alert.rule == "MP415" for alert in alerts) == found, (rate, alerts)


class Growing(nn.Module):
    """The outputs of `gain` grow by a twentieth each step."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.gain = nn.Linear(trainings.FEATURES, 16), nn.Linear(16, 16)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, trainings.CLASSES)

    def forward(self, x):
        return self.head(self.norm(self.gain(self.first(x)).float()))


def test_growing_activation(tmp_path):
    model = Growing()

    def grow(training, step, batch):
        with torch.no_grad():
            model.gain.weight.mul_(1.05)
        return batch

    training = fp16(model, before_batch=grow)
    alert, alerts = watch(training, tmp_path, "MP502", 240, since=150, late=20, periods={"value": 20})
    assert alert.layer == "gain", alerts
    assert "grows" in alert.message
    # It passes 65504 three samples later.
    assert 100 <= alert.step <= 200


class Detached(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.head = nn.Linear(trainings.FEATURES, 16), nn.Linear(16, trainings.CLASSES)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)).detach())


class Multiplied(Detached):
    def forward(self, x):
        return self.head(torch.relu(self.body(x) * 0.0 + 1.0))


@pytest.mark.parametrize("make", [Detached, Multiplied])
def test_silent_zero_gradients(make, tmp_path):
    alert, alerts = watch(fp16(make()), tmp_path, "MP508", 40, late=28)
    assert (alert.severity, alert.layer) == ("warning", "body") and alert.step <= 28, alerts
    assert [found.rule for found in alerts] == ["MP508"]


def test_flushed_gradients(tmp_path):
    """A tiny weight of the loss, and no scaler."""
    def loss(output, target):
        return functional.cross_entropy(output.float(), target) * 2e-5

    model = mlp()
    training = Training(model, Blobs(), loss, adam(model))
    alert, alerts = watch(training, tmp_path, "MP503", 120, late=15)
    assert alert.severity == "warning" and alert.layer in ("0", "2", "4"), alerts


def test_inputs_outside_of_what_was_assumed(tmp_path):
    def widen(training, step, batch):
        return (batch[0] * 100, batch[1]) if step >= 20 else batch

    alert, alerts = watch(fp16(mlp(), before_batch=widen), tmp_path, "MP513", 40, since=20, late=10,
                          inputs={"input": "-10:10"})
    assert (alert.layer, alert.step) == ("input", 20), alerts


def test_channels_of_other_orders(tmp_path):
    """Time in seconds beside what is of order 1."""
    class Raw(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.embed, self.head = nn.Linear(trainings.FEATURES, 8), nn.Linear(8, trainings.CLASSES)
            with torch.no_grad():
                self.embed.weight[3] *= 1e5

        def forward(self, x):
            return self.head(torch.tanh(self.embed(x)))

    model = Raw()
    training = Training(model, Blobs(), classify, adam(model), None, None)
    alert, alerts = watch(training, tmp_path, "MP510", 60, late=40, periods={"channel": 10})
    assert (alert.severity, alert.layer) == ("note", "embed") and alert.step <= 40, alerts


def test_skipped_steps(tmp_path):
    def overflow(training, step, batch):
        # Ever closer together from step 40 on.
        training.bad = step in (40, 62, 74, 82, 86, 90, 92, 94, 96)
        return batch

    model = mlp()
    training = fp16(model, before_batch=overflow)
    training.loss = lambda output, target: classify(output, target) * (
        1e36 if training.bad else 1.0)
    alert, alerts = watch(training, tmp_path, "MP507", 110, since=62, late=10)
    assert alert.severity == "warning" and 62 <= alert.step <= 72, alerts


def test_first_descent_is_no_fault(tmp_path):
    """A scale that begins at 2^24 comes down, and training goes on."""
    training = fp16(mlp(), scaler=trainings.scaler(init_scale=2.0**24))
    with Monitor(training.model, training.optimizer, training.scaler,
                 record=tmp_path / "run.mprec") as monitor:
        training.run(120, monitor)
        assert training.scaler.get_scale() < 2.0**24
        assert [alert.rule for alert in monitor.alerts] == []


def test_a_loss_that_breaks_names_the_module(tmp_path):
    class Breaks(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.first, self.loud = nn.Linear(trainings.FEATURES, 16), nn.Linear(16, 16)
            self.last = nn.Linear(16, trainings.CLASSES)

        def forward(self, x):
            return self.last(self.loud(self.first(x)))

    model = Breaks()

    def break_it(training, step, batch):
        if step == 25:
            with torch.no_grad():
                model.loud.weight.fill_(6e4)
        return batch

    alert, _ = watch(fp16(model, before_batch=break_it), tmp_path, "MP501", 45, since=25, late=10)
    assert (alert.layer, alert.step) == ("loud", 25), alert


class Masked(nn.Module):
    """Attention whose last query has no key left; its output is not in the loss."""

    def __init__(self, guarded):
        super().__init__()
        torch.manual_seed(0)
        self.guarded, self.query, self.out = guarded, nn.Linear(trainings.FEATURES, 8), nn.Linear(8, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        x = self.query(x)
        hidden = (torch.arange(len(x)) == len(x) - 1)[:, None]
        scores = (x @ x.t()).masked_fill(hidden, 0.0 if self.guarded else float("-inf"))
        return torch.where(hidden, 0.0, self.head(x + self.out(scores.softmax(-1) @ x)))


@pytest.mark.parametrize("guarded", [False, True])
def test_nan_that_the_loss_leaves_out(guarded, tmp_path):
    """The gradient of the head's bias is finite: the NaN comes from before the head, and no derivative is infinite."""
    model = Masked(guarded)
    training = Training(model, Blobs(), lambda output, _: output.square().mean(), sgd(model, 1e-3), None, None)
    with Monitor(model, training.optimizer, record=tmp_path / "run.mprec", sinks=[]) as monitor:
        training.run(3, monitor)
        alerts = [alert for alert in monitor.alerts if alert.rule == "MP501"]
    if guarded:
        assert not alerts
    else:
        assert alerts[0].layer == "head" and "in the forward pass 'head' was given NaN" in alerts[0].message, alerts


def test_biases_may_grow_from_nearly_nothing(tmp_path):
    """A bias begins near 0, and its first update is larger than it. That is no large update."""
    model = mlp()
    with torch.no_grad():
        for bias in (model[0].bias, model[2].bias):
            bias.mul_(1e-3)
    training = Training(model, Blobs(), classify, sgd(model, 0.05), None, None)
    with Monitor(model, training.optimizer, record=tmp_path / "run.mprec", sinks=[]) as monitor:
        training.run(20, monitor)
        assert not monitor.alerts


@pytest.mark.parametrize("what", ["loss", "gradient", "update"])
def test_parameters_that_break_have_the_right_cause(what, tmp_path):
    """The update is to blame only where loss and gradients were finite."""
    class Break(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x.clone()

        @staticmethod
        def backward(context, gradient):
            return gradient * float("inf")

    model = mlp()
    optimizer = sgd(model, 1e-3)

    def spoil(training, step, batch):
        at = step == 20
        training.loss = {"loss": lambda o, y: classify(o, y) * (float("nan") if at else 1),
                         "gradient": lambda o, y: classify(Break.apply(o) if at else o, y),
                         "update": classify}[what]
        if at and what == "update":
            optimizer.register_step_post_hook(
                lambda *_: model[0].weight.data.fill_(float("inf")))
        return batch

    training = Training(model, Blobs(), classify, optimizer, None, None, before_batch=spoil)
    with Monitor(model, optimizer, record=tmp_path / "run.mprec", sinks=[],
                 periods={"parameter": 1, "value": 1}) as monitor:
        training.run(21, monitor)
        found = [alert for alert in monitor.alerts if "parameter" in alert.message]
    assert len(found) == 1, monitor.alerts
    words = {"loss": "the loss is nan in step 20", "update": "an update was not finite",
             "gradient": "' was not finite in step 20"}[what]
    assert words in found[0].message, found[0].message


class Labelled(nn.Module):
    """A model that takes labels and gives its loss."""

    def __init__(self):
        super().__init__()
        self.body = mlp()

    def forward(self, x, labels):
        return functional.cross_entropy(self.body(x), labels)


@pytest.mark.parametrize("empty", [False, True])
def test_a_batch_without_a_valid_token(empty, tmp_path):
    model, blobs, path = Labelled(), Blobs(), tmp_path / "run.mprec"
    optimizer = sgd(model, 1e-3)
    with Monitor(model, optimizer, record=path, sinks=[]) as monitor:
        for step in range(24):
            x, labels = blobs(step)
            if step == 12:
                labels[0 if empty else 1:] = -100
            loss = model(x, labels=labels)
            loss.backward()
            if torch.isfinite(loss):
                optimizer.step()
            optimizer.zero_grad()
            monitor.step(loss=loss)
        alerts = monitor.alerts
    if not empty:
        assert alerts == []
        return
    found = [alert for alert in alerts if alert.rule == "MP501"]
    assert [(alert.layer, alert.step) for alert in found] == [("labels", 12)], alerts
    assert "0 / 0: no valid token in this batch" in found[0].message
    assert diagnosis.diagnose(history.read(path))[0].name == "the data"
