"""TorchScript archives from the command line: real ones are judged, hostile and
damaged ones cost one `mpopt: error:` line and status 2."""

import io
import json
import os
import pickle
import subprocess
import time
import zipfile

import pytest
from tool import BIN, MPOPT, SHARED, read_ranges

FOLDER = SHARED / "torchscript"
ARCHIVES = sorted(FOLDER.glob("*")) if FOLDER.exists() else []

# What the traced inputs of a file do not tell.
SHAPES = {"heir-mnist-mlp": ["x=1x784"], "tchrs-foo3-loop": ["x=3x4"],
          "torchsharp-linrelu": ["input=2x10"], "unitree-g1-motion": ["x=1x47"],
          "unitree-h1-motion": ["x=1x41"], "heir-lenet-relu": []}

pytestmark = pytest.mark.skipif(
    not (BIN / "mpopt-import-torchscript").exists(),
    reason="this build has no LibTorch")


def test_archives_are_there():
    if not ARCHIVES and not os.environ.get("CI"):
        pytest.skip("no shared/models/torchscript")
    assert len(ARCHIVES) == 6


def run(*arguments, stdin=subprocess.DEVNULL):
    return subprocess.run([MPOPT, *map(str, arguments)], stdin=stdin,
                          capture_output=True, timeout=60)


def refused(done, *parts):
    error = done.stderr.decode(errors="replace")
    assert done.returncode == 2, (done.returncode, error)
    assert done.stdout == b""
    lines = [line for line in error.splitlines()
             if not line.startswith("mpopt: warning: ")]
    assert len(lines) == 1 and lines[0].startswith("mpopt: error: "), error
    for part in parts:
        assert part in error, error
    return error


def shape_options(path):
    return [f"--input-shape={shape}" for shape in SHAPES[path.stem]]


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
@pytest.mark.parametrize("precision", ["as-is", "autocast-fp16", "fp16", "bf16"])
def test_every_op_is_modelled(path, precision):
    started = time.monotonic()
    done = run("--check", path, "--precision", precision, "--format", "json",
               "--fail-on", "never", *shape_options(path))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["model"]["format"] == "torchscript"
    assert report["coverage"]["unmodelled"] == {}
    assert report["coverage"]["ops"] == report["coverage"]["modelled"] > 0
    print(f"{path.stem} {precision}: {report['coverage']['ops']} ops, "
          f"{len(report['findings'])} findings, {time.monotonic() - started:.2f} s")


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_ranges_are_finite(path):
    dumped = read_ranges(path, *shape_options(path))
    assert dumped["inputs"] and dumped["outputs"]
    for name in dumped["outputs"]:
        tensor = dumped["tensors"][name]
        assert -1e30 < tensor["lo"] <= tensor["hi"] < 1e30, (name, tensor)


@pytest.mark.skipif(not ARCHIVES, reason="no shared/models/torchscript")
class TestArchive:
    plain = FOLDER / "heir-mnist-mlp.pt"
    loop = FOLDER / "tchrs-foo3-loop.pt"

    def test_standard_input(self):
        with self.plain.open("rb") as stream:
            done = run("--check", "-", "--format", "json", "--fail-on", "never",
                       stdin=stream)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["model"]["parameters"] == 407050

    def test_weights_stay_in_the_file(self):
        done = run("--emit-mlir", self.plain)
        assert done.returncode == 0, done.stderr
        assert f'file("{self.plain}"'.encode() in done.stdout

    def test_unknown_method(self):
        refused(run("--check", self.plain, "--method", "backward"),
                "no method 'backward'", "forward")

    def test_unknown_input(self):
        refused(run("--check", self.plain, "--input-shape", "y=3"), "'y'")

    def test_source_lines(self):
        done = run("--emit-mlir", FOLDER / "tchrs-foo3-loop.pt")
        # The loop, the condition in it, and what the condition guards.
        for place in (b"47:9", b"48:13", b"48:28"):
            assert b"create_jit_models.py\":" + place in done.stdout


def rewritten(path, tmp_path, change, compression=zipfile.ZIP_STORED):
    """A copy of an archive with members changed: name -> bytes or None."""
    target = tmp_path / "changed.pt"
    with zipfile.ZipFile(path) as old, \
            zipfile.ZipFile(target, "w", compression) as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return target


@pytest.mark.skipif(not ARCHIVES, reason="no shared/models/torchscript")
class TestHostile:
    loop = FOLDER / "tchrs-foo3-loop.pt"
    mlp = FOLDER / "torchsharp-linrelu.dat"

    def pickled(self, tmp_path, data):
        return rewritten(self.mlp, tmp_path, lambda name, old: data
                         if name.endswith("/data.pkl") else old)

    def test_truncated(self, tmp_path):
        data = self.mlp.read_bytes()
        for length in (100, len(data) // 2, len(data) - 1):
            path = tmp_path / "cut.pt"
            path.write_bytes(data[:length])
            refused(run("--check", path))

    def test_global_of_python(self, tmp_path):
        class Call:
            def __reduce__(self):
                return (os.system, ("true",))
        refused(run("--check", self.pickled(tmp_path, pickle.dumps(Call(), 2))),
                "system", "not part of TorchScript")

    def test_deep_pickle(self, tmp_path):
        depth = 200_000
        deep = b"\x80\x02" + b"(" * depth + b"t" * depth + b"."
        refused(run("--check", self.pickled(tmp_path, deep)), "deep")

    def test_setstate_with_code(self, tmp_path):
        def add(name, data):
            if not name.endswith(".py") or b"class " not in data:
                return data
            return data + (b"  def __setstate__(self: int, state: int) -> NoneType:\n"
                           b"    while True:\n      print(state)\n    return None\n")
        path = rewritten(self.mlp, tmp_path, add)
        refused(run("--check", path), "__setstate__")

    def test_bomb(self, tmp_path):
        target = rewritten(self.mlp, tmp_path, lambda name, data: data)
        with zipfile.ZipFile(target, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("archive/data/100", bytes(1 << 20))
            # What the directory claims; deflate cannot reach it.
            archive.getinfo("archive/data/100").file_size = (1 << 32) - 2
        refused(run("--check", target), "unpacks")

    def test_compressed_members_are_read(self, tmp_path):
        path = rewritten(self.mlp, tmp_path, lambda name, data: data,
                         zipfile.ZIP_DEFLATED)
        done = run("--check", path, "--fail-on", "never",
                   "--input-shape", "input=2x10")
        assert done.returncode in (0, 2)
        if done.returncode == 2:
            refused(done)

    def test_nonsense_code(self, tmp_path):
        path = rewritten(self.mlp, tmp_path, lambda name, data: b"class (:\n"
                         if name.endswith(".py") else data)
        refused(run("--check", path))

    def test_missing_tensor(self, tmp_path):
        path = rewritten(self.mlp, tmp_path, lambda name, data: None
                         if "/data/" in name else data)
        refused(run("--check", path))

    def test_random_changes(self, tmp_path):
        data = bytearray(self.loop.read_bytes())
        for at in range(0, len(data), 97):
            changed = bytearray(data)
            changed[at] ^= 0x55
            path = tmp_path / "changed.pt"
            path.write_bytes(changed)
            done = run("--check", path, "--fail-on", "never")
            assert done.returncode in (0, 2), (at, done.stderr)
            if done.returncode == 2:
                refused(done)


def test_a_served_archive_costs_itself_only(tmp_path):
    torchscript_import = pytest.importorskip("torchscript_import")
    cut = tmp_path / "cut.pt"
    whole = FOLDER / "torchsharp-linrelu.dat"
    cut.write_bytes(whole.read_bytes()[:2000])
    for _ in range(2):
        text, said = torchscript_import.read_text(cut, [])
        assert text is None and '"code"' in said
        text, _ = torchscript_import.read_text(whole, ["input=2x10"])
        assert "mp.linear" in text


def state_dict():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}.")
        archive.writestr("archive/version", b"3\n")
    return stream.getvalue()


def test_other_files_of_pytorch(tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(state_dict())
    refused(run("--check", path), "no graph")


def test_mobile_models(tmp_path):
    """With the code of the module they are archives; a flatbuffer has none."""
    torch = pytest.importorskip("torch")
    module = torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()))
    path = tmp_path / "net.ptl"
    module._save_for_lite_interpreter(str(path))
    done = run("--check", path, "--format", "json", "--fail-on", "never",
               "--input-shape", "input=1x4")
    assert done.returncode == 0, done.stderr
    coverage = json.loads(done.stdout)["coverage"]
    assert coverage["ops"] == coverage["modelled"] == 2
    module._save_for_lite_interpreter(str(path), _use_flatbuffer=True)
    assert path.read_bytes()[4:8] == b"PTMF"
    refused(run("--check", path), "PyTorch mobile", "flatbuffer", "torch.jit.save")


SOURCE = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)

    def forward(self, x):
        y = self.fc(x)
        return torch.exp(y)
"""


@pytest.mark.parametrize("traced", [False, True])
def test_findings_show_the_users_line(tmp_path, monkeypatch, traced):
    torch = pytest.importorskip("torch")
    (tmp_path / "usersnet.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    import importlib
    import sys
    sys.modules.pop("usersnet", None)
    net = importlib.import_module("usersnet").Net()
    module = torch.jit.trace(net, torch.ones(2, 8)) if traced else torch.jit.script(net)
    path = tmp_path / "net.pt"
    torch.jit.save(module, str(path))
    options = ["--precision", "fp16", "--fail-on", "never", "--input-shape", "x=2x8",
               "--input", "x=-1000:1000"]
    report = json.loads(run("--check", path, "--format", "json", *options).stdout)
    [finding] = [f for f in report["findings"] if f["rule"] == "MP207"]
    exp = SOURCE.splitlines().index("        return torch.exp(y)") + 1
    assert finding["location"]["line"] == exp
    assert finding["location"]["file"].endswith("usersnet.py")
    assert {cause["location"]["line"] for cause in finding["cause"]
            if cause["op"]} == {exp}
    text = run("--check", path, *options).stdout.decode()
    assert f"{exp} | return torch.exp(y)" in text
