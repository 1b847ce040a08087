"""Predictions of --train, decided by real training runs in PyTorch: of each rule a finding
that the run confirms and one that it refutes, in FP32, under autocast in FP16 without and with
a GradScaler, and as long as the program tells its loss scale or returns its loss."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")
F = torch.nn.functional

from torch_probes import (  # noqa: E402, F401
    bits, instrument, library, plain_execution, run_mpopt, save)
import mpopt  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402

SHAPE = (32, 16)
CHECKS = ("--precision=autocast-fp16", "--input=x~0,1", f"--input-shape=x={SHAPE[0]}x{SHAPE[1]}")
UNSAID = tuple(option for option in CHECKS if "~" not in option)
RULES = ("MP401", "MP402", "MP404", "MP405", "MP406", "MP412")


class Layers(torch.nn.Module):
    """A stack whose forward returns what it predicts, or its loss."""

    def __init__(self, *layers, factor: float = 1.0, loss: bool = True, gain: float | None = None):
        super().__init__()
        self.layers = torch.nn.Sequential(*layers)
        self.factor, self.loss = factor, loss
        if gain is not None:
            for layer in layers:
                if isinstance(layer, torch.nn.Linear):
                    torch.nn.init.normal_(layer.weight, std=gain / layer.in_features**0.5)
                    torch.nn.init.zeros_(layer.bias)

    def forward(self, x):
        y = self.layers(x)
        return (y.float() ** 2).mean() * self.factor if self.loss else y


def linear(inputs=16, outputs=16):
    return torch.nn.Linear(inputs, outputs)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


class Loop:
    """A training loop as users write it."""

    def __init__(self, path, dtype=None, scaler=None, std=1.0, steps=3, shift=0.0, lr=1e-3):
        self.module = torch.jit.load(str(path))
        self.dtype, self.std, self.steps, self.shift = dtype, std, steps, shift
        self.scaler = torch.amp.GradScaler("cpu", enabled=scaler is not None,
                                           **({"init_scale": scaler} if scaler else {}))
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr)

    def run(self, seen=None, report=True):
        draw = torch.Generator().manual_seed(1)
        for _ in range(self.steps):
            x = torch.randn(SHAPE, generator=draw) * self.std + self.shift
            with torch.autocast("cpu", self.dtype or torch.bfloat16,
                                enabled=self.dtype is not None):
                y = self.module(x)
                loss = y if y.dim() == 0 else (y.float() ** 2).mean()
            self.scaler.scale(loss).backward()
            if seen and report:
                seen.scalar("loss_scale", self.scaler.get_scale())
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.optimizer.zero_grad()
        return [bits(parameter.detach()) for parameter in self.module.parameters()]


@pytest.fixture
def confirmed(tmp_path):
    """The status of the findings of a rule, after a run of the module with probes."""

    def run(module, rule, *options, report=True, checks=CHECKS, trace=False, **loop):
        if trace:
            path = tmp_path / "net.pt"
            torch.jit.trace(module, torch.randn(SHAPE), check_trace=False).save(str(path))
        else:
            path = save(module, tmp_path)
        probed, ledger = instrument(path, tmp_path, "--train", *checks, *options)
        # Runs of one ledger with one file would go on in it.
        file = tmp_path / f"run-{len(list(tmp_path.glob('run-*')))}.mprec"
        with Recorder(f"{probed}.probes.json", file, beside=True) as seen:
            weights = Loop(probed, **loop).run(seen, report)
            seen.flush()
            record = seen.path
        # Probes change nothing.
        assert weights == Loop(path, **loop).run()
        verdict = mpopt.confirm(record, f"{probed}.probes.json")
        predicted = [finding for finding in ledger["report"]["findings"] if finding["rule"] == rule]
        found = [finding for finding in verdict.findings if finding.rule == rule]
        assert len(found) == len(predicted)
        # Each finding that a run can decide is one of a probe's.
        prints = {name for probe in ledger["probes"] for name in probe["fingerprints"]}
        assert all(finding.fingerprint in prints for finding in found
                   if finding.status != "not-observable")
        return found

    return run


def statuses(findings):
    return [finding.status for finding in findings]


#===------------------------------------------------------------------------------------===
# MP401: gradients that become 0
#===------------------------------------------------------------------------------------===

def small(factor=1e-7, **options):
    return Layers(linear(), torch.nn.Tanh(), linear(), factor=factor, **options)


def test_underflow_is_seen_in_fp32(confirmed):
    found = confirmed(small(), "MP401", "--scaler=none")
    assert statuses(found) == ["confirmed"]


def test_underflow_is_seen_in_fp16(confirmed):
    """Zeros that neither the gradients behind nor the values account for."""
    found = confirmed(small(1e-5), "MP401", "--scaler=none", dtype=torch.float16)
    assert statuses(found) == ["confirmed"]


def test_underflow_is_refuted_by_larger_values(confirmed):
    module = Layers(linear(), linear(), factor=1e-6, gain=1.0)
    options = ("--scaler=none", "--input=x~0,0.01")
    assert statuses(confirmed(module, "MP401", *options, checks=UNSAID)) == ["confirmed"]
    assert statuses(confirmed(module, "MP401", *options, checks=UNSAID, std=1e4,
                              dtype=torch.float16)) == ["refuted"]


def test_underflow_counts_at_the_judged_scale(confirmed):
    """The run has another scale than the one that was judged, and says so."""
    found = confirmed(small(1e-7), "MP401", "--scaler=4", scaler=2.0**10)
    assert statuses(found) == ["confirmed"]
    # What a greater scale loses a smaller one does, and what it keeps tells nothing.
    found = confirmed(small(1e-7), "MP401", "--scaler=4", scaler=2.0**5, dtype=torch.float16)
    assert statuses(found) == ["confirmed"]
    found = confirmed(small(1e-7), "MP401", "--scaler=4", scaler=2.0**20, dtype=torch.float16)
    assert statuses(found) == ["not-observable"] and "1.04858e+06" in found[0].raw["status_why"]


def test_without_a_scale_nothing_is_said(confirmed):
    """Of a model that returns its predictions nobody knows the scale, unless told."""
    options = ("--scaler=none", "--loss=mse:weight=1e-7")
    module = small(loss=False)
    found = confirmed(module, "MP401", *options, report=False)
    assert statuses(found) == ["not-observable"]
    assert "Recorder.scalar" in found[0].raw["status_why"]


def test_the_loss_itself_tells_the_scale(confirmed):
    found = confirmed(small(), "MP401", "--scaler=none", report=False)
    assert statuses(found) == ["confirmed"]
    found = confirmed(small(1.0), "MP402", "--scaler=1e9", report=False, scaler=1e9,
                      dtype=torch.float16)
    assert statuses(found) == ["confirmed"]


def test_healthy_gradients_have_no_finding(confirmed):
    for rule in RULES:
        assert confirmed(small(1.0), rule, "--scaler=dynamic,initial=1024", dtype=torch.float16,
                         scaler=1024.0) == []


#===------------------------------------------------------------------------------------===
# MP402: gradients that overflow
#===------------------------------------------------------------------------------------===

@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_overflow_is_seen(confirmed, dtype):
    """The first steps of a dynamic scaler are skipped."""
    found = confirmed(small(1e4), "MP402", dtype=dtype, scaler=65536.0, steps=12)
    assert statuses(found) == ["confirmed"] and found[0].severity == "note"


@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_overflow_is_refuted_by_smaller_values(confirmed, dtype):
    module = Layers(linear(), linear(), factor=1e4, gain=1.0)
    found = confirmed(module, "MP402", dtype=dtype, scaler=65536.0, std=1e-4)
    assert statuses(found) == ["refuted"]


def test_overflow_at_another_scale(confirmed):
    """A smaller one shows how large gradients are."""
    assert statuses(confirmed(small(1e4), "MP402", scaler=1.0)) == ["confirmed"]
    found = confirmed(small(1e4), "MP402", scaler=1.0, dtype=torch.float16)
    assert statuses(found) == ["confirmed"]
    # An Inf at a greater scale says nothing of the one that was judged.
    found = confirmed(small(1.0), "MP402", "--scaler=4e6", scaler=2.0**30, dtype=torch.float16)
    assert found[0].status in ("not-observable", "not-exercised")


#===------------------------------------------------------------------------------------===
# MP404, MP405: gradients that vanish and explode
#===------------------------------------------------------------------------------------===

def deep(gain, count=12, activation=torch.nn.Identity, width=16):
    layers = []
    for _ in range(count):
        layers += [linear(16, width), activation()]
    return Layers(*layers, gain=gain)


@pytest.mark.parametrize("dtype,scaler", [(None, None), (torch.float16, 65536.0)])
def test_vanishing(confirmed, dtype, scaler):
    found = confirmed(deep(1.0, 16, torch.nn.Sigmoid), "MP404", dtype=dtype, scaler=scaler, steps=6)
    assert "confirmed" in statuses(found) and "refuted" not in statuses(found)


def test_vanishing_is_refuted(confirmed):
    """The first weight's gradient is as small as the inputs, and these are larger."""
    found = confirmed(small(1.0), "MP404", "--input=x~0,1e-6", checks=UNSAID)
    assert statuses(found) == ["refuted"]


def test_the_norm_of_all_gradients(confirmed):
    assert "confirmed" in statuses(confirmed(small(1e-9), "MP404"))
    assert "confirmed" in statuses(confirmed(small(1e7), "MP405"))
    found = confirmed(Layers(linear(), linear(), factor=1e-6, gain=1.0), "MP404",
                      "--input=x~0,0.01", checks=UNSAID, std=1e2)
    assert statuses(found) == ["refuted"]


class Growing(torch.nn.Module):
    """What the first layer gives is small beside what it reads."""

    def __init__(self):
        super().__init__()
        self.first, self.last = linear(), linear()
        torch.nn.init.normal_(self.first.weight, std=1e-5)
        torch.nn.init.constant_(self.first.bias, 1e-5)
        torch.nn.init.normal_(self.last.weight)

    def forward(self, x):
        return ((self.last(self.first(x)).float() - 1) ** 2).mean()


@pytest.mark.parametrize("dtype,scaler", [(None, None), (torch.float16, 2.0**16)])
def test_exploding(confirmed, dtype, scaler):
    found = confirmed(Growing(), "MP405", dtype=dtype, scaler=scaler, steps=12, lr=1e-6)
    assert statuses(found) == ["confirmed"]


def test_exploding_is_refuted(confirmed):
    assert statuses(confirmed(Growing(), "MP405", std=1e-6)) == ["refuted"]


#===------------------------------------------------------------------------------------===
# MP406: gradients that are exactly 0
#===------------------------------------------------------------------------------------===

def test_dead_rectifier(confirmed):
    module = Layers(linear(), torch.nn.ReLU(), linear())
    torch.nn.init.constant_(module.layers[0].bias, -100)
    found = confirmed(module, "MP406")
    assert len(found) == 2 and statuses(found) == ["confirmed", "confirmed"]
    found = confirmed(module, "MP406", std=100.0)
    assert statuses(found) == ["refuted", "refuted"]


def test_half_of_a_rectifier(confirmed):
    module = Layers(linear(), torch.nn.ReLU(), linear())
    with torch.no_grad():
        module.layers[0].bias[:12] = -100
    assert statuses(confirmed(module, "MP406")) == ["confirmed"]
    assert statuses(confirmed(module, "MP406", dtype=torch.float16)) == ["confirmed"]
    assert statuses(confirmed(module, "MP406", std=100.0)) == ["refuted"]


class ZeroHead(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = linear(), linear()
        torch.nn.init.zeros_(self.head.weight)
        torch.nn.init.ones_(self.head.bias)

    def forward(self, x):
        return (self.head(torch.tanh(self.body(x))).float() ** 2).mean()


def test_zero_at_the_first_step(confirmed):
    assert statuses(confirmed(ZeroHead(), "MP406", steps=1)) == ["confirmed"]
    found = confirmed(ZeroHead(), "MP406", steps=3, lr=0.1)
    assert statuses(found) == ["not-observable"] and "first step" in found[0].raw["status_why"]


class Detached(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.side = linear(), linear(), linear()

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return (self.head(h + self.side(h).detach()).float() ** 2).mean()


@pytest.mark.parametrize("dtype", [None, torch.float16])
def test_detached(confirmed, dtype):
    assert statuses(confirmed(Detached(), "MP406", dtype=dtype)) == ["confirmed"]


class Cancelled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = linear(), torch.nn.BatchNorm1d(16), linear()

    def forward(self, x):
        return (self.head(torch.tanh(self.norm(self.body(x)))).float() ** 2).mean()


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
def test_a_bias_that_cancels_leaves_noise(confirmed, dtype):
    found = confirmed(Cancelled(), "MP406", dtype=dtype)
    assert statuses(found) == ["confirmed"] and found[0].severity == "note"


#===------------------------------------------------------------------------------------===
# MP412: derivatives that are not finite
#===------------------------------------------------------------------------------------===

class Root(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = linear()

    def forward(self, x):
        return torch.sqrt(torch.relu(self.body(x)).float()).mean()


@pytest.mark.parametrize("dtype,scaler", [(None, None), (torch.float16, 1024.0)])
def test_the_root_of_zero(confirmed, dtype, scaler):
    assert "confirmed" in statuses(confirmed(Root(), "MP412", dtype=dtype, scaler=scaler, steps=2))


def test_the_root_of_what_is_never_zero(confirmed):
    module = Root()
    torch.nn.init.constant_(module.body.bias, 4.0)
    found = confirmed(module, "MP412", std=1e-3)
    assert found and set(statuses(found)) == {"refuted"}


def test_three_commands(tmp_path):
    """What the page shows, from the shell."""
    path = save(small(), tmp_path)
    probed = tmp_path / "probed.pt"
    done = run_mpopt("--instrument", path, "--train", "--scaler", "none", *CHECKS, "-o", probed)
    assert done.returncode == 0, done.stderr
    with Recorder(f"{probed}.probes.json", tmp_path / "run.mprec", beside=True) as seen:
        Loop(probed, dtype=torch.float16).run(seen)
    done = run_mpopt("--confirm", tmp_path / "run.mprec", "--ledger", f"{probed}.probes.json")
    assert "confirmed error[MP401]" in done.stdout and "gradient of layers." in done.stdout
