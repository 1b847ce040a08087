"""Probes in TorchScript archives see the tensors that the ledger names."""

import json

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torchscript_import  # noqa: E402
from mpopt.recorder import STEPS_SHARED  # noqa: E402
from torch_probes import (  # noqa: E402, F401
    CASES, NETWORKS, instrument, library, plain_execution, recorded, recorder_of, run,
    run_mpopt, save, summary)

RANDOM = {"mlp_training"}


@pytest.mark.parametrize("name", [n for n, form in CASES if form == "traced" and n not in RANDOM
                                  and "quantized" not in n])
def test_records_are_of_the_tensors_named(archives, name):
    path, probed, ledger = archives(name, "traced")
    inputs = NETWORKS[name].inputs
    seen = recorder_of(probed)
    before = {probe["id"]: seen.read(probe["id"]) for probe in ledger["probes"]}
    run(probed, inputs)
    torch._C._set_graph_executor_optimize(True)
    observed = torchscript_import.observed_values(path, inputs)
    observed |= dict(zip(NETWORKS[name].names, inputs))
    compared = 0
    for probe in ledger["probes"]:
        record = seen.read(probe["id"])
        if record is None:
            assert probe["shape"] == [0]  # a result that was not asked for
            continue
        assert record.calls == 1 + (before[probe["id"]].calls if before[probe["id"]] else 0)
        value = observed.get(probe["tensor"].rsplit("/", 1)[-1])
        if value is None or value.is_complex():
            continue
        compared += 1
        got, wanted = recorded(record), summary(value)
        calls = record.calls
        assert got == wanted | {key: calls * wanted[key] for key in ("count", "nan", "inf", "zero")}
    assert compared > 1
    print(f"{name}: {compared} of {len(ledger['probes'])} probes compared")


def test_how_many(archives, capsys):
    """Of the tensors that the analysis has a name for, nearly all can have a probe."""
    probes, unprobed = 0, []
    for name, form in CASES:
        _, _, ledger = archives(name, form)
        probes += len(ledger["probes"])
        unprobed += [(name, form, entry["tensor"], entry["why"]) for entry in ledger["unprobed"]]
    with capsys.disabled():
        print(f"\n{len(CASES)} archives, {probes} probes, {len(unprobed)} unprobed: {unprobed}")
    assert probes > 1000 and len(unprobed) < probes / 100


@pytest.mark.parametrize("name,form", [case for case in CASES if "training" not in case[0]])
@pytest.mark.parametrize("step", ["freeze", "optimize_for_inference"])
def test_probes_survive(archives, name, form, step):
    _, probed, _ = archives(name, form)
    inputs = NETWORKS[name].inputs
    module, _, ran = archives.first_run(name, form)
    module = module.eval()
    seen = recorder_of(probed)
    before = {probe["id"]: seen.read(probe["id"]).calls for probe in ran}
    torch._C._set_graph_executor_optimize(True)
    if step == "freeze":
        module = torch.jit.freeze(module)
    else:
        module = torch.jit.optimize_for_inference(module)
    with torch.no_grad():
        module(*[value.clone() for value in inputs])
    lost = [probe["tensor"] for probe in ran
            if seen.read(probe["id"]).calls <= before[probe["id"]]]
    assert ran and not lost


class Deep(torch.nn.Module):
    """A NaN begins at one op in the middle, where a value is below -1."""

    def __init__(self):
        super().__init__()
        self.before = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(6)])
        self.after = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(6)])

    def forward(self, x):
        x = self.before(x)
        x = torch.log1p(x * 100)
        return self.after(x).softmax(-1)


@pytest.mark.parametrize("form", ["scripted", "traced"])
@pytest.mark.parametrize("selection", ["findings", "all"])
def test_first_bad_op(tmp_path, form, selection):
    torch.manual_seed(0)
    module = Deep().eval()
    x = torch.randn(4, 16)
    path = tmp_path / "deep.pt"
    (torch.jit.script(module) if form == "scripted" else torch.jit.trace(module, x)).save(str(path))
    probed, ledger = instrument(path, tmp_path, "--probe", selection, "--input-shape=x=4x16")
    run(probed, (x,))
    seen = recorder_of(probed)
    bad = {probe["id"] for probe in ledger["probes"] if seen.read(probe["id"]).nan}
    first = [probe for probe in ledger["probes"]
             if probe["id"] in bad and not bad & set(probe["from"])]
    assert [probe["op"]["type"] for probe in first] == ["aten::log1p"]

    seen.flush()
    done = run_mpopt("--confirm", seen.path, "--ledger", f"{probed}.probes.json",
                     "--format", "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    named = json.loads(done.stdout)["first_bad"]
    assert named["op"]["type"] == "aten::log1p" and not named["input"]


class Rounds(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        parts: list[torch.Tensor] = []
        for step in range(x.size(0)):
            row = self.layer(x[step]) * 10.0 ** step
            for power in range(2):
                row = row * 3.0 ** power
                parts.append(row)
        return torch.stack(parts)


def test_each_round_of_a_loop_has_its_probe(tmp_path):
    torch.manual_seed(0)
    module = Rounds().eval()
    path = save(module, tmp_path)
    probed, ledger = instrument(path, tmp_path, "--probe", "all", "--input-shape=x=3x4")
    x = torch.randn(3, 4)
    assert run(path, (x,)) == run(probed, (x,))
    seen = recorder_of(probed)
    with torch.no_grad():
        rows = module(x).view(3, 2, 4)
    inner = {}
    for probe in ledger["probes"]:
        if probe["tensor"].count("#") == 2 and probe["op"]["type"] == "aten::mul":
            _, outer, power = probe["tensor"].split("#")
            inner[int(outer), int(power)] = seen.read(probe["id"])
    assert len(inner) == 6
    for (outer, power), record in inner.items():
        assert record.calls == 1
        assert record.absmax == rows[outer, power].abs().max().item()
    # More rounds than the ledger knows are not recorded, and do no harm.
    longer = torch.randn(5, 4)
    assert run(path, (longer,)) == run(probed, (longer,))


class ManyInputs(torch.nn.Module):
    def forward(self, pair: tuple[torch.Tensor, torch.Tensor], rows: list[torch.Tensor],
                scale: float, bias: torch.Tensor | None = None):
        parts = torch.cat([pair[0], pair[1]] + rows).chunk(2)
        y = parts[0] * scale
        return y + bias if bias is not None else y, parts[1]


def test_inputs_of_every_kind(tmp_path):
    path = save(ManyInputs(), tmp_path)
    shapes = {"pair.0": 2, "pair.1": 1, "rows.0": 2, "rows.1": 1, "bias": 3}
    probed, ledger = instrument(path, tmp_path, "--probe", "all", *[
        f"--input-shape={name}={rows}x4" for name, rows in shapes.items()])
    torch.manual_seed(0)
    values = {name: torch.randn(rows, 4) for name, rows in shapes.items()}
    module = torch.jit.load(str(probed))
    arguments = ((values["pair.0"], values["pair.1"]), [values["rows.0"], values["rows.1"]], 0.5)
    with torch.no_grad():
        y, rest = module(*arguments, values["bias"])
        assert torch.equal(module(*arguments)[0] + values["bias"], y)
    seen = recorder_of(probed)
    probes = {probe["tensor"]: seen.read(probe["id"]) for probe in ledger["probes"]}
    for name, value in values.items():
        assert probes[name].absmax == value.abs().max().item(), name
    assert probes["scale"].max == 0.5
    assert probes["bias"].calls == 1 and probes["pair.0"].calls == 2
    chunks = [probe for name, probe in probes.items() if name.endswith((".0", ".1"))
              and name not in values]
    assert rest.abs().max().item() in [record.absmax for record in chunks]


def test_parameters(tmp_path):
    module = torch.nn.Linear(4, 4)
    with torch.no_grad():
        module.weight[0, 0] = 1e6
    probed, ledger = instrument(save(module, tmp_path), tmp_path, "--probe", "^weight$",
                                "--input-shape=input=2x4")
    run(probed, (torch.zeros(2, 4),))
    assert [(probe["role"], probe["tensor"]) for probe in ledger["probes"]] == [
        ("input", "input"), ("chosen", "weight")]
    assert recorder_of(probed).read(1).max == 1e6


def test_another_method(tmp_path):
    class Two(torch.nn.Module):
        def forward(self, x):
            return self.other(x) + 1

        @torch.jit.export
        def other(self, x):
            return torch.exp(x)

    probed, ledger = instrument(save(Two(), tmp_path), tmp_path, "--method", "other",
                                "--probe", "all", "--input-shape=x=4")
    module = torch.jit.load(str(probed))
    assert torch.equal(module(torch.zeros(4)), torch.full([4], 2.0))
    seen = recorder_of(probed)
    assert {seen.read(probe["id"]).calls for probe in ledger["probes"]} == {1}


class Branch(torch.nn.Module):
    """The division makes NaN; a branch that reads it is taken late."""

    def forward(self, x, flag):
        h = torch.relu(x)
        q = torch.tanh(h / h.sum(-1, keepdim=True))
        if bool(flag > 0):
            return torch.exp(q) * 2.0
        return q * 0.5


@pytest.mark.parametrize("step", ["loaded", "freeze"])
@pytest.mark.parametrize("optimize", [False, True])
def test_each_run_is_a_step(tmp_path, step, optimize):
    """Archives begin a run by themselves, so calls of different probes are in order."""
    probed, ledger = instrument(save(Branch(), tmp_path), tmp_path, "--precision=as-is",
                                "--input-shape=x=2x4", "--input-shape=flag=1")
    module = torch.jit.load(str(probed)).eval()
    if step == "freeze":
        module = torch.jit.freeze(module)
    torch._C._set_graph_executor_optimize(optimize)
    with torch.no_grad():
        for number in range(8):
            module(torch.full((2, 4), float(number < 4)), torch.tensor([float(number >= 6)]))
    seen = recorder_of(probed)
    exp, = [seen.read(probe["id"]) for probe in ledger["probes"]
            if probe.get("op", {}).get("type") == "aten::exp"]
    assert (exp.first_step, exp.first_nan_step, exp.flags) == (6, 6, STEPS_SHARED)
    seen.flush()
    done = run_mpopt("--confirm", seen.path, "--ledger", f"{probed}.probes.json",
                     "--format", "json", "--fail-on", "never")
    report = json.loads(done.stdout)
    assert [entry["op"]["type"] for entry in report["beginnings"]] == ["aten::div"]
    assert report["first_bad"]["step"] == 4
