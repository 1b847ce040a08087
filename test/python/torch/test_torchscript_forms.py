"""Forms of archives that real models have: dictionaries, quantised recurrent networks,
tasks beside the main one, ops of libraries, branches that disagree about a dtype."""

import json
import subprocess
import warnings
from typing import Optional

import pytest
from bad_input import GIGABYTE, peak_memory
from tool import BIN, MPOPT, read_ranges

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402

pytestmark = pytest.mark.skipif(not (BIN / "mpopt-import-torchscript").exists(),
                                reason="this build has no LibTorch")


def save(module, path, example=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.eval()
        scripted = torch.jit.script(module) if example is None else torch.jit.trace(module, example)
        scripted.save(str(path))
    return path


def run(path, *shapes):
    return subprocess.run(
        [MPOPT, "--check", path, "--precision", "as-is", "--format", "json", "--fail-on", "never",
         *(f"--input-shape={shape}" for shape in shapes)], capture_output=True, text=True, timeout=120)


def report_of(path, *shapes):
    done = run(path, *shapes)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def values_within(said, values):
    values = values.detach().double()
    slack = 1e-5 * max(1.0, values.abs().max().item())
    assert said["lo"] - slack <= values.min().item() <= values.max().item() <= said["hi"] + slack


class Atoms(nn.Module):
    """A network of molecular dynamics in small: a dictionary in, a dictionary out."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.linear = nn.Linear(8, 1)

    def forward(self, data: dict[str, Tensor]) -> dict[str, Tensor]:
        edges = data["edge_index"]
        vectors = data["positions"][edges[1]] - data["positions"][edges[0]]
        if "shifts" in data:
            vectors = vectors + data["shifts"]
        weights = torch.exp(-torch.linalg.norm(vectors, dim=-1, keepdim=True))
        states = self.embedding(data["species"])
        states = torch.zeros_like(states).index_add_(0, edges[1], states[edges[0]] * weights)
        data["energy"] = torch.tanh(self.linear(states))
        return {"energy": data["energy"].sum(), "atoms": data["energy"]}


def of_none(expression):
    """A network that asserts that None is a tensor, and computes `expression` of it."""
    class Network(nn.Module):
        value: Optional[Tensor]

        def __init__(self):
            super().__init__()
            self.value = None
            self.linear = nn.Linear(4, 4)

    Network.__annotations__["value"] = Optional[Tensor]
    module = torch.jit.script(Network())
    module.define("def forward(self, y: Tensor):\n"
                  "    x = self.value\n"
                  "    assert x is not None\n"
                  f"    return self.linear(y), {expression}\n")
    return module


@pytest.mark.parametrize("expression, op", [
    ("x.view(-1)", "view"), ("x.transpose(0, 1)", "transpose"), ("x[0:1]", "slice"),
    ("x.split(2)[0]", "split"), ("torch.cat([x, y])", "cat"), ("torch.stack([y, x])", "stack"),
    ("y.copy_(x)", "copy_"), ("y.add(x)", "add"),
    ("torch.embedding_bag(x, x, y)[0]", "embedding_bag")])
def test_operands_that_are_no_tensors(expression, op, tmp_path):
    """Code behind a check that fails is not run, and is no reason to die."""
    path = tmp_path / "none.pt"
    of_none(expression).save(str(path))
    coverage = report_of(path, "y=4x4")["coverage"]
    assert f"aten::{op}" in {**coverage["unmodelled"], **coverage["unknown_ranges"]}


def test_unknown_tensors_in_branches(tmp_path):
    """What stands for an unknown tensor in one branch is not there in another."""
    module = of_none("(x.relu() if x.dim() == 3 else x.relu()), x.relu()")
    module.save(str(tmp_path / "none.pt"))
    report_of(tmp_path / "none.pt", "y=4x4")


class Repeats(nn.Module):
    def __init__(self, repeated):
        super().__init__()
        self.register_buffer("repeated", repeated)

    def forward(self, x):
        return x + self.repeated.sum()


@pytest.mark.parametrize("make", [
    lambda: torch.ones(1).expand(2**15, 2**15), lambda: torch.arange(3.0).expand(2**15, 3),
    lambda: torch.arange(3.0).unsqueeze(1).expand(3, 2**27)], ids=["one", "rows", "columns"])
def test_repeated_elements_take_no_memory(make, tmp_path):
    path = tmp_path / "repeats.pt"
    torch.jit.script(Repeats(make())).save(str(path))
    ranges = read_ranges(path, "--input-shape", "x=4", "--input", "x=0:0")
    said = next(said for name, said in ranges["tensors"].items() if name == ranges["outputs"][0])
    values_within(said, make().sum())
    peak, done = peak_memory("--check", path, "--input-shape", "x=4", "--fail-on", "never")
    assert done.returncode == 0 and peak < GIGABYTE / 2, (peak, done.stderr)


@pytest.mark.parametrize("make", [
    lambda: torch.arange(2.0**16).unfold(0, 2**15, 1),
    lambda: torch.sparse_coo_tensor([[0], [0]], [1.0], (2**15, 2**15))], ids=["windows", "sparse"])
def test_what_unpacks_to_too_much(make, tmp_path):
    path = tmp_path / "windows.pt"
    torch.jit.script(Repeats(make())).save(str(path))
    peak, done = peak_memory("--check", path, "--input-shape", "x=4", "--fail-on", "never")
    assert done.returncode == 2 and peak < GIGABYTE / 2, peak
    assert b"too many for the file" in done.stderr


class TestDictionaries:
    shapes = ["data.positions=5x3", "data.edge_index=2x8:i64", "data.species=5:i64"]

    def test_declared_members(self, tmp_path):
        path = save(Atoms(), tmp_path / "atoms.pt")
        report = report_of(path, *self.shapes)
        assert report["coverage"]["unmodelled"] == {}
        # Without a shape 'shifts' is not there.
        assert [a["input"] for a in report["assumptions"]] == [
            "data.positions", "data.edge_index", "data.species"]
        with_shifts = report_of(path, *self.shapes, "data.shifts=8x3")
        assert with_shifts["coverage"]["ops"] > report["coverage"]["ops"]

    def test_members_that_are_read(self, tmp_path):
        report = report_of(save(Atoms(), tmp_path / "atoms.pt"))
        # Not 'energy', which the method sets before it reads it.
        inputs = {a["input"]: a for a in report["assumptions"]}
        assert inputs.keys() == {"data.edge_index", "data.positions", "data.shifts", "data.species"}
        assert "picks one of 10 rows" in inputs["data.species"]["why"]
        assert inputs["data.edge_index"]["source"] == "model"

    def test_values_are_inside(self, tmp_path):
        torch.manual_seed(0)
        module = Atoms()
        path = save(module, tmp_path / "atoms.pt")
        shapes = [f"--input-shape={shape}" for shape in self.shapes]
        dumped = read_ranges(path, *shapes)
        data = {"positions": torch.rand(5, 3) * 20 - 10, "species": torch.arange(5),
                "edge_index": torch.randint(0, 5, (2, 8))}
        result = module(data)
        for name, values in zip(dumped["outputs"], result.values(), strict=True):
            values_within(dumped["tensors"][name], values)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(12, 5)
        self.cell = nn.LSTMCell(5, 5)
        self.linear = nn.Linear(5, 3)

    def forward(self, x):
        x, _ = self.lstm(x)
        x, _ = self.gru(x)
        x, _ = self.cell(x[0])
        return self.linear(x)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16])
def test_quantised_recurrent(tmp_path, dtype, traced):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = {nn.LSTM, nn.GRU, nn.Linear} | ({nn.LSTMCell} if dtype == torch.qint8 else set())
        module = torch.ao.quantization.quantize_dynamic(Recurrent().eval(), kinds, dtype=dtype)
    x = torch.rand(2, 3, 4) * 20 - 10
    path = save(module, tmp_path / "net.pt", x if traced else None)
    shapes = [] if traced else ["x=2x3x4"]
    assert report_of(path, *shapes)["coverage"]["unmodelled"] == {}
    dumped = read_ranges(path, *(f"--input-shape={shape}" for shape in shapes))
    said = dumped["tensors"][dumped["outputs"][0]]
    assert said["hi"] < 1000 and not said["nan"]
    values_within(said, module(x))


def test_quantised_transposed_convolution(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.quantise = torch.ao.quantization.QuantStub()
            self.up = nn.ConvTranspose2d(3, 4, 2, stride=2)
            self.back = torch.ao.quantization.DeQuantStub()

        def forward(self, x):
            return self.back(self.up(self.quantise(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ao = torch.ao.quantization
        module = Net().eval()
        module.qconfig = ao.QConfig(activation=ao.default_observer,
                                    weight=ao.default_weight_observer)
        prepared = ao.prepare(module)
        x = torch.rand(1, 3, 4, 4)
        prepared(x)
        module = ao.convert(prepared)
    path = save(module, tmp_path / "net.pt")
    assert report_of(path, "x=1x3x4x4")["coverage"]["unmodelled"] == {}
    dumped = read_ranges(path, "--input-shape=x=1x3x4x4", "--input", "x=0:1")
    assert dumped["tensors"][dumped["outputs"][0]]["shape"] == [1, 4, 8, 8]
    values_within(dumped["tensors"][dumped["outputs"][0]], module(x))


def test_tasks_beside_the_main_one(tmp_path):
    class Net(nn.Module):
        def forward(self, x):
            task = torch.jit.fork(torch.sigmoid, x)
            return torch.jit.wait(task) * 2
    path = save(Net(), tmp_path / "net.pt")
    assert report_of(path, "x=3")["coverage"]["unmodelled"] == {}
    dumped = read_ranges(path, "--input-shape=x=3")
    said = dumped["tensors"][dumped["outputs"][0]]
    assert 0 <= said["lo"] < said["hi"] <= 2.001


def test_ops_of_libraries(tmp_path):
    library = torch.library.Library("mpopt_test", "DEF")
    library.define("pair(Tensor x, int k) -> (Tensor, Tensor)")
    library.define("scaled(Tensor x, *, float? by=None) -> Tensor")

    class Net(nn.Module):
        def forward(self, x):
            a, b = torch.ops.mpopt_test.pair(x, 3)
            return torch.tanh(a) + torch.sigmoid(b + torch.ops.mpopt_test.scaled(x, by=2.0))
    report = report_of(save(Net(), tmp_path / "net.pt"), "x=3")
    assert report["coverage"]["unmodelled"] == {"mpopt_test::pair": 1, "mpopt_test::scaled": 1}


def test_the_reason_is_said(tmp_path):
    """LibTorch's complaints about code begin with an empty line."""
    library = torch.library.Library("mpopt_odd", "DEF")
    library.define("table(Tensor x) -> Dict(str, Tensor)")

    class Net(nn.Module):
        def forward(self, x):
            # Taken for an op that gives a tensor, which has no keys.
            return len(torch.ops.mpopt_odd.table(x).keys())
    done = run(save(Net(), tmp_path / "net.pt"), "x=3")
    assert done.returncode == 2
    error, = [line for line in done.stderr.splitlines() if "error" in line]
    assert len(error.split("MPI103: ")[1]) > 20, error


def test_branches_of_different_dtypes(tmp_path):
    class Net(nn.Module):
        def forward(self, x, flag: bool, n: int):
            y = torch.zeros(3, dtype=torch.int64) if flag else x * 2
            z = torch.zeros(3, dtype=torch.int64)
            for _ in range(n):
                z = z + x
            return torch.relu(x) + 1, y, z
    report = report_of(save(Net(), tmp_path / "net.pt"), "x=3")
    assert report["coverage"]["unmodelled"] == {}


def test_open_steps_and_ranks(tmp_path):
    class Net(nn.Module):
        def forward(self, x, step: int):
            return (torch.diff(x, prepend=x[:, :1])[:, ::step], x[:, ::step].squeeze() * 2,
                    nn.functional.pad(x, [1, 1], "reflect"), x[torch.arange(2)])
    path = save(Net(), tmp_path / "net.pt")
    for shapes in (["x=4x6"], ["x=?x?"], []):
        assert report_of(path, *shapes)["coverage"]["unmodelled"] == {}
    dumped = read_ranges(path)
    assert [dumped["tensors"][name]["hi"] for name in dumped["outputs"]] == [20, 20, 10, 10]


def test_masked_attention(tmp_path):
    class Net(nn.Module):
        def forward(self, x, keep):
            mask = keep[:, None, None, :].to(torch.bool)
            return nn.functional.scaled_dot_product_attention(x, x, x, mask)
    path = save(Net(), tmp_path / "net.pt")
    options = ["--input-shape=x=1x2x4x8", "--input-shape=keep=1x4:i64"]
    dumped = read_ranges(path, *options)
    said = dumped["tensors"][dumped["outputs"][0]]
    assert not said["nan"] and said["hi"] < 10.1
    x = torch.rand(1, 2, 4, 8) * 20 - 10
    values_within(said, Net()(x, torch.zeros(1, 4, dtype=torch.int64)))
    report = report_of(path, "x=1x2x4x8", "keep=1x4:i64")
    keep, = [a for a in report["assumptions"] if a["input"] == "keep"]
    assert (keep["lo"], keep["hi"]) == (0, 1) and keep["why"] == "a mask: it only selects"
