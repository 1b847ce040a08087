"""mpopt --instrument and --strip on TorchScript archives: outputs stay bit-identical,
probes see the tensors that the ledger names, the original comes back byte for byte."""

import enum
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import typing
import zipfile

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torch_networks  # noqa: E402
import torchscript_import  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("MPOPT_BUILD", ROOT / "build")).resolve()
MPOPT = BUILD / "bin" / "mpopt"
if not (BUILD / "lib" / "libmpopt_torch.so").exists():
    pytest.skip("this build has no op library for PyTorch", allow_module_level=True)

os.environ["MPOPT_BUILD"] = str(BUILD)
sys.path.insert(0, str(ROOT / "python"))
from mpopt import _torch_ops  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402

NETWORKS = {network.name: network for network in torch_networks.networks()}
CASES = [(name, form) for name, n in NETWORKS.items() for form in n.forms]
FOLDER = ROOT.parent / "shared/models/torchscript"
SHARED = {"heir-mnist-mlp": {"x": (1, 784)}, "tchrs-foo3-loop": {"x": (3, 4)},
          "torchsharp-linrelu": {"input": (2, 10)}, "unitree-g1-motion": {"x": (1, 47)},
          "unitree-h1-motion": {"x": (1, 41)}, "heir-lenet-relu": {"x": None}}
RANDOM = {"mlp_training"}
GRADIENT = 1


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    os.environ["MPOPT_RECORD"] = str(tmp_path_factory.mktemp("records") / "%l.mprec")
    assert _torch_ops.load()


@pytest.fixture(autouse=True)
def plain_execution():
    """Without fusion, so that a probe cannot take one apart."""
    executor = torch._C._jit_set_profiling_executor(False)
    mode = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(False)
    yield
    torch._C._jit_set_profiling_executor(executor)
    torch._C._set_graph_executor_optimize(mode)


def run_mpopt(*arguments):
    return subprocess.run([MPOPT, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120)


def instrument(model, folder, *options):
    """The probed file and its ledger; the original comes back from it."""
    probed = folder / f"{model.stem}.probed.pt"
    done = run_mpopt("--instrument", model, "-o", probed, *options)
    assert done.returncode == 0, done.stderr
    restored = folder / "restored.pt"
    done = run_mpopt("--strip", probed, "-o", restored)
    assert done.returncode == 0, done.stderr
    original = model.read_bytes()
    assert (hashlib.sha256(restored.read_bytes()).digest()
            == hashlib.sha256(original).digest())
    assert probed.read_bytes().startswith(original)
    ledger = json.loads(pathlib.Path(f"{probed}.probes.json").read_text())
    assert ledger["model_sha256"] == hashlib.sha256(original).hexdigest()
    return probed, ledger


def recorder_of(probed):
    return Recorder(pathlib.Path(f"{probed}.probes.json"))


def save(module, folder, name="model"):
    path = folder / f"{name}.pt"
    torch.jit.script(module).save(str(path))
    return path


def bits(value):
    if value.is_quantized:
        value = value.int_repr()
    return value.dtype, value.shape, bytes(value.contiguous().view(-1).view(torch.uint8).numpy())


def run(path, inputs, seed=7, times=1):
    module = torch.jit.load(str(path))
    torch.manual_seed(seed)
    with torch.no_grad():
        for _ in range(times):
            result = module(*[value.clone() for value in inputs])
    return [bits(value) for value in torchscript_import.flatten(result)]


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Every network with probes on all tensors."""
    folder = tmp_path_factory.mktemp("archives")
    known = {}

    def get(name, form):
        if (name, form) not in known:
            network = NETWORKS[name]
            path = folder / f"{name}.{form}.pt"
            network.save(form, str(path))
            options = [f"--input-shape={shape}" for shape in
                       torchscript_import.shapes_of(network.names, network.inputs)]
            probed, ledger = instrument(path, folder, "--probe", "all", *options)
            known[name, form] = path, probed, ledger
        return known[name, form]

    return get


# -- the file ------------------------------------------------------------------------


@pytest.mark.parametrize("name,form", CASES)
def test_weights_are_not_copied(archives, name, form):
    path, probed, ledger = archives(name, form)
    size = path.stat().st_size
    with zipfile.ZipFile(probed) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        assert len(set(names)) == len(names)
        new = [entry for entry in entries if entry.header_offset >= size]
        root = names[0].split("/")[0]
        assert all(entry.filename.startswith((f"{root}/code/", f"{root}/extra/mpopt_"))
                   for entry in new), [entry.filename for entry in new]
        digest = hashlib.sha256(pathlib.Path(f"{probed}.probes.json").read_bytes()).hexdigest()
        assert archive.read(f"{root}/extra/mpopt_ledger_sha256").decode() == digest
    with zipfile.ZipFile(path) as archive:
        assert set(archive.namelist()) < set(names)
    assert len(ledger["probes"]) > 1


# -- what it computes ----------------------------------------------------------------


@pytest.mark.parametrize("name,form", CASES)
def test_outputs_are_identical(archives, name, form):
    path, probed, _ = archives(name, form)
    inputs = NETWORKS[name].inputs
    assert run(path, inputs) == run(probed, inputs)


@pytest.mark.parametrize("name,form", CASES)
def test_outputs_are_identical_when_profiled(archives, name, form):
    """With LibTorch's own executor and its optimisations, but for fusion."""
    path, probed, _ = archives(name, form)
    inputs = NETWORKS[name].inputs
    torch._C._jit_set_profiling_executor(True)
    torch._C._set_graph_executor_optimize(True)
    fuse = torch._C._jit_texpr_fuser_enabled()
    torch._C._jit_set_texpr_fuser_enabled(False)
    try:
        assert run(path, inputs, times=3) == run(probed, inputs, times=3)
    finally:
        torch._C._jit_set_texpr_fuser_enabled(fuse)


@pytest.mark.parametrize("stem", SHARED)
def test_shared_archives(tmp_path, stem):
    files = list(FOLDER.glob(f"{stem}.*")) if FOLDER.exists() else []
    if not files:
        pytest.skip("no shared/models/torchscript")
    path, = files
    options = [f"--input-shape={name}={'x'.join(map(str, dims))}"
               for name, dims in SHARED[stem].items() if dims]
    probed, ledger = instrument(path, tmp_path, "--probe", "all", *options)
    dims = next(iter(SHARED[stem].values())) or (1, 1, 32, 32)
    torch.manual_seed(1)
    inputs = (torch.randn(dims),)
    assert run(path, inputs) == run(probed, inputs)
    seen = recorder_of(probed)
    records = [seen.read(probe["id"]) for probe in ledger["probes"]]
    assert all(record and record.count for record in records)
    print(f"{stem}: {len(records)} probes")


# -- what it records -----------------------------------------------------------------


def summary(value):
    """What of a record can be told from a tensor at once."""
    value = value.detach()
    nan, infinite = int(value.isnan().sum()), int(value.isinf().sum())
    finite = value[value.isfinite()].double()
    return {"count": value.numel(), "nan": nan, "inf": infinite, "zero": int((value == 0).sum()),
            "min": finite.min().item() if finite.numel() else float("inf"),
            "max": finite.max().item() if finite.numel() else float("-inf")}


def recorded(record):
    return {"count": record.count, "nan": record.nan, "inf": record.pos_inf + record.neg_inf,
            "zero": record.zero, "min": record.min, "max": record.max}


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
    _, probed, ledger = archives(name, form)
    inputs = NETWORKS[name].inputs
    seen = recorder_of(probed)
    run(probed, inputs)
    before = {probe["id"]: seen.read(probe["id"]) for probe in ledger["probes"]}
    module = torch.jit.load(str(probed)).eval()
    torch._C._set_graph_executor_optimize(True)
    if step == "freeze":
        module = torch.jit.freeze(module)
    else:
        module = torch.jit.optimize_for_inference(module)
    with torch.no_grad():
        module(*[value.clone() for value in inputs])
    lost = [probe["tensor"] for probe in ledger["probes"] if before[probe["id"]]
            and seen.read(probe["id"]).calls <= before[probe["id"]].calls]
    assert not lost


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


# -- archives of other kinds ---------------------------------------------------------


class Frozen(torch.nn.Module):
    """Frozen, its weights are constants; one is not equal to itself."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)])
        self.register_buffer("limit", torch.tensor([float("nan")] * 63 + [1.0]))
        self.register_buffer("same", torch.ones(64))

    def forward(self, x):
        return self.layers(x) * torch.where(self.limit.isnan(), self.same, self.limit) + self.limit


def test_frozen_archives(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "frozen.pt"
    torch._C._set_graph_executor_optimize(True)
    torch.jit.freeze(torch.jit.script(Frozen().eval())).save(str(path))
    torch._C._set_graph_executor_optimize(False)
    probed, ledger = instrument(path, tmp_path, "--probe", "all", "--input-shape=x=2x64")
    x = torch.randn(2, 64)
    assert run(path, (x,)) == run(probed, (x,))
    with zipfile.ZipFile(probed) as archive:
        new = [entry.filename for entry in archive.infolist()
               if entry.header_offset >= path.stat().st_size]
    assert not [name for name in new if "constants" in name]
    seen = recorder_of(probed)
    assert {seen.read(probe["id"]).nan for probe in ledger["probes"]} == {0, 126}


def with_version(path, version):
    """A copy that claims to be of another version of the ops."""
    copy = path.with_name(f"{path.stem}.{version}.pt")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("/version"):
                data = f"{version}\n".encode()
            new.writestr(entry.filename, data)
    return copy


class Divides(torch.nn.Module):
    """Division of integers was another op before version 4."""

    def forward(self, x, n):
        return x / 2, n / 2, torch.full([2], 3), self.other(n)

    @torch.jit.export
    def other(self, n):
        return n / 3


def test_old_versions_of_ops(tmp_path):
    path = with_version(save(Divides(), tmp_path), 3)
    inputs = (torch.ones(3), torch.tensor([5, -5, 7]))
    assert b"int" in run(path, inputs)[1][0].__repr__().encode()
    probed, _ = instrument(path, tmp_path, "--probe", "all", "--input-shape=x=3",
                           "--input-shape=n=3:i64")
    assert run(path, inputs) == run(probed, inputs)
    other = [torch.jit.load(str(file)).other(inputs[1]) for file in (path, probed)]
    assert bits(other[0]) == bits(other[1])


class Pair(typing.NamedTuple):
    first: torch.Tensor
    second: torch.Tensor


class Kind(enum.Enum):
    SMALL = 1
    LARGE = 2


@torch.jit.interface
class Step(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pass


class Twice(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Classes(torch.nn.Module):
    step: Step

    def __init__(self):
        super().__init__()
        self.step = Twice()
        self.kind = Kind.LARGE

    def forward(self, x):
        pair = Pair(x + 1, x - 1)
        if self.kind == Kind.LARGE:
            pair = Pair(pair.first, pair.second * 10)
        return pair, self.step.forward(pair.second), "\n\\\"CONSTANTS.c99"


def test_classes_and_interfaces(tmp_path):
    path = save(Classes(), tmp_path)
    probed, ledger = instrument(path, tmp_path, "--probe", "all", "--input-shape=x=3")
    x = torch.randn(3)
    assert run(path, (x,)) == run(probed, (x,))
    results = [torch.jit.load(str(file))(x)[2] for file in (path, probed)]
    assert results[0] == results[1]
    assert len(ledger["probes"]) >= 3


def test_lines_are_kept(archives):
    _, probed, _ = archives("resnet", "scripted")
    graph = str(torch.jit.load(str(probed)).graph)
    assert "torch_networks.py" in graph


# -- training ------------------------------------------------------------------------


def train(path, x, twice=False):
    module = torch.jit.load(str(path)).train()
    torch.manual_seed(3)
    x = x.clone().requires_grad_()
    loss = module(x).square().sum()
    if twice:
        gradient, = torch.autograd.grad(loss, x, create_graph=True)
        loss = gradient.square().sum()
    loss.backward()
    return [bits(parameter.grad) for parameter in module.parameters()] + [bits(x.grad)], x.grad


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("name,form", [("mlp", "scripted"), ("mlp", "traced"),
                                       ("cnn", "scripted"), ("resnet", "scripted")])
def test_gradients_are_equal(archives, name, form, optimize):
    path, probed, ledger = archives(name, form)
    torch._C._jit_set_profiling_executor(optimize)
    torch._C._set_graph_executor_optimize(optimize)
    x, = NETWORKS[name].inputs
    expected, _ = train(path, x)
    seen = recorder_of(probed)

    def calls():
        records = [seen.read(probe["id"], GRADIENT) for probe in ledger["probes"]]
        return [record.calls if record else 0 for record in records]

    before = calls()
    assert train(probed, x)[0] == expected
    assert calls() == before
    _torch_ops.record_gradients(True)
    try:
        got, gradient = train(probed, x)
    finally:
        _torch_ops.record_gradients(False)
    assert got == expected
    source = next(probe for probe in ledger["probes"] if probe["role"] == "input")
    record = seen.read(source["id"], GRADIENT)
    assert (record.min, record.max) == (gradient.min().item(), gradient.max().item())
    below = [now > then for now, then in zip(calls(), before, strict=True)]
    print(f"{name}: gradients of {sum(below)} of {len(below)} probes")
    assert sum(below) > len(below) / 2


def test_second_gradients_are_equal(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    path = save(module, tmp_path)
    probed, _ = instrument(path, tmp_path, "--probe", "all", "--input-shape=input=3x4")
    x = torch.randn(3, 4)
    _torch_ops.record_gradients(True)
    try:
        assert train(path, x, twice=True)[0] == train(probed, x, twice=True)[0]
    finally:
        _torch_ops.record_gradients(False)


# -- the op --------------------------------------------------------------------------

LEDGER = hashlib.sha256(b"test_instrument_torchscript").hexdigest()


def observe(value, op="probe"):
    """The record of one call."""
    observe.next += 1
    getattr(torch.ops.mpopt, op)(value, observe.next, LEDGER)
    return Recorder(bytes.fromhex(LEDGER)).read(observe.next)


observe.next = 0


def values_of(dtype):
    torch.manual_seed(2)
    value = torch.randn(6, 5, 4) * 100
    value[0, 0, 0], value[1, 1, 1], value[2, 2, 2], value[3] = 0, float("inf"), float("nan"), -1
    return value.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("view", [
    lambda x: x, lambda x: x.transpose(0, 2), lambda x: x[:, 1], lambda x: x[1:4, ::2, 1:],
    lambda x: x[0, :1].expand(7, 4), lambda x: x[2:2], lambda x: x[0, 0, 0],
    lambda x: x.as_strided([3, 3], [1, 2])], ids=range(8))
def test_op_on_strided_tensors(dtype, view):
    value = view(values_of(dtype))
    record = observe(value)
    assert record.calls == 1 and record.rank == value.dim()
    assert list(record.dim_min)[:value.dim()] == list(value.shape)
    assert recorded(record) == summary(value)


def test_op_on_negated_views():
    """The imaginary part of a conjugate is a view with the signs of the original in memory."""
    value = torch.imag(torch.tensor([1 + 2j, 3 - 5j]).conj())
    assert value.is_neg()
    assert recorded(observe(value)) == summary(torch.tensor([-2.0, 5.0]))


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool])
def test_op_on_integers(dtype):
    value = torch.arange(-3, 4).to(dtype)
    record = observe(value)
    assert (record.count, record.zero) == (7, int((value == 0).sum()))
    assert (record.min, record.max) == (value.double().min(), value.double().max())


def test_op_on_eight_bit_floats():
    value = torch.tensor([0.0, 1.5, -448.0]).to(torch.float8_e4m3fn)
    assert recorded(observe(value)) == {"count": 3, "nan": 0, "inf": 0, "zero": 1, "min": -448.0,
                                        "max": 1.5}


def test_op_without_elements_to_look_at():
    count_only = 8
    quantized = torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 0, torch.qint8)
    nested = torch.nested.nested_tensor([torch.randn(2), torch.randn(3)])
    for value, count in ((torch.randn(5, dtype=torch.complex64), 5), (quantized, 12),
                         (torch.eye(3).to_sparse(), 9), (torch.eye(3).to_sparse_csr(), 9),
                         (nested, 5)):
        record = observe(value)
        assert (record.count, record.flags & count_only) == (count, count_only), value
    assert observe(torch.randn(3, dtype=torch.complex64).conj().imag).count == 3
    assert observe(torch.empty(3, device="meta")) is None


def test_op_on_numbers_and_nothing():
    assert observe(2.5, "probe_number").max == 2.5
    assert observe(-7, "probe_number").min == -7
    assert observe(True, "probe_number").max == 1
    assert observe(None, "probe_optional") is None
    assert observe(torch.ones(2), "probe_optional").count == 2
    torch.ops.mpopt.probe(torch.ones(2), -1, LEDGER)
    table = [0, 0, 901, 1, 0, 902, 1, 1, 903, 2, 9, 904]
    torch.ops.mpopt.probe_members([torch.zeros(1), torch.ones(2)], [1], table, LEDGER)
    torch.ops.mpopt.probe_members([], [2], table, LEDGER)
    seen = Recorder(bytes.fromhex(LEDGER))
    assert [seen.read(probe) and seen.read(probe).count for probe in range(901, 905)] == [
        None, 1, 2, None]


def test_op_is_known_to_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        torch.ops.mpopt.probe(torch.ones(3), 950, LEDGER)
    assert Recorder(bytes.fromhex(LEDGER)).read(950) is None


# -- what is refused -----------------------------------------------------------------


def refused(*arguments):
    done = run_mpopt(*arguments)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("mpopt: warning: ")]
    assert done.returncode == 2 and len(lines) == 1, (done.returncode, done.stderr)
    assert lines[0].startswith("mpopt: error: ")
    return lines[0]


def test_bad_input(tmp_path):
    path = save(torch.nn.Linear(4, 4), tmp_path)
    probed, _ = instrument(path, tmp_path, "--input-shape=input=2x4")
    out = tmp_path / "out.pt"
    assert "it has probes already" in refused("--instrument", probed, "-o", out)
    assert "it has no probes" in refused("--strip", path, "-o", out)
    assert "is for ONNX" in refused("--instrument", path, "-o", out, "--probe-with", "outputs")
    assert "no method 'nothing'" in refused("--instrument", path, "-o", out, "--method", "nothing")
    assert "matches 'nothing'" in refused("--instrument", path, "-o", out, "--probe", "nothing")
    assert "cannot write" in refused("--instrument", path, "-o", tmp_path / "no" / "out.pt")
    changed = bytearray(probed.read_bytes())
    changed[100] ^= 1
    spoiled = tmp_path / "spoiled.pt"
    spoiled.write_bytes(changed)
    assert "changed after it was instrumented" in refused("--strip", spoiled, "-o", out)
    spoiled.write_bytes(probed.read_bytes()[:-40])
    refused("--strip", spoiled, "-o", out)
    torch.save({"a": torch.ones(3)}, spoiled)
    refused("--instrument", spoiled, "-o", out)
    assert not out.exists() and not pathlib.Path(f"{out}.probes.json").exists()


def test_probed_archive_is_judged_like_the_original(archives):
    path, probed, _ = archives("cnn", "scripted")
    shape = "--input-shape=x=2x3x16x16"
    reports = [json.loads(run_mpopt("--check", file, "--precision", "fp16", "--format", "json",
                                    "--min-certainty", "possible", "--fail-on", "never",
                                    shape).stdout) for file in (path, probed)]
    rules = [sorted((finding["rule"], finding["op"]["type"]) for finding in report["findings"])
             for report in reports]
    assert rules[0] == rules[1]
    assert reports[1]["coverage"] == reports[0]["coverage"]


def python(code, **variables):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=120, env=os.environ | variables)


def test_without_the_library(archives):
    _, probed, _ = archives("mlp", "scripted")
    done = python(f"import torch; torch.jit.load({str(probed)!r})")
    assert "Unknown builtin op: mpopt::probe" in done.stderr


@pytest.mark.parametrize("order", ["torch, mpopt", "mpopt, torch"])
def test_import_registers_the_ops(archives, tmp_path, order):
    _, probed, ledger = archives("mlp", "scripted")
    record = tmp_path / "run.mprec"
    done = python(f"import {order}\nmodel = torch.jit.load({str(probed)!r})\n"
                  "model(torch.ones(4, 16))", MPOPT_RECORD=str(record),
                  PYTHONPATH=str(ROOT / "python"))
    assert done.returncode == 0, done.stderr
    done = run_mpopt("--confirm", record, "--ledger", f"{probed}.probes.json", "--format",
                     "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["first_bad"] is None


def test_library_of_another_version(tmp_path):
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("libmpopt_torch.so", "libmpopt_record.so"):
        (folder / name).symlink_to(BUILD / "lib" / name)
    (folder / "libmpopt_torch.version").write_text("1.13.1+cu117\n")
    done = python("import torch, mpopt", MPOPT_BUILD=str(tmp_path),
                  PYTHONPATH=str(ROOT / "python"))
    assert done.returncode == 0, done.stderr
    assert "built for PyTorch 1.13.1+cu117, and this is" in done.stderr
