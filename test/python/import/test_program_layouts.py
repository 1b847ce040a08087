"""Archives that torch.export.save of older PyTorch wrote: one graph with the same weights from all
of them. `Inputs/write_program.py` wrote the files; 2.4.1 has the schema and the layout of 2.4,
2.8.0 weights in a file of torch.save, 2.13.0 weights as plain records."""

import io
import pathlib
import random
import re
import zipfile

import pytest

from bad_input import refused, run

INPUTS = pathlib.Path(__file__).parent / "Inputs"
VERSIONS = ("2.4.1", "2.8.0", "2.13.0")
#: The archive of torch.save in each layout.
WEIGHTS = {"2.4.1": "serialized_state_dict.pt", "2.8.0": "program-2.8.0/data/weights/model.pt"}


def graph(version: str) -> str:
    done = run("--emit-mlir", INPUTS / f"program-{version}.pt2")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.decode().splitlines() if "= mp." in line]
    # How a constant is copied is each version's own.
    return "\n".join(re.sub(r" loc\(.*", "", re.sub(r"(?<=mp.identity %5) {.*}", "", line)) for line in lines)


def repacked(path: pathlib.Path, change) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: change(name, archive.read(name)) for name in archive.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


@pytest.fixture
def with_pickle(tmp_path):
    """The program with another pickle of its weights."""
    def write(version: str, change) -> pathlib.Path:
        def inner(name, data):
            return change(data) if name.endswith("data.pkl") else data

        def outer(name, data):
            return zipped(repacked(io.BytesIO(data), inner)) if name == WEIGHTS[version] else data

        path = tmp_path / "m.pt2"
        path.write_bytes(zipped(repacked(INPUTS / f"program-{version}.pt2", outer)))
        return path

    return write


@pytest.mark.parametrize("version", VERSIONS)
def test_one_graph(version):
    newest = graph("2.13.0")
    # A weight, a view, BF16, a buffer outside of the state, a constant.
    for values in ("[8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01]]> : tensor<3x4xf32>",
                   "3.000000e+00]> : tensor<3xbf16>", "dense<[1.000000e+02, 2.000000e+02, 3.000000e+02]>",
                   "dense<[1.000000e+03, 2.000000e+03, 3.000000e+03]>"):
        assert values in newest
    assert graph(version) == newest


@pytest.mark.parametrize("version", VERSIONS)
def test_names_and_dims(version):
    done = run("--emit-mlir", INPUTS / f"program-{version}.pt2")
    assert b'"layers.0/linear"' in done.stdout
    assert re.search(rb'mp.dim_params = \["s\d+", ""\]', done.stdout)
    assert b"mp.parameters = 12 " in done.stdout


@pytest.mark.parametrize("version", WEIGHTS)
def test_calls_are_not_run(with_pickle, version):
    """A name that is no tensor's is an opaque value, and the weight that it stood for is missing."""
    path = with_pickle(version, lambda data: data.replace(b"torch._utils\n_rebuild_tensor_v2\n", b"posix\nsystem\n"))
    refused(run("--check", path), "lacks the values of 'tied'")


@pytest.mark.parametrize("version", WEIGHTS)
@pytest.mark.parametrize("seed", range(16))
def test_damaged_pickles(with_pickle, version, seed):
    """Any byte changed, or the end cut off: a model, or one line."""
    chosen = random.Random(seed)

    def change(data: bytes) -> bytes:
        if seed % 4 == 0:
            return data[:chosen.randrange(len(data))]
        place = chosen.randrange(len(data))
        return data[:place] + bytes([chosen.randrange(256)]) + data[place + 1:]

    done = run("--check", with_pickle(version, change))
    assert done.returncode in (0, 1, 2), done.stderr
    if done.returncode == 2:
        assert len(done.stderr.decode().strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize("pickle,text", [
    (b"", "without an end"),
    (b"\x80\x02.", "values of"),
    (b"\x80\x02}q\x00(u.", "values of"),
    (b"\x80\x02u.", "damaged pickle of weights, at byte 3"),
    (b"\x80\x02R.", "damaged pickle"),
    (b"\x80\x02Q.", "damaged pickle"),
    (b"\x80\x02h\x07.", "damaged pickle"),
    (b"\x80\x02(\x85.", "damaged pickle"),
    (b"\x80\x02X\xff\xff\xff\xff.", "damaged pickle"),
    (b"\x80\x02i.", "damaged pickle"),
    (b"\x80\x02" + b"N" * (5 << 20) + b".", "more weights than any model"),
])
@pytest.mark.parametrize("version", WEIGHTS)
def test_written_pickles(with_pickle, version, pickle, text):
    refused(run("--check", with_pickle(version, lambda _: pickle)), text)
