"""mpopt --convert --verify of PyTorch's files: the result beside the source in PyTorch."""

import os
import pty
import subprocess

import numpy as np
import pytest
from tool import MPOPT, run_mpopt

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import mpopt  # noqa: E402
from torch import nn  # noqa: E402
from torch_conversions import FORMS, convert, save  # noqa: E402


class Lost(nn.Module):
    """FP16 keeps steps of 0.5 in x + 1000."""

    def forward(self, x):
        return {"shifted": (x + 1000.0) - 1000.0, "most": x.argmax(-1)}


class Square(nn.Module):
    def forward(self, x):
        return x * x


class Counted(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, n: int, scale: float = 2.0):
        x = self.layer(x)
        for _ in range(n):
            x = x * scale
        return x


def verify(path, data, *options, **words):
    if isinstance(data, dict):
        np.savez(path.with_name("feeds.npz"), **data)
        data = path.with_name("feeds.npz")
    return convert(path, "--verify", data, *options, **words)


@pytest.mark.parametrize("form", ["exported", "traced"])
def test_roundings_of_the_result(tmp_path, form):
    x = np.array([[0.2, -0.2, 0.1, 0.05], [0.7, 0.3, -0.9, 0.4]], np.float32)
    path = save(Lost() if form == "exported" else Shifted(), (torch.from_numpy(x),), form, tmp_path)
    report = verify(path, {"x": x}, "--to", "fp16", "--keep-io-types", "--input", "x=-1:1", "--max-error", "1", shapes=["x=2x4"])
    low = np.float16(np.float16(np.float16(x) + np.float16(1000)) - np.float16(1000)).astype(np.float32)
    wanted = np.abs(low - (x + np.float32(1000) - np.float32(1000))).max() / np.abs(x).max()
    found = report["verified"]
    assert found["runs"] == 1
    assert found["outputs"][0]["error"] == pytest.approx(wanted, rel=1e-2)
    if form == "exported":
        assert [entry["name"].rpartition("/")[2] for entry in found["outputs"]] == ["sub", "argmax"]


class Shifted(nn.Module):
    def forward(self, x):
        return (x + 1000.0) - 1000.0


@pytest.mark.parametrize("form", FORMS)
def test_feeds_that_are_not_as_declared(tmp_path, form):
    """The analysis is content, the run is not; what is fed as a low input is clipped, not made infinite."""
    path = save(Square(), (torch.ones(4),), form, tmp_path)
    report = verify(path, {"x": np.full((3, 4), 300, np.float32)}, "--input", "x=-1:1", status=1, shapes=["x=4"])
    assert "has 12 Inf or NaN that the source has not" in report["obstacle"]
    assert report["verified"]["runs"] == 3
    assert not path.with_name(f"out{path.suffix}").exists()


def test_numbers_among_the_inputs(tmp_path):
    path = tmp_path / "m.pt"
    torch.jit.script(Counted().eval()).save(path)
    feeds = {"x": np.ones((1, 3), np.float32), "n": np.array([3])}
    report = verify(path, feeds, "--max-error", "1", "--write-anyway", shapes=["x=3"])
    assert report["verified"]["outputs"][0]["error"] < 1e-3


def test_drawn_inputs_and_open_dims(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            return self.layer(x).softmax(-1)

    path = save(Net().eval(), (torch.randn(3, 8),), "exported", tmp_path, dynamic_shapes=({0: torch.export.Dim("N", min=2)},))
    report = verify(path, "random:5", "--verify-tensors")
    found = report["verified"]
    assert found["runs"] == 5 and 0 < found["outputs"][0]["error"] < 1e-2
    assert [entry["name"] for entry in found["tensors"]] == ["linear"]
    assert 0 < found["tensors"][0]["error"] < 1e-2


def test_from_python(tmp_path):
    path = save(Square(), (torch.ones(4),), "exported", tmp_path)
    made = mpopt.convert(path, tmp_path / "o.pt2", verify=True)
    assert list(made.verified.values())[0] < 1e-3
    assert made.raw["verified"]["runs"] == 8
    assert mpopt.convert(path, tmp_path / "o.pt2", verify=False).verified is None


def test_refusals(tmp_path):
    path = save(Square(), (torch.ones(4),), "traced", tmp_path)
    assert "--verify-tensors is for ONNX files and exported programs" in verify(path, "random", "--verify-tensors", status=2)
    done = run_mpopt("--convert", path, "-o", tmp_path / "o.patch", "--verify", "random")
    assert done.returncode == 2 and "a patch of its source is none" in done.stderr


def test_a_line_on_a_terminal(tmp_path):
    path = save(Square(), (torch.ones(4),), "exported", tmp_path)
    ours, theirs = pty.openpty()
    subprocess.run([MPOPT, "--convert", path, "-o", tmp_path / "o.pt2", "--verify", "random:3"],
                   stderr=theirs, stdout=subprocess.DEVNULL, check=True)
    os.close(theirs)
    shown = os.read(ours, 10000).decode()
    os.close(ours)
    assert "3/3 steps" in shown
