"""The probe ops of PyTorch in a PyTorch that they were not built for, and under the
transforms of torch.func."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import pytest
from tool import BUILD, ROOT, run_mpopt

torch = pytest.importorskip("torch", reason="torch is not in this environment")

LIBRARY = BUILD / "lib" / "libmpopt_torch.so"
OTHER = BUILD / "test" / "lib" / "libmpopt_other_torch.so"
if not LIBRARY.exists():
    pytest.skip("this build has no op library for PyTorch", allow_module_level=True)

from mpopt import _torch_ops  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402

GRADIENT = 1


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    os.environ["MPOPT_RECORD"] = str(tmp_path_factory.mktemp("records") / "%l.mprec")
    assert _torch_ops.load()


# -- another version -----------------------------------------------------------------


def python(code, version, **variables):
    """What an interpreter says whose LibTorch gives `version` for its own."""
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env=os.environ | {"LD_PRELOAD": str(OTHER), "MPOPT_TEST_TORCH_VERSION": version,
                          "PYTHONPATH": str(ROOT / "python")} | variables)


LOAD = f"""
import torch
torch.ops.load_library({str(LIBRARY)!r})
print(hasattr(torch.ops.mpopt, "probe"))
"""


of_this_version = pytest.mark.skipif(bool(_torch_ops._misfit(LIBRARY, torch.__version__)),
                                     reason="the op library was built for another PyTorch")


@of_this_version
def test_library_refuses_another_version():
    """Loaded as a C++ program loads it, without the check that `import mpopt` makes."""
    done = python(LOAD, "1.13.1")
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
    built = torch.__version__
    line, = [line for line in done.stderr.splitlines() if "mpopt" in line]
    assert line.startswith("mpopt: error: libmpopt_torch.so was built for PyTorch "
                           f"{built.split('+')[0]}")
    assert line.endswith(", and this is 1.13.1: its probes are not registered")


@of_this_version
@pytest.mark.parametrize("version", [torch.__version__, torch.__version__.split("+")[0] + "+cu130"])
def test_library_takes_its_version(version):
    """Also as built for other devices."""
    done = python(LOAD, version)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_import_goes_on_without_the_library(tmp_path):
    """The file that names the version is lost: the library's own check is left, and the ops come
    from Python."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("libmpopt_torch.so", "libmpopt_record.so"):
        (folder / name).symlink_to(BUILD / "lib" / name)
    code = "import torch, mpopt; print(mpopt._torch_ops._reason); torch.ops.mpopt.probe(torch.ones(2), -1, '')"
    done = python(code, "1.13.1", MPOPT_BUILD=str(tmp_path), MPOPT_TORCH_OPS="")
    assert done.returncode == 0, done.stderr
    assert "libmpopt_torch.so" in done.stdout


# -- transforms ----------------------------------------------------------------------


class Model(torch.nn.Module):
    """Works on one example: rows are told apart by vmap alone."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.exp(self.layer(x)).sum()


@pytest.fixture
def probed(tmp_path):
    torch.manual_seed(0)
    path = tmp_path / "model.pt"
    model = Model()
    torch.jit.script(model).save(str(path))
    out = tmp_path / "probed.pt"
    done = run_mpopt("--instrument", path, "-o", out, "--probe", "all", "--input-shape", "x=4")
    assert done.returncode == 0, done.stderr
    ledger = f"{out}.probes.json"
    probes = {probe["op"]["type"] if "op" in probe else "input": probe["id"]
              for probe in json.loads(pathlib.Path(ledger).read_text())["probes"]}
    return model, torch.jit.load(str(out)), Recorder(pathlib.Path(ledger)), probes


def of_one_call(record, value):
    assert (record.calls, record.count) == (1, value.numel())
    assert (record.min, record.max) == (value.min().item(), value.max().item())


@pytest.mark.parametrize("dim", [0, 1])
def test_vmap_records_the_batch(probed, dim):
    model, module, seen, probes = probed
    x = torch.randn(5, 4)
    batch = x if dim == 0 else x.t().contiguous()
    with torch.no_grad():
        expected = torch.vmap(model, in_dims=dim)(batch)
        assert torch.equal(torch.vmap(module, in_dims=dim)(batch), expected)
        hidden = torch.exp(model.layer(x))
    of_one_call(seen.read(probes["input"]), x)
    record = seen.read(probes["aten::exp"])
    assert (record.calls, record.count) == (1, hidden.numel())
    assert record.max == pytest.approx(hidden.max().item(), rel=1e-6)


def test_nested_vmap(probed):
    model, module, seen, probes = probed
    x = torch.randn(2, 3, 4)
    with torch.no_grad():
        twice = torch.vmap(torch.vmap(module))(x)
        assert torch.allclose(twice, torch.vmap(torch.vmap(model))(x))
    of_one_call(seen.read(probes["input"]), x)


def test_gradient_by_example(probed):
    """torch.func.grad under vmap: the gradients of the plain module."""
    model, module, seen, probes = probed
    x = torch.randn(5, 4)
    expected = torch.vmap(torch.func.grad(model))(x)
    assert torch.allclose(torch.vmap(torch.func.grad(module))(x), expected)
    of_one_call(seen.read(probes["input"]), x)


def test_vmap_of_ranges_by_channel():
    """The axis is one of an example; the batch comes before it."""
    ledger = hashlib.sha256(b"channels under vmap").hexdigest()
    x = torch.tensor([[[1.0, 2], [3, 4]], [[-1, 0], [5, 6]], [[7, 8], [9, -9]]])
    for probe, axis, expected in ((1, 0, [(-1, 8), (-9, 9)]), (2, 1, [(-1, 9), (-9, 8)])):
        torch.vmap(lambda row, probe=probe, axis=axis: (
            torch.ops.mpopt.probe_channels(row, probe, axis, ledger), row)[1])(x)
        with Recorder(bytes.fromhex(ledger)) as seen:
            record = seen.read(probe)
            assert (record.calls, record.count, record.channels) == (1, 12, 2)
            assert ranges(seen, probe, 2) == expected


def ranges(seen, probe, channels):
    import ctypes

    from mpopt.recorder import Record

    room = (ctypes.c_double * (2 * channels))()
    assert seen._call("read", probe, 0, ctypes.byref(Record()), room, channels)
    return list(zip(room[::2], room[1::2], strict=True))
