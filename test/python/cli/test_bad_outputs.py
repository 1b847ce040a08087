"""Outputs that would take the place of what is read, or of each other: refused, and
every file stays as it was."""

import fcntl
import os
import resource
import shutil
import signal
import subprocess
import sys

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from bad_input import MLP, SECONDS, refused, run
from tool import BUILD, MPOPT, ROOT

LIBRARY = BUILD / "lib" / "libmpopt_record.so"
RECORD = ROOT / "test" / "Tools" / "mpopt" / "Inputs" / "record.py"
TABLES = {"target.json": ROOT / "lib" / "Support" / "targets" / "strict16.json",
          "policy.json": next((ROOT / "lib" / "Policy" / "tables").glob("*.json"))}


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def with_external_weights(location):
    """Add of a weight that lies in `location`, in the graph and in a body."""
    def weight(name):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[4],
                             data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value=location)
        return tensor
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    node = helper.make_node("Constant", [], ["w"])
    node.attribute.append(helper.make_attribute("value", weight("")))
    graph = helper.make_graph([node, helper.make_node("Add", ["x", "w"], ["y"])], "g",
                              info[:1], info[1:])
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", 17)])


@pytest.fixture
def folder(tmp_path):
    """A model of each kind, a probed one and a record of it."""
    onnx.save(MLP, tmp_path / "m.onnx")
    onnx.save(with_external_weights("w.bin"), tmp_path / "external.onnx")
    numpy.arange(4, dtype="f4").tofile(tmp_path / "w.bin")
    numpy.savez(tmp_path / "x.npz", x=numpy.zeros((2, 4), "f4"))
    for name, table in TABLES.items():
        shutil.copy(table, tmp_path / name)
    for model in ("m", "external"):
        done = run("--instrument", f"{model}.onnx", "-o", f"p-{model}", "--probe", "all",
                   cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    subprocess.run([sys.executable, RECORD, LIBRARY, "p-m.probes.json", "r.mprec",
                    "0:f32:1,2,3,4"], cwd=tmp_path, check=True)
    assert run("--emit-mlir", "external.onnx", "-o", "m.mlir", cwd=tmp_path).returncode == 0
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("m.onnx")
    os.link(tmp_path / "m.onnx", tmp_path / "hard")
    return tmp_path


CONFIRM = "--confirm r.mprec --ledger p-m.probes.json"


@pytest.mark.parametrize("words", [
    f"{CONFIRM} -o r.mprec", f"{CONFIRM} -o p-m.probes.json",
    f"{CONFIRM} -o sub/../r.mprec", f"{CONFIRM} --keep-fp32 r.mprec",
    f"{CONFIRM} --keep-fp32 p-m.probes.json",
    "--check m.onnx -o m.onnx", "--check m.onnx -o link", "--check m.onnx -o hard",
    "--check m.onnx --keep-fp32 ./m.onnx", "--check m.onnx --dump-ranges m.onnx",
    "--check external.onnx m.onnx -o m.onnx", "--emit-mlir m.onnx -o m.onnx",
    "--check m.onnx --target target.json -o target.json",
    "--check m.onnx --policy policy.json -o policy.json",
    "--check m.onnx --input x=@x.npz -o x.npz",
    "--check m.onnx --input x=@x.npz --dump-ranges sub/../x.npz",
    "--check external.onnx -o w.bin", "--check external.onnx --keep-fp32 w.bin",
    "--check external.onnx --dump-ranges sub/../w.bin",
    "--emit-mlir external.onnx -o w.bin", "--instrument external.onnx -o w.bin",
    "--instrument external.onnx -o q --keep-fp32 w.bin", "--strip p-external -o w.bin",
    "--instrument m.onnx -o q --keep-fp32 m.onnx",
    "--instrument m.onnx -o q --dump-ranges q.probes.json",
    "--instrument m.onnx -o q --keep-fp32 sub/../q.probes.json",
    "--instrument m.onnx -o q --keep-fp32 sub/../q",
    "--check m.onnx -o q --dump-ranges sub/../q",
    "--strip p-m -o p-m.probes.json",
])
def test_refused(words, folder):
    before = contents(folder)
    error = refused(run(*words.split(), cwd=folder), "mpopt: error: ")
    assert len(error.splitlines()) == 1 and ("overwrite" in error or "two outputs" in error), error
    assert contents(folder) == before


def test_weights_that_mlir_names(folder):
    """Only large weights stay in their file."""
    numpy.zeros(2000, "f4").tofile(folder / "large.bin")
    model = with_external_weights("large.bin")
    model.graph.node[0].attribute[0].t.dims[:] = [2000]
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = 2000
    onnx.save(model, folder / "large.onnx")
    assert run("--emit-mlir", "large.onnx", "-o", "large.mlir", cwd=folder).returncode == 0
    before = contents(folder)
    refused(run("--check", "large.mlir", "-o", "large.bin", cwd=folder), "overwrite")
    assert contents(folder) == before


def test_settings_of_a_further_model(folder):
    """Each model has the settings of its own folder."""
    shutil.copy(folder / "m.onnx", folder / "sub" / "m.onnx")
    (folder / "sub" / "mpopt.toml").write_text('precision = "fp16"\n')
    before = contents(folder)
    refused(run("--check", "m.onnx", "sub/m.onnx", "-o", "sub/mpopt.toml", cwd=folder),
            "overwrite")
    assert contents(folder) == before


def test_ledger_that_lies_beside_a_record(folder):
    shutil.copy(folder / "r.mprec", folder / "s.mprec")
    before = contents(folder)
    refused(run("--diff", "r.mprec", "s.mprec", "-o", "p-m.probes.json", cwd=folder), "overwrite")
    assert contents(folder) == before


@pytest.mark.parametrize("words", ["-o net.py", "-o r --dump-ranges net.py",
                                   "m.onnx -o net.py"])
def test_programs_that_are_quoted(words, folder):
    (folder / "net.py").write_text("y = x.half().exp()\n")
    (folder / "quoted.mlir").write_text(
        "func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {\n"
        "  %y = mp.exp %x : (tensor<4xf16>) -> tensor<4xf16> loc(\"net.py\":1:1)\n"
        "  return %y : tensor<4xf16>\n}\n")
    assert b"y = x.half().exp()" in run("--check", "quoted.mlir", "--assume", "0:100",
                                       cwd=folder).stdout
    before = contents(folder)
    refused(run("--check", "quoted.mlir", "--assume", "0:100", *words.split(), cwd=folder),
            "overwrite")
    assert contents(folder) == before


def test_standard_streams(folder):
    before = contents(folder)
    with open(folder / "m.onnx", "rb") as model:
        refused(run("--check", "-", "-o", "m.onnx", cwd=folder, stdin=model), "overwrite")
    with open(folder / "m.onnx", "ab") as out:
        done = subprocess.run([MPOPT, "--check", "m.onnx"], cwd=folder, stdout=out,
                              stdin=subprocess.DEVNULL, timeout=SECONDS)
    assert done.returncode == 2 and contents(folder) == before


@pytest.mark.parametrize("words, folded", [
    ("--instrument m.onnx -o m.onnx", "m.onnx"), ("--strip p-m -o p-m", "p-m"),
    ("--instrument external.onnx -o ./external.onnx", "external.onnx")])
def test_in_place(words, folded, folder):
    """The model itself can be had back, so these two may replace it."""
    done = run(*words.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    if words.startswith("--instrument"):
        assert run("--strip", folded, "-o", "back", cwd=folder).returncode == 0
        onnx.load(folder / "back", load_external_data=False)


def test_other_files_are_free(folder):
    done = run("--check", "m.onnx", "--input", "x=@x.npz", "-o", "/dev/null", "--dump-ranges",
               "ranges", "--keep-fp32", "old.ort.json", cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("target", ["report", "sub/../first", "new"])
def test_links_stay(target, folder):
    """What is behind a link is written, where it is there and where it is not yet."""
    (folder / "report").write_text("old")
    (folder / "first").symlink_to("report")
    (folder / "new").symlink_to(folder / "sub" / "made")
    (folder / "out").symlink_to(target)
    assert run("--check", "m.onnx", "--fail-on", "never", "-o", "out", cwd=folder).returncode == 0
    assert (folder / "out").is_symlink() and (folder / "first").is_symlink()
    written = folder / "sub" / "made" if target == "new" else folder / "report"
    assert b"m.onnx" in written.read_bytes()
    assert not list(folder.rglob("*.tmp"))


# --- Outputs that cannot be finished ---


def test_what_a_killed_run_has_left_goes(folder):
    """The next run for the same file removes it, but not what a run still writes, nor files of other names."""
    for name in ("out.0a1b2c.tmp", "out.3d4e5f.tmp", "out.notes.tmp", "other.0a1b2c.tmp", "out.zzzzzz.tmp"):
        (folder / name).write_text("half")
    with (folder / "out.3d4e5f.tmp").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert run("--check", "m.onnx", "--fail-on", "never", "-o", "out", cwd=folder).returncode == 0
    assert (folder / "out").stat().st_size > 4
    assert sorted(path.name for path in folder.glob("*.tmp")) == [
        "other.0a1b2c.tmp", "out.3d4e5f.tmp", "out.notes.tmp", "out.zzzzzz.tmp"]


def test_old_probes_survive(folder):
    """Neither the probed model nor its ledger goes before both of the new are there."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    big = onnx.load(folder / "m.onnx")
    big.graph.initializer.append(helper.make_tensor("unused", TensorProto.FLOAT, [65536],
                                                    bytes(4 * 65536), raw=True))
    onnx.save(big, folder / "big.onnx")
    assert run("--instrument", "big.onnx", "-o", "p-big", cwd=folder).returncode == 0
    before = contents(folder)
    for size in (64, 1 << 17):  # fails on the ledger, on the model
        assert (size < len(before["p-big.probes.json"])) == (size == 64)
        refused(run("--instrument", "big.onnx", "-o", "p-big", "--probe", "all", cwd=folder,
                    preexec_fn=limit), "cannot write")
        assert contents(folder) == before


@pytest.mark.parametrize("out", ["/dev/null", "/dev/stdout", "/dev/fd/1", "pipe", "-"])
def test_instrument_to_stream(out, folder):
    """The ledger goes beside the file, and a summary to standard output."""
    os.mkfifo(folder / "pipe")
    before = contents(folder)
    refused(run("--instrument", "m.onnx", "-o", out, cwd=folder), "--instrument needs")
    assert contents(folder) == before and not os.path.exists(f"{out}.probes.json")


def test_names_of_open_files(folder):
    """What is redirected is a file, and /dev/stdout no name of its own for it."""
    with open(folder / "log", "w") as log:
        log.write("before\n")
        log.flush()
        done = subprocess.run([MPOPT, "--check", "m.onnx", "-o", "/dev/stdout"], stdout=log,
                              cwd=folder, stdin=subprocess.DEVNULL, timeout=SECONDS)
    assert done.returncode == 0
    assert (folder / "log").read_text().startswith("before\nm.onnx"), (folder / "log").read_text()
    assert os.path.islink("/dev/stdout")


@pytest.mark.parametrize("length", [239, 242])
def test_long_names(length, folder):
    """As long as file systems take them, with what the ledger adds."""
    done = run("--instrument", "m.onnx", "-o", "x" * length, cwd=folder)
    assert done.returncode == 0, done.stderr
    done = run("--check", "m.onnx", "-o", "x" * 255, cwd=folder)
    assert done.returncode == 0, done.stderr
    refused(run("--check", "m.onnx", "-o", "x" * 256, cwd=folder), "cannot write")
    refused(run("--instrument", "m.onnx", "-o", "y" * 250, cwd=folder), "cannot write")
    assert not (folder / ("y" * 250)).exists()
