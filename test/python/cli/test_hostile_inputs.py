"""Files that Python reads: pipes, devices and broken ones end in one `mpopt.Error`, at once; and nothing that
is read is written over."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import numpy
import onnx
import pytest

import mpopt
from bad_input import MLP
from mpopt import _assumed, _feeds, converting, instrumenting, recorder, sessions
from mpopt.monitor import assumptions, predicting, reading, record
from tool import ROOT


def make_feeds(path):
    class Session:
        def get_inputs(self):
            return []
    list(_feeds.load_steps(path, Session()))


READERS = {
    "ledger of a run": _feeds.read_assumptions,
    "feeds": make_feeds,
    "model with probes": sessions.find_ledger_hash,
    "keep list": lambda path: converting._read_keep(str(path)),
    "model to convert": converting.convert,
    "instrumented model": lambda path: instrumenting.Instrumented.read(str(path).removesuffix(".probes.json")),
    "hash of a ledger": recorder.ledger_hash,
    "ledger of a monitor": record.Ledger.read,
    "assumptions": lambda path: assumptions.read(None, path),
    "predictions": lambda path: predicting.check_predictions("none.mprec", path),
    "record": reading.RunFile,
    "report of data": lambda path: _assumed.find_expected(path, None, None, None, None),
    "settings": lambda path: _assumed._read_toml(path, _assumed.Assumed(0, 1)),
    "ranges of an input": lambda path: _assumed._read_npz(path, "x"),
}
HASHES = ("hash of a ledger",)
DATA = {
    "empty": b"", "truncated": b'{"schema": "mpopt-probes/1", "probes": [', "list": b"[1, 2]", "number": b"1", "text": b'"a"', "null": b"null",
    "not UTF-8": b'{"schema": "\xff"}', "nested": b"[" * 100_000, "nested setting": b"a = " + b"[" * 100_000, "NaN": b'{"schema": NaN, "probes": [], "assumptions": []}',
    "digits": b'{"schema": ' + b"1" * 5000 + b"}", "zero bytes": b"\0" * 4096, "zip": b"PK\3\4" + b"\0" * 100,
    "wrong types": b'{"schema": "mpopt-probes/1", "probes": {"a": 1}, "assumptions": 3, "report": [], "ops": 1, "unprobed": 1}',
    "wrong members": b'{"schema": "mpopt-probes/1", "probes": [{"id": [], "role": {}, "tensor": []}], "assumptions": [{"input": [], "lo": {}}], '
                     b'"report": {"schema": "mpopt-report/1", "assumptions": [1], "training": {"scale": 1}}, "unprobed": [1]}',
}


# Settings may be empty, any bytes have a hash.
@pytest.mark.parametrize("reader, kind", [(reader, kind) for reader in READERS for kind in DATA
                                          if reader not in HASHES and (reader, kind) != ("settings", "empty")])
def test_broken_files(reader, kind, tmp_path):
    path = tmp_path / "given.probes.json"
    path.write_bytes(DATA[kind])
    with pytest.raises(mpopt.Error) as raised:
        READERS[reader](path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file(reader, tmp_path):
    path = tmp_path / "given.probes.json"
    for make, words in ((os.mkfifo, ("is a pipe",)), (os.mkdir, ("is a directory",)),
                        (lambda to: os.symlink("/dev/zero", to), ("is a device, not a file",)),
                        (lambda to: os.symlink("given.probes.json", to), ("cannot be read",)), (lambda to: None, ("cannot be read",))):
        make(path)
        with pytest.raises(mpopt.Error) as raised:
            READERS[reader](path)
        assert any(word in str(raised.value) for word in words), str(raised.value)
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("reader", [name for name in READERS if name not in ("feeds", "model with probes", "model to convert", "ranges of an input")])
def test_large_files(reader, tmp_path):
    path = tmp_path / "given.probes.json"
    with open(path, "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(mpopt.Error, match="is larger than"):
        READERS[reader](path)


def test_archive_that_unpacks_to_more(tmp_path):
    """The members say so; they are not unpacked to find out."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * 1000)
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\1\2")
    data[at + 24:at + 28] = (0xffffffff).to_bytes(4, "little")
    path.write_bytes(data)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("y.npy", b"\0" * 1000)
    for reader in ("feeds", "ranges of an input"):
        with pytest.raises(mpopt.Error, match="unpacks to more than 4 GB|x.npz"):
            READERS[reader](path)


def test_array_header_that_is_cut_off(tmp_path):
    """NumPy gives such a header to Python's tokenizer, whose error is none of NumPy's."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00\x02\x00(\n")
    for reader in ("feeds", "ranges of an input"):
        with pytest.raises(mpopt.Error, match="x.npz' cannot be read: "):
            READERS[reader](tmp_path / "x.npz")


def test_ledgers_beside_a_record(tmp_path):
    """The one that is looked for is found beside others that cannot be read."""
    os.mkfifo(tmp_path / "a.probes.json")
    (tmp_path / "b.probes.json").mkdir()
    (tmp_path / "c.probes.json").write_text("{}")
    digest = recorder.ledger_hash(tmp_path / "c.probes.json").hex()
    assert reading.find_ledger(tmp_path / "run.mprec", digest) == tmp_path / "c.probes.json"


# --- python -m mpopt.run, python -m mpopt.half ---


def run(*arguments, cwd, module="mpopt.run") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True, timeout=120, cwd=cwd,
                          env=os.environ | {"PYTHONPATH": str(ROOT / "python")})


def refused(done, *words):
    assert done.returncode == 2 and done.stdout == "", (done.returncode, done.stderr)
    assert done.stderr.startswith("mpopt: error: ") and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


@pytest.fixture
def probed(tmp_path):
    onnx.save(MLP, tmp_path / "m.onnx")
    mpopt.instrument(str(tmp_path / "m.onnx"), tmp_path / "p.onnx", probe="all")
    numpy.savez(tmp_path / "x.npz", x=numpy.zeros((2, 4), "f4"))
    (tmp_path / "link").symlink_to("p.onnx")
    os.link(tmp_path / "x.npz", tmp_path / "hard")
    return tmp_path


@pytest.mark.parametrize("record", ["p.onnx", "link", "p.onnx.probes.json", "x.npz", "hard"])
def test_no_record_over_what_is_read(record, probed):
    before = {path.name: path.read_bytes() for path in probed.iterdir()}
    refused(run("p.onnx", "--data", "x.npz", "--record", record, cwd=probed), f"--record: '{record}' would overwrite the ")
    assert {path.name: path.read_bytes() for path in probed.iterdir()} == before
    if record != "x.npz" and record != "hard":
        with pytest.raises(mpopt.Error, match="would overwrite"):
            recorder.Recorder(probed / "p.onnx.probes.json", probed / "p.onnx.probes.json")
    with pytest.raises(mpopt.Error, match="would overwrite the model"):
        mpopt.probe_session(probed / "p.onnx", record=probed / "link")
    assert {path.name: path.read_bytes() for path in probed.iterdir()} == before


def test_run_in_one_line(probed):
    os.mkfifo(probed / "pipe")
    refused(run("pipe", "--random", "1", cwd=probed), "pipe: is a pipe, not a file")
    refused(run("/dev/zero", "--random", "1", cwd=probed), "is a device, not a file")
    refused(run("p.onnx", "--random", "1", "--ledger", "/dev/zero", cwd=probed), "is a device, not a file")
    refused(run("p.onnx", "--data", "pipe", cwd=probed), "is a pipe, not a file")
    refused(run("p.onnx", "--random", "x" * 100_000, cwd=probed), "--random", "characters]")
    refused(run("p.onnx", cwd=probed), "one of the arguments --data --random is required")
    refused(run("p.onnx", "--random", "1", f"--{'x' * 100_000}", cwd=probed), "characters]")


@pytest.mark.parametrize("form", [[], ["--saved"], ["--rounded"]])
def test_half_writes_over_no_model(form, tmp_path):
    def half(*arguments):
        return run(*form, *arguments, cwd=tmp_path, module="mpopt.half")

    onnx.save(MLP, tmp_path / "m.onnx")
    before = (tmp_path / "m.onnx").read_bytes()
    (tmp_path / "link").symlink_to("m.onnx")
    (tmp_path / "new").symlink_to("half.onnx")
    (tmp_path / "text.onnx").write_text("no model")
    os.mkfifo(tmp_path / "pipe")
    for out in ("m.onnx", "link"):
        refused(half("m.onnx", out), f"OUT: '{out}' would overwrite the model 'm.onnx'")
    refused(half("pipe", "out"), "pipe: is a pipe, not a file")
    refused(half("/dev/zero", "out"), "is a device, not a file")
    refused(half("text.onnx", "out"), "'text.onnx' cannot be converted: ")
    refused(half("m.onnx"), "required")
    assert (tmp_path / "m.onnx").read_bytes() == before and not (tmp_path / "out").exists()
    assert half("m.onnx", "new").returncode == 0
    assert (tmp_path / "new").is_symlink() and onnx.load(tmp_path / "half.onnx").graph.node


def test_declarations_are_not_written_over_settings(tmp_path):
    settings = tmp_path / "mpopt.toml"
    settings.write_text('fail_on = "error"\n[inputs]\nx = "0:1"\n')
    (tmp_path / "link.toml").symlink_to("mpopt.toml")
    (tmp_path / "new.toml").symlink_to("target.toml")
    found = mpopt.check_data([{"x": numpy.ones((2, 2), "f4")}], settings)
    for name in ("mpopt.toml", "link.toml"):
        with pytest.raises(mpopt.Error, match="the declarations: .* would overwrite the model"):
            found.write_inputs(tmp_path / name)
    assert settings.read_text().startswith("fail_on")
    found.write_inputs(tmp_path / "new.toml")
    assert (tmp_path / "new.toml").is_symlink() and "[inputs]" in (tmp_path / "target.toml").read_text()
