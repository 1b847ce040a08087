"""Casts that overflow: find_first_bad names them, and not the op that reads their Inf."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from test_replay import line_of  # noqa: E402
from trainings import Blobs, Training, classify, mlp  # noqa: E402
from torch import nn  # noqa: E402
from mpopt.monitor import Monitor, diagnosis, history  # noqa: E402


def first_bad(model, compute=None, *, dtype=None, scaler=None):
    x, y = Blobs()(0)

    def run(model, batch):
        with torch.autocast("cpu", dtype or torch.float16, enabled=dtype is not None):
            return (compute or (lambda model, x, y: model(x).float().mean()))(model, *batch)

    with Monitor(model, None, scaler, record=None, sinks=[]) as monitor:
        return monitor.find_first_bad((x, y), run)


class Loud(nn.Module):
    """A sum of 1e6 and more, that is cast in one of several ways and used afterwards."""

    def __init__(self, cast):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(trainings.FEATURES, 8), nn.Linear(8, 4)
        self.cast = cast

    def forward(self, x):
        h = self.first(x).float().abs() * 1e7
        h = self.cast(h)  # line
        return self.second(torch.log1p(h.float())).sum()


def into(h):
    buffer = torch.zeros(h.shape, dtype=torch.float16)
    buffer[1:3] = h[1:3]
    return buffer


@pytest.mark.parametrize("cast", [
    lambda h: h.half(), lambda h: h.to(torch.float16), lambda h: h.type(torch.HalfTensor), into,
    lambda h: h.to(torch.float8_e5m2), lambda h: (h.double() * 1e36).bfloat16()])
def test_explicit_casts(cast):
    bad = first_bad(Loud(cast))
    assert bad.op.startswith("the cast of float") and bad.phase == "forward", bad
    assert bad.layer == "" and bad.location.startswith(__file__)
    assert bad.operands[0].absmax > 1e6 and not bad.operands[0].inf
    assert "until the values are small" in bad.advice and bad.advice in str(bad)
    assert ("or use bfloat16" in bad.advice) == ("bfloat16" not in bad.op)


def test_the_cast_of_the_programs_own_line():
    """Outside of any module: the layer is that of what is cast."""
    def compute(model, x, y):
        return (model(x) * 1e6).half().float().mean()

    model = mlp()
    bad = first_bad(model, compute)
    assert bad.op == "the cast of float32 to float16" and bad.layer == "4", bad
    assert bad.location == f"{__file__}:{compute.__code__.co_firstlineno + 1}"
    assert bad.chain[-1].startswith("mul")


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.second = nn.LayerNorm(trainings.FEATURES), nn.Linear(trainings.FEATURES, 4)

    def forward(self, x):
        h = self.norm(x).float() * 1e6
        return self.second(h)  # line


def test_autocasts_own_of_an_activation():
    bad = first_bad(Scaled(), dtype=torch.float16)
    assert bad.op == "autocast's cast of float32 to float16 for linear", bad
    assert bad.layer == "second" and bad.operands[0].name == "operand 0"
    assert bad.operands[0].absmax > 1e6 and "enabled=False" in bad.advice


def test_autocasts_own_of_a_weight():
    model = mlp()
    with torch.no_grad():
        model[2].weight[3, 1] = 1e5
    bad = first_bad(model, dtype=torch.float16)
    assert bad.op == "autocast's cast of float32 to float16 for linear" and bad.layer == "2", bad
    assert bad.operands[0].name == "parameter '2.weight'" and bad.operands[0].absmax == 1e5
    assert "parameter's module" in bad.advice and "bfloat16" in bad.advice
    assert first_bad(model, dtype=torch.bfloat16) is None


def test_a_weight_that_the_program_casts():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.full((4, trainings.FEATURES), -7e4))

        def forward(self, x):
            return nn.functional.linear(x.half(), self.weight.half()).float()  # line

    bad = first_bad(Own(), lambda model, x, y: model(x).mean())
    assert bad.op == "the cast of float32 to float16" and "'weight'" in bad.operands[0].name, bad
    assert bad.location == f"{__file__}:{line_of(Own())}" and "-Inf" not in bad.result


@pytest.mark.parametrize("dtype, op", [(None, "ToCopy"), (torch.float16, "ToCopy")])
def test_gradients(dtype, op):
    """The loss is widened, so that its gradient is cast, and does not fit at this scale."""
    def compute(model, x, y):
        output = model(x)
        return classify(output.half().float(), y)

    scaler = trainings.scaler(init_scale=2.0**40)
    training = Training(mlp(), Blobs(), scaler=scaler)
    training.scaler.scale(torch.zeros(()))
    bad = first_bad(training.model, compute, dtype=dtype, scaler=scaler)
    assert bad.op == "the cast of float32 to float16" and bad.phase == "backward", bad
    assert bad.layer == "4" and bad.location.startswith(__file__)
    assert "loss scale of 2^2" in bad.advice and f"{2.0**40:g} here" in bad.advice


def test_masks_of_a_wider_format_are_no_fault():
    """The least number of FP32 is -Inf in FP16, and a weight of 0 behind a softmax."""
    class Masked(nn.Module):
        def __init__(self, rows):
            super().__init__()
            torch.manual_seed(0)
            self.key, self.rows = nn.Linear(trainings.FEATURES, trainings.FEATURES), rows

        def forward(self, x, y=None):
            scores = self.key(x) @ x.t()
            mask = torch.zeros(scores.shape)
            mask[self.rows, 1:] = torch.finfo(torch.float32).min
            mask[self.rows, :len(self.rows) // 32] = torch.finfo(torch.float32).min
            scores = scores.half() + mask.half()  # line
            return torch.softmax(scores.float(), -1).square().mean()

    assert first_bad(Masked(list(range(8)))) is None
    # Where nothing is left of a row, NaN comes of it, and would not have in FP32.
    bad = first_bad(Masked(list(range(32))))
    assert bad.op == "the cast of float32 to float16" and "Inf" in bad.result, bad
    assert bad.operands[0].absmax > 3e38


def test_a_negative_overflow_that_reaches_the_loss():
    bad = first_bad(mlp(), lambda model, x, y: (-model(x).abs() * 1e6).half().float().mean())
    assert bad.op == "the cast of float32 to float16" and bad.phase == "forward", bad


def test_casts_of_a_region_around_the_loop():
    """What a surrounding autocast kept of a step before is cast again."""
    model = mlp()
    with torch.no_grad():
        model[2].weight[3, 1] = 1e5
    with Monitor(model, record=None, sinks=[]) as monitor, torch.autocast("cpu", torch.float16):
        x, y = Blobs()(0)
        classify(model(x), y)
        bad = monitor.find_first_bad((x, y), lambda model, batch: classify(model(batch[0]), batch[1]))
    assert bad.operands[0].name == "parameter '2.weight'", bad


class Late(nn.Module):
    """From its 12th batch on values of 1e6 in FP32 go into a layer under autocast."""

    def __init__(self, loud):
        super().__init__()
        torch.manual_seed(0)
        self.norm, self.second = nn.LayerNorm(trainings.FEATURES), nn.Linear(trainings.FEATURES, 4)
        self.loud, self.late = loud, False

    def forward(self, x, y):
        h = self.norm(x)
        if self.late and self.loud == "between":
            h = h.float() * 1e6
        return classify(self.second(h), y)


def train(tmp_path, loud, **options):
    model, blobs = Late(loud), Blobs()
    scaler = trainings.scaler()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    path = tmp_path / "run.mprec"
    with Monitor(model, optimizer, scaler, record=path, sinks=[], **options) as monitor:
        for step in range(30):
            if step == 12:
                model.late = True
                with torch.no_grad():
                    if loud == "weight":
                        model.second.weight[1, 2] = 1e5
                    elif loud == "output":
                        model.norm.weight.fill_(1e6)
            with torch.autocast("cpu", torch.float16):
                loss = model(*blobs(step))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            monitor.step(loss=loss)
        alerts = monitor.alerts
    return alerts, diagnosis.diagnose(history.read(path))


@pytest.mark.parametrize("loud, words", [("output", "'norm' before it reaches"),
                                         ("weight", "its parameter 'second.weight' reaches 1e+05")])
def test_alert_and_page_name_the_cast(tmp_path, loud, words):
    alerts, causes = train(tmp_path, loud)
    found = next(alert for alert in alerts if alert.rule == "MP501")
    assert found.layer == "second" and words in found.message, found
    assert causes[0].name == "a cast overflows" and causes[0].certainty == "sure"
    assert any(words in answer.evidence for answer in causes[0].answers)


@pytest.mark.parametrize("loud", ["between", "weight", "output"])
def test_replay_tells_alert_and_page(tmp_path, loud):
    alerts, causes = train(tmp_path, loud, actions={"MP501": "replay"})
    note = next(alert for alert in alerts if alert.severity == "note")
    assert "autocast's cast of float32 to float16 for linear in 'second'" in note.message
    assert causes[0].name == "a cast overflows" and causes[0].layer == "second"
    assert causes[0].remedies[0].startswith("float16 ends at 65504: ")
