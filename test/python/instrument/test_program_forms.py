"""Probes in programs of torch.export beside plain ops: branches, loops, regions, changed
buffers, training, what compiles them, and what the package and the command line do."""

import importlib.util
import json
import shutil
import subprocess
import sys

import numpy
import pytest
from tool import ROOT, run_mpopt

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import exported_programs  # noqa: E402
from program_probes import (  # noqa: E402
    bits, call, instrument, ledger_of, load, probes_in, records)

import mpopt  # noqa: E402
from mpopt import _torch_ops  # noqa: E402
from mpopt import run as runner  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402

#: Its sum is far from 0, by which branches go.
INPUT = torch.linspace(-1, 2, 24).reshape(6, 4)
compiles = pytest.mark.skipif(
    shutil.which("g++") is None and shutil.which("clang++") is None,
    reason="there is no C++ compiler for Inductor")


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x.exp() + 1, lambda x: x - 5, (x,))


class Rounds(torch.nn.Module):
    """A loop of a number of rounds that the values decide."""

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda y: y.sum() < 200, lambda y: (y * 2 + 1,), (x,))


class Scan(torch.nn.Module):
    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        return scan(lambda carry, row: (carry * 0.5 + row, (carry * 300 + row).exp()),
                    torch.zeros(4), x)


class Regions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            x = self.first(x)
        with torch.no_grad():
            return self.second(x.float())


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        left, right = (x + self.seen).chunk(2, 1)
        return left * right


class Net(torch.nn.Module):
    """In FP16 its exponential overflows, and the logarithm of what is negative is NaN."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        h = self.layer(x)
        return (h * 20).exp().sum(-1), (h + 0.5).log()


def probed_of(module, folder, *options, inputs=(INPUT,), **how):
    program = exported_programs.export(module, inputs, **how)
    return instrument(program, folder, "--precision", "as-is", "--probe", "all", *options)


# -- graphs inside of others -----------------------------------------------------------------

CALLS = [
    (Branches(), {"x": 1, "true_graph_0.exp": 1, "false_graph_0.sub": None, "getitem": 1}),
    (Rounds(), {"x": 1, "while_loop_body_graph_0.mul": 3, "while_loop_body_graph_0.add": 3,
                "getitem": 1}),
    (Scan(), {"x": 1, "getitem": 1, "getitem_1": 1}),
    (Regions(), {"first/submod_1.linear": 1}), (Counter(), {"seen": 1, "add_": 1, "chunk.0": 1})]


@pytest.mark.parametrize("module,calls", CALLS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("form", ["exported", "decomposed"])
def test_calls(tmp_path, module, calls, form):
    """A branch that is not taken has no call, a loop's body one a round; and no probe is
    lost or doubled by decomposition."""
    probed, ledger = probed_of(module, tmp_path)
    program, outputs = load(probed), []
    if form == "decomposed":
        program = program.run_decompositions()
    assert probes_in(program) == (list(range(len(ledger["probes"]))), 1)
    run = program.module()
    seen = records(probed, ledger, lambda: outputs.append(call(run, (INPUT,))))
    assert outputs[0] == call(load(tmp_path / "m.pt2").module(), (INPUT,))
    got = {tensor: seen[tensor] and seen[tensor].calls for tensor in calls if tensor in seen}
    assert got == {tensor: count for tensor, count in calls.items() if tensor in seen}
    assert len(got) == len(calls) or isinstance(module, Scan)


def test_nested_names_are_those_of_their_graph(tmp_path):
    """A body has names of its own, which may be those of the graph around it."""
    class Nested(torch.nn.Module):
        def forward(self, x):
            def inner(x):
                return torch.cond(x.max() > 9, lambda x: x.exp(), lambda x: x.sin(), (x,))

            return torch.cond((x * 3).sum() > 0, inner, lambda x: x * 2, (x,)).exp()

    probed, ledger = probed_of(Nested(), tmp_path)
    seen = records(probed, ledger, lambda: load(probed).module()(INPUT))
    calls = {tensor: record and record.calls for tensor, record in seen.items()}
    assert calls["true_graph_0.true_graph_0.exp"] is None
    assert calls["true_graph_0.false_graph_0.sin"] == calls["exp"] == 1
    assert seen["exp"].max == pytest.approx(INPUT.sin().exp().max().item())


def test_tensors_without_a_probe_are_named(tmp_path):
    """The condition of a loop also runs before it; rounds that are followed one by one share
    a node."""
    _, ledger = probed_of(Rounds(), tmp_path)
    folder = tmp_path / "scan"
    folder.mkdir()
    program = exported_programs.export(Scan(), (INPUT,))
    _, other = instrument(program, folder, "--precision", "fp16")
    why = {entry["tensor"]: entry["why"] for entry in ledger["unprobed"] + other["unprobed"]}
    assert any("runs at several places" in reason for tensor, reason in why.items()
               if "cond_graph" in tensor), why
    assert any("round by round" in reason for tensor, reason in why.items()
               if "combine" in tensor), why
    tensors = {probe["tensor"] for probe in ledger["probes"] + other["probes"]}
    assert not tensors & set(why)


def test_unflattened(tmp_path):
    """The modules of a program come back with the probes in them."""
    probed, ledger = probed_of(Net(), tmp_path)
    outputs = []
    module = torch.export.unflatten(load(probed))
    seen = records(probed, ledger, lambda: outputs.append(call(module, (INPUT,))))
    assert outputs[0] == call(load(tmp_path / "m.pt2").module(), (INPUT,))
    assert all(record and record.calls == 1 for record in seen.values())
    layer = [str(node.target) for node in module.layer.graph.nodes]
    assert "mpopt.probe.default" in layer


# -- what runs it ------------------------------------------------------------------------------


def confirm_steps(probed, run):
    """Three steps, of which the second makes NaN; what `--confirm` says."""
    with Recorder(ledger_of(probed), probed.with_name("steps.mprec")):
        for x in (INPUT.abs() * 0, -9 * INPUT.abs(), INPUT.abs() * 0):
            run(x)
    return mpopt.confirm(probed.with_name("steps.mprec"), ledger_of(probed))


@pytest.fixture
def net(tmp_path):
    """Its layer does nothing, so that it is known which input makes NaN."""
    module = Net()
    with torch.no_grad():
        module.layer.weight.copy_(torch.eye(4))
        module.layer.bias.zero_()
    program = exported_programs.export(module, (INPUT,))
    return instrument(program, tmp_path, "--precision", "fp16", "--assume=-20:20")


def check_confirmed(confirmation):
    assert confirmation.first_bad["op"]["name"] == "log" and confirmation.first_bad["step"] == 1
    statuses = {(finding.rule, finding.tensor): finding.status
                for finding in confirmation.findings}
    assert statuses["MP205", "log"] == "confirmed"
    assert statuses["MP207", "exp"] == statuses["MP201", "sum_1"] == "refuted"
    assert not confirmation.outside_assumptions and not confirmation.exceeded


def test_confirmed(net):
    probed, _ = net
    check_confirmed(confirm_steps(probed, load(probed).module()))


def test_saved_again(net, tmp_path):
    """PyTorch's own file of it records as well; mpopt says that it cannot take the probes
    out of one that it did not write."""
    probed, ledger = net
    again = exported_programs.save(load(probed).run_decompositions(), tmp_path / "again.pt2")
    assert probes_in(load(again)) == (list(range(len(ledger["probes"]))), 1)
    check_confirmed(confirm_steps(probed, load(again).module()))
    for action, text in (("--strip", "it has no probes"), ("--instrument", "not as --instrument "
                                                           "wrote it")):
        done = run_mpopt(action, again, "-o", tmp_path / "out.pt2")
        assert done.returncode == 2 and text in done.stderr
        assert not (tmp_path / "out.pt2").exists()
    done = run_mpopt("--instrument", probed, "-o", tmp_path / "out.pt2")
    assert done.returncode == 2 and "it has probes already" in done.stderr
    reports = [json.loads(run_mpopt("--check", file, "--format", "json", "--fail-on", "never").stdout)
               for file in (probed, tmp_path / "m.pt2")]
    assert [sorted(finding["fingerprint"] for finding in report["findings"])
            for report in reports][0] == sorted(finding["fingerprint"]
                                                for finding in reports[1]["findings"])


@compiles
def test_compiled(net):
    probed, _ = net
    torch._dynamo.reset()
    module = torch.compile(load(probed).module())
    with torch.no_grad():
        module(INPUT)  # compiled here; nothing names a record yet
        check_confirmed(confirm_steps(probed, module))


@compiles
@pytest.mark.parametrize("module", [None, Branches()], ids=["net", "branches"])
def test_compiled_ahead_of_time(net, tmp_path, module):
    probed, ledger = net
    if module is not None:
        folder = tmp_path / "other"
        folder.mkdir()
        probed, ledger = probed_of(module, folder)
    package = torch._inductor.aoti_compile_and_package(
        load(probed), package_path=str(tmp_path / "compiled.pt2"))
    run = torch._inductor.aoti_load_package(package)
    if module is None:
        return check_confirmed(confirm_steps(probed, run))
    seen = records(probed, ledger, lambda: run(INPUT))
    assert seen["true_graph_0.exp"].calls == 1 and seen["false_graph_0.sub"] is None


def test_gradients_are_equal(tmp_path):
    """No gradient flows through a probe, and each is recorded if that is asked for."""
    probed, ledger = probed_of(Net(), tmp_path)

    def train(program):
        module, x = program.module(), INPUT.clone().requires_grad_()
        sums, logs = module(x)
        (sums.sum() + logs.nan_to_num().sum()).backward()
        return [bits(value.grad) for value in (*module.parameters(), x)], x.grad

    expected, _ = train(load(tmp_path / "m.pt2"))
    _torch_ops.record_gradients(True)
    try:
        with Recorder(ledger_of(probed), tmp_path / "g.mprec") as recorder:
            got, gradient = train(load(probed))
            record = recorder.read(next(probe["id"] for probe in ledger["probes"]
                                        if probe["tensor"] == "x"), 1)
    finally:
        _torch_ops.record_gradients(False)
    assert got == expected
    assert (record.min, record.max) == (gradient.min().item(), gradient.max().item())


# -- the package and the command line ------------------------------------------------------------


def test_package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = exported_programs.export(Net(), (INPUT,))
    probed = mpopt.instrument(program, precision="fp16", probe="all")
    assert probed.path.name == "probed.pt2" and probed.ledger.name == "probed.pt2.probes.json"
    assert isinstance(probed.program, torch.export.ExportedProgram)
    assert call(probed.program.module(), (INPUT,)) == call(program.module(), (INPUT,))
    assert probes_in(probed.program)[0] == [probe.id for probe in probed.probes]
    module = mpopt.instrument(Net(), "module.pt2", example_inputs=(INPUT,), precision="fp16")
    assert module.report.format == "exported-program" and module.program.module()(INPUT)
    mpopt.strip("module.pt2", "plain.pt2")
    assert probes_in(load("plain.pt2")) == ([], 0)
    script = mpopt.instrument(Net(), "module.pt", example_inputs=(INPUT,))
    with pytest.raises(mpopt.Error, match="is no exported program"):
        script.program  # noqa: B018


def test_package_refuses_in_one_line(tmp_path):
    class Free(torch.nn.Module):
        def forward(self, x):
            return x.exp() if x.sum() > 0 else x

    for model, output, how, text in (
            (Net(), None, {}, "output: a file to write is needed"),
            (Net(), tmp_path / "p.pt2", {}, "a module is exported with example_inputs"),
            (Free(), tmp_path / "p.pt2", {"example_inputs": (INPUT,)}, "cannot be exported"),
            (exported_programs.export(Net(), (INPUT,)), tmp_path / "p.pt2", {"train": True},
             "^train is for TorchScript"),
            (exported_programs.export(Net(), (INPUT,)), tmp_path / "p.pt2",
             {"probe_with": "outputs"}, "^probe_with outputs is for ONNX"),
            (exported_programs.export(Net(), (INPUT,)), tmp_path / "p.pt2", {"probe": "zzz"},
             "no tensor or op matches")):
        with pytest.raises(mpopt.Error, match=text) as raised:
            mpopt.instrument(model, output, **how)
        assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_without_the_library(tmp_path):
    """A process that never imports mpopt cannot load the program, and PyTorch says why."""
    probed, _ = probed_of(Net(), tmp_path)
    done = subprocess.run([sys.executable, "-c", f"import torch; torch.export.load({str(probed)!r})"],
                          capture_output=True, text=True, check=False)
    assert done.returncode and "mpopt" in done.stderr


class Fed(torch.nn.Module):
    def forward(self, x, scale: float, others, flag=None):
        return x * scale + others["a"].float() + others["b"]


@pytest.fixture
def fed(tmp_path):
    batch = torch.export.Dim("batch", min=3, max=9)
    inputs = (INPUT, 2.0, {"a": torch.ones(4, dtype=torch.bfloat16), "b": torch.ones(6, 1).long()})
    shapes = {"x": {0: batch}, "scale": None, "others": {"a": None, "b": {0: batch}}}
    program = exported_programs.export(Fed(), inputs, dynamic_shapes=shapes)
    probed, _ = instrument(program, tmp_path, "--precision", "as-is", "--probe", "all",
                           "--input", "x=-3:3")
    return probed


def test_run(fed, tmp_path, capsys):
    """Inputs by name, of the least size that the program takes; what it was exported with
    is not asked for."""
    record = tmp_path / "random.mprec"
    assert runner.main([str(fed), "--random", "4", "--record", str(record)]) == 0
    confirmation = mpopt.confirm(record, ledger_of(fed))
    assert not confirmation.outside_assumptions and not confirmation.exceeded
    x, a, b = numpy.full((2, 5, 4), 3, "f4"), numpy.ones(4, "f4"), numpy.ones((5, 1), "i8")
    numpy.savez(tmp_path / "feeds.npz", x=x, others_a=a, others_b=b)
    record = tmp_path / "data.mprec"
    assert runner.main([str(fed), "--data", str(tmp_path / "feeds.npz"), "--record",
                        str(record)]) == 0
    confirmation = mpopt.confirm(record, ledger_of(fed))
    scale = {entry["tensor"]: entry for entry in confirmation.scales}
    assert "x" in scale and not confirmation.outside_assumptions
    assert "2 steps" in capsys.readouterr().out


def test_run_refuses_in_one_line(fed, tmp_path, capsys):
    numpy.savez(tmp_path / "feeds.npz", x=numpy.zeros((5, 4), "f4"), others_a=numpy.ones(4, "f4"),
                others_b=numpy.ones((7, 1), "i8"))
    # Cut off behind the original, an archive is the original.
    for name, size in (("cut.pt2", -30), ("bad.pt2", 500)):
        (tmp_path / name).write_bytes(fed.read_bytes()[:size])
        (tmp_path / f"{name}.probes.json").write_bytes(ledger_of(fed).read_bytes())
    (tmp_path / "other").mkdir()
    other, _ = probed_of(Net(), tmp_path / "other")
    for arguments, text in (
            ([fed, "--random", "1", "--optimize"], "--optimize is for ONNX"),
            ([fed, "--random", "1", "--dim", "s1=3"], "no symbolic dimension 's1'"),
            ([fed, "--data", tmp_path / "feeds.npz"], "does not run"),
            ([tmp_path / "cut.pt2", "--random", "1"], "has no probes"),
            ([other, "--random", "1", "--ledger", tmp_path / "cut.pt2.probes.json"],
             "is the ledger of another model"),
            ([tmp_path / "bad.pt2", "--random", "1"], "")):
        assert runner.main([str(word) for word in arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("mpopt: error: ") and text in error and error.count("\n") == 1
