"""mpopt --instrument on archives of other kinds: frozen, old, with classes."""

import enum
import typing
import zipfile

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch_probes import (  # noqa: E402, F401
    bits, instrument, library, plain_execution, recorder_of, run, save)


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


class Lists(torch.nn.Module):
    def forward(self, xs: typing.List[torch.Tensor]):
        return [torch.exp(x) for x in xs], torch.cat(xs)


class Appends(torch.nn.Module):
    def forward(self, xs, n: int):
        out = []
        for i in range(n):
            out.append(torch.log(xs[i]))
        return torch.stack(out)


@pytest.mark.parametrize("kind,shapes", [
    (Lists, []), (Appends, []), (Appends, ["--input-shape=xs=3x4"])])
def test_what_is_not_followed_is_listed(kind, shapes, tmp_path):
    path = save(kind(), tmp_path)
    _, ledger = instrument(path, tmp_path, "--probe", "all", *shapes)
    listed = {entry["tensor"]: entry["why"] for entry in ledger["unprobed"]}
    assert ("xs" in listed) == (kind is Lists)
    # The member that a round takes, and what it makes of it.
    assert len(listed.keys() - {"xs"}) == 2, listed
    assert all("unknown length" in why for why in listed.values())
    assert not listed.keys() & {probe["tensor"] for probe in ledger["probes"]}


class Looks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 4)

    def forward(self, ids, x):
        return self.table(ids) + x


def test_what_indexes_an_embedding_is_an_integer(tmp_path):
    _, ledger = instrument(save(Looks(), tmp_path), tmp_path, "--probe", "all")
    dtypes = {probe["tensor"]: probe["file_dtype"] for probe in ledger["probes"]}
    assert dtypes["ids"] == "i64" and dtypes["x"] == "f32"
