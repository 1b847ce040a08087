"""Buffers and attributes that a method writes keep what the last call left.

Each module is run three times with probes; no value may be outside what the analysis said,
which it is if a written buffer counts as what the archive holds."""

import pathlib
from typing import List, Optional

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch_probes import (  # noqa: E402, F401
    Recorder, instrument, library, plain_execution, run_mpopt, save)

X = torch.tensor([1.0, -2.0, 3.0, 0.5])


class Scale(torch.nn.Module):
    def __init__(self, value=1.0):
        super().__init__()
        self.register_buffer("s", torch.full((), value))


class InWhile(Scale):
    def forward(self, x, n: int):
        i = 0
        while i < n:
            self.s *= 10.0
            i += 1
        return x * self.s


class InFor(Scale):
    def forward(self, x):
        for _ in range(3):
            self.s *= 10.0
            x = x * self.s
        return x


class OnceACall(Scale):
    def forward(self, x):
        self.s += 1
        return x / self.s


class InBranch(Scale):
    def forward(self, x):
        if bool(x.sum() > 0):
            self.s.add_(5)
        return x * self.s


class SetInLoop(Scale):
    def forward(self, x, n: int):
        i = 0
        while i < n:
            self.s = self.s * 10.0
            i += 1
        return x * self.s


class SetInBranch(Scale):
    def forward(self, x):
        if bool(x.sum() > 0):
            y = self.s * 2
            self.s = y
            y += 5
        return x * self.s


class ThroughAView(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(3, 4))

    def forward(self, x):
        self.table[1] = x + self.table[1]
        row = self.table[2]
        row.add_(1)
        return self.table.sum(0)


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = OnceACall()
        self.b = InBranch()

    def forward(self, x, n: int):
        i = 0
        while i < n:
            x = self.b(self.a(x))
            i += 1
        return x


class TwoNames(torch.nn.Module):
    """One submodule, and one tensor, under two names."""

    def __init__(self):
        super().__init__()
        self.a = OnceACall()
        self.b = self.a
        self.register_buffer("whole", torch.zeros(4))
        self.register_buffer("same", self.whole)
        self.register_buffer("part", self.whole[1:3])

    def forward(self, x):
        self.whole += 3
        return self.a(x) + self.b.s + self.same, self.part * 2


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.factor = 1.0

    def forward(self, x):
        self.calls += 1
        self.factor = self.factor * 3.0
        if self.calls > 2:
            x = x * 100
        return x * self.factor


class Cache(torch.nn.Module):
    """Grows; is none at first."""

    kept: Optional[torch.Tensor]
    all: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.kept = None
        self.all = []
        self.grown = torch.zeros(1, 4)

    def forward(self, x):
        kept = self.kept
        y = x if kept is None else x + kept
        self.kept = y * 2
        self.all.append(y)
        self.grown = torch.cat([self.grown, y.unsqueeze(0) * 3])
        return y + self.all[0], self.grown


class Later(torch.nn.Module):
    """What a first round leaves makes a second one write."""

    kept: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.k = 0
        self.kept = []
        self.register_buffer("z", torch.zeros(()))

    def forward(self, x, n: int):
        self.k = 0
        i = 0
        while i < n:
            if self.k == 1:
                self.z.add_(7)
            self.k = 1
            self.kept.append(x)
            i += 1
        return x + self.z


class Handed(Scale):
    """The second call writes what the first one put under another name."""

    def __init__(self):
        super().__init__()
        self.register_buffer("t", torch.ones(()))

    def forward(self, x):
        self.s.add_(10)
        self.s = self.t
        return x * self.t


class Training(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = torch.nn.BatchNorm1d(2, momentum=0.5)
        self.instance = torch.nn.InstanceNorm1d(2, track_running_stats=True, momentum=0.5)

    def forward(self, x):
        y = x.reshape(1, 2, 2)
        z = self.bn(y) + self.instance(y)
        return z, self.bn.running_mean + 1, self.instance.running_mean * 2


CASES = [(kind, (X, 3) if kind in (InWhile, SetInLoop, Outer, Later) else (X,))
         for kind in (InWhile, InFor, OnceACall, InBranch, SetInLoop, SetInBranch, ThroughAView,
                      Outer, TwoNames, Counter, Cache, Later, Handed, Training)]


def confirm(probed, inputs, folder, monkeypatch, times=3):
    record = folder / "run.mprec"
    monkeypatch.setenv("MPOPT_RECORD", str(record))
    module = torch.jit.load(str(probed))
    with torch.no_grad():
        for _ in range(times):
            module(*[i.clone() if isinstance(i, torch.Tensor) else i for i in inputs])
    ledger = pathlib.Path(f"{probed}.probes.json")
    Recorder(ledger, str(record)).close()
    return run_mpopt("--confirm", record, "--ledger", ledger)


@pytest.mark.parametrize("kind,inputs", CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_written_state_is_within_bounds(kind, inputs, tmp_path, monkeypatch):
    model = save(kind(), tmp_path)
    probed, _ = instrument(model, tmp_path, "--probe", "all", "--precision", "as-is",
                           "--input-shape=x=4")
    done = confirm(probed, inputs, tmp_path, monkeypatch)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all hold" in done.stdout, done.stdout


def test_traced_constant_that_is_written(tmp_path, monkeypatch):
    total = torch.zeros(4)

    def add(x):
        total.add_(x.abs())
        return total * 2

    model = tmp_path / "traced.pt"
    torch.jit.trace(add, (X,), check_trace=False).save(str(model))
    probed, _ = instrument(model, tmp_path, "--probe", "all", "--precision", "as-is")
    done = confirm(probed, (X,), tmp_path, monkeypatch)
    assert done.returncode == 0 and "all hold" in done.stdout, done.stdout + done.stderr


class Reads(torch.nn.Module):
    """Writes only while training."""

    def __init__(self):
        super().__init__()
        self.bn = torch.nn.BatchNorm1d(2)
        self.register_buffer("average", torch.full((2,), 0.25))
        self.steps = 4

    def forward(self, x):
        if self.training:
            self.average.mul_(0.9)
            self.steps += 1
        return self.bn(x) * 0 + self.average * self.steps


def test_what_is_only_read_keeps_its_values(tmp_path):
    model = save(Reads().eval(), tmp_path)
    _, ledger = instrument(model, tmp_path, "--probe", "all", "--precision", "as-is",
                           "--input-shape=x=3x2")
    [last] = [p["bound"] for p in ledger["probes"] if p["tensor"] in ledger["probes"][-1]["tensor"]]
    assert float(last["lo"]) == 1 and float(last["hi"]) == 1, last


def test_loop_carries_the_buffer(tmp_path):
    from torchscript_import import read_text
    text, said = read_text(save(InWhile(), tmp_path), ["x=4:f32"])
    assert text is not None, said
    buffer = text.index('"torch::buffer"')
    assert buffer < text.index("mp.loop") < text.rindex("mp.mul")
    assert "tensor<f32>, tensor<i64>" in text or "tensor<i64>, tensor<f32>" in text, text


def test_dtypes_of_inputs_are_assumed(tmp_path, monkeypatch):
    """No archive of a scripted module says what its inputs are."""
    probed, _ = instrument(save(OnceACall(), tmp_path), tmp_path, "--probe", "all")
    done = confirm(probed, (torch.tensor([1, 2]),), tmp_path, monkeypatch)
    assert "ran in i64, it was taken as f32" in done.stdout, done.stdout


def test_a_run_without_probes_leaves_a_record(tmp_path, monkeypatch):
    class Lists(torch.nn.Module):
        def forward(self, xs: List[torch.Tensor]):
            return torch.cat(xs)

    probed, ledger = instrument(save(Lists(), tmp_path), tmp_path, "--probe", "findings")
    assert not ledger["probes"]
    done = confirm(probed, ([X, X],), tmp_path, monkeypatch)
    assert done.returncode == 0 and "0 of 0 probes ran" in done.stdout, done.stdout + done.stderr
