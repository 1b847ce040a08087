"""find_first_bad: the step again, every op in view."""

import inspect

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from trainings import Blobs, Training, classify, mlp  # noqa: E402
from torch import nn  # noqa: E402
import mpopt  # noqa: E402
from mpopt.monitor import Monitor, diagnosis, history  # noqa: E402
from mpopt.monitor.random_state import random_state  # noqa: E402


class Root(nn.Module):
    """The derivative of a square root at 0; dropout and a running mean change with each call."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.norm = nn.Linear(trainings.FEATURES, 8), nn.BatchNorm1d(8)
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(8, trainings.CLASSES)
        self.distance = Distance()

    def forward(self, x, y=None):
        h = self.drop(torch.relu(self.norm(self.body(x))))
        h = self.distance(h)
        output = self.head(h)
        return output if y is None else classify(output, y)


class Distance(nn.Module):
    def forward(self, h):
        return torch.sqrt(h)  # line


def line_of(module) -> int:
    source, first = inspect.getsourcelines(module.forward)
    return first + next(place for place, line in enumerate(source) if "# line" in line)


def state(training):
    return ([parameter.detach().clone() for parameter in training.model.parameters()],
            [buffer.clone() for buffer in training.model.buffers()],
            [parameter.grad for parameter in training.model.parameters()],
            torch.get_rng_state())


def same(one, other) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one[0] + one[1] + [one[3]],
                                                  other[0] + other[1] + [other[3]], strict=True)) \
        and all(a is b for a, b in zip(one[2], other[2], strict=True))


def test_backward_op_and_its_line():
    training = Training(Root(), Blobs(), autocast=None)
    with Monitor(training.model, training.optimizer, record=None) as monitor:
        x, y = training.batches(0)
        classify(training.model(x), y).backward()
        before = state(training)
        bad = monitor.find_first_bad((x, y))
        assert same(before, state(training))
        assert all(parameter._post_accumulate_grad_hooks for parameter in training.model.parameters())
    assert (bad.phase, bad.layer) == ("backward", "distance")
    assert "Sqrt" in bad.op
    assert bad.location == f"{__file__}:{line_of(Distance())}"
    assert "Inf" in bad.result or "NaN" in bad.result
    assert "\n" not in str(bad) and "distance" in str(bad)


def test_forward_overflow_in_fp16():
    class Loud(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.first, self.second = nn.Linear(trainings.FEATURES, 8), nn.Linear(8, 8)

        def forward(self, x):
            h = self.first(x) * 300
            return (self.second(h * h) - h).mean()  # line

    model = Loud()
    with torch.no_grad():
        model.second.weight.fill_(10.0)
    with Monitor(model, record=None, periods={"norm": 0}) as monitor:
        x, _ = Blobs()(0)
        with torch.autocast("cpu", torch.float16):
            model(x)
        bad = monitor.find_first_bad((x,))
    assert bad.phase == "forward" and "Inf" in bad.result and "float16" in bad.result
    assert bad.operands and max(operand.absmax for operand in bad.operands) > 255
    assert all(not operand.nan and not operand.inf for operand in bad.operands)
    assert bad.chain and "mul" in " ".join(bad.chain)


@pytest.mark.parametrize("spoilt", ["parameter 'body.weight'", "input '0'"])
def test_what_held_nan_before_the_step(spoilt):
    """No op makes it: it is named where it is read first."""
    training = Training(Root(), Blobs(), autocast=None)
    x, y = training.batches(0)
    with torch.no_grad():
        (x if spoilt.startswith("input") else training.model.body.weight)[2, 3] = torch.nan
    with Monitor(training.model, training.optimizer, record=None, sinks=[]) as monitor:
        bad = monitor.find_first_bad((x, y))
    assert (bad.phase, bad.op, bad.layer) == ("stored", spoilt, "body")
    assert str(bad).startswith(f"no op of this step: {spoilt} holds 1 NaN of ")


def test_a_spoilt_value_that_does_not_reach_the_loss():
    class Chosen(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([1.0, torch.nan]))

        def forward(self, x):
            return (self.weight[0] * x).sum()

    with Monitor(Chosen(), record=None, sinks=[]) as monitor:
        assert monitor.find_first_bad((torch.ones(2),)) is None


def test_a_replay_after_the_update(tmp_path):
    """A gradient is NaN in step 20, its update is taken, and the batch that is computed again shows that."""
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    with Monitor(model, optimizer, record=tmp_path / "run.mprec", sinks=[], actions={"error": "replay"}) as monitor:
        for step in range(40):
            x, y = Blobs()(step)
            loss = classify(model(x), y)
            if step == 20:  # the root of 0, whose derivative is not finite
                loss = loss + (model[0].weight * 0).sum().sqrt()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            monitor.step(loss=loss)
    assert monitor.first_bad.phase == "stored" and monitor.first_bad.op == "parameter '0.weight'"
    assert "computed again: no op of this step: parameter '0.weight'" in monitor.alerts[-1].message
    assert "first bad: no op of this step" in monitor.summary() and " 2 alerts" in monitor.summary()
    assert "with weights from before this step" in monitor.alerts[0].message
    cause = diagnosis.diagnose(history.read(tmp_path / "run.mprec"))[0]
    assert (cause.name, cause.certainty) == ("a gradient is NaN or Inf", "sure")
    assert "step 20" in cause.answers[-1].evidence


def test_masks_are_no_fault():
    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.key = nn.Linear(8, 8)

        def forward(self, x):
            scores = self.key(x) @ x.transpose(-1, -2)
            mask = torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)
            scores = scores + mask
            scores = scores.masked_fill(torch.eye(x.shape[1], dtype=torch.bool), 0.0)
            return torch.softmax(scores, -1).square().mean()

    model = Masked()
    with Monitor(model, record=None) as monitor:
        x = torch.randn(2, 5, 8, generator=trainings.generator())
        assert monitor.find_first_bad((x,)) is None


def test_a_program_of_its_own():
    """The loss is the program's, and the scale overflows its gradient."""
    model = mlp()
    training = Training(model, Blobs(), scaler=trainings.scaler(init_scale=2.0**40))
    with Monitor(model, training.optimizer, training.scaler, record=None) as monitor:
        training.run(1, monitor)
        batch = training.batches(1)

        def compute(model, batch):
            with torch.autocast("cpu", torch.float16):
                return classify(model(batch[0]), batch[1])

        bad = monitor.find_first_bad(batch, compute)
    assert bad.phase == "backward" and bad.layer == "4"


def test_random_numbers_of_the_kept_batch():
    """Dropout that divides by zero in one draw of two."""
    class Chance(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))

        def forward(self, x):
            return (self.weight / (torch.rand(()) < 0.5).float()).sum() + x.sum() * 0

    model, x = Chance(), torch.zeros(1)
    with Monitor(model, record=None, periods={"norm": 0}) as monitor:
        for seed in range(6):
            torch.manual_seed(seed)
            random = {"cpu": torch.get_rng_state(), "cuda": []}
            finite = bool(torch.isfinite(model(x)))
            assert (monitor.find_first_bad((x,), random=random) is None) == finite


def test_random_numbers_of_others():
    """Layers left out by Python's and NumPy's generators: the step is the one that was, and both go
    on as if nothing had been computed."""
    import random

    numpy = pytest.importorskip("numpy")

    class Chance(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))

        def forward(self, x):
            kept = random.random() < 0.5 and numpy.random.rand() < 0.5
            return (self.weight / float(kept) if kept else self.weight / 0 * 0).sum() + x.sum() * 0

    model, x = Chance(), torch.zeros(1)
    outcomes = set()
    with Monitor(model, record=None, periods={"norm": 0}, sinks=[]) as monitor:
        for seed in range(8):
            random.seed(seed)
            numpy.random.seed(seed)
            state = random_state()
            finite = bool(torch.isfinite(model(x)))
            outcomes.add(finite)
            before = random.getstate(), numpy.random.get_state()[1].tolist()
            assert (monitor.find_first_bad((x,), random=state) is None) == finite
            assert before == (random.getstate(), numpy.random.get_state()[1].tolist())
    assert outcomes == {True, False}


@pytest.mark.skipif(not hasattr(torch.compiler, "set_stance"), reason="PyTorch before 2.6")
@pytest.mark.parametrize("how", ["whole", "part"])
def test_a_compiled_model_is_seen_op_by_op(how):
    torch._dynamo.reset()
    model = Root()
    (model if how == "whole" else model.distance).compile(fullgraph=True, backend="aot_eager")
    training = Training(model, Blobs(), autocast=None)
    with Monitor(model, training.optimizer, record=None, sinks=[]) as monitor:
        x, y = training.batches(0)
        classify(training.model(x), y).backward()
        bad = monitor.find_first_bad((x, y))
    assert (bad.phase, bad.layer) == ("backward", "distance")
    assert bad.location == f"{__file__}:{line_of(Distance())}"


def test_a_model_without_a_loss():
    model = mlp()
    with Monitor(model, record=None) as monitor, pytest.raises(mpopt.Error, match="compute="):
        monitor.find_first_bad(Blobs()(0)[:1])


class Fading(nn.Module):
    """From its 12th batch on a square root of what is negative; dropout shows random numbers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body, self.norm = nn.Linear(trainings.FEATURES, 8), nn.BatchNorm1d(8)
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(8, trainings.CLASSES)
        self.offset = 1

    def forward(self, x):
        h = self.drop(torch.relu(self.norm(self.body(x))))
        return self.head(torch.sqrt(h.float() + 0.5 * self.offset))  # line


def test_replay_after_an_alert():
    """By itself: before the next batch, of which it changes nothing."""
    def train(**options):
        model = Fading()

        def fade(training, step, batch):
            model.offset = 1 if step < 12 else -1
            return batch

        training = Training(model, Blobs(), scaler=trainings.scaler(), before_batch=fade)
        torch.manual_seed(3)
        with Monitor(model, training.optimizer, training.scaler, record=None, sinks=[],
                     **options) as monitor:
            losses = training.run(30, monitor)
            alerts = monitor.alerts
        return monitor, alerts, losses, model

    monitor, alerts, losses, model = train(actions={"MP501": "replay"})
    bad = monitor.first_bad
    assert (bad.op, bad.phase) == ("sqrt", "forward") and "NaN" in bad.result
    assert bad.location == f"{__file__}:{line_of(model)}"
    note = next(alert for alert in alerts if alert.severity == "note")
    assert note.rule == "MP501" and "sqrt" in note.message
    assert [alert.severity for alert in alerts].count("note") == 1
    plain, _, others, same_model = train()
    assert plain.first_bad is None
    # NaN is no number like another.
    assert list(map(repr, losses)) == list(map(repr, others))
    for one, other in zip(model.state_dict().values(), same_model.state_dict().values(), strict=True):
        assert torch.equal(one.nan_to_num(), other.nan_to_num())
