"""Commands that cannot be carried out: what they name is no file, cannot be written,
or is no option."""

import os
import resource
import signal
import subprocess
import threading

import numpy
import onnx
import pytest
from onnx import numpy_helper

from bad_input import GIGABYTE, MLP, SECONDS, peak_memory, refused, run
from tool import MPOPT


# --- What is no file ---


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
@pytest.mark.parametrize("option", ["--check", "--policy", "--input", "--target", "--train-config",
                                    "--config", "--baseline"])
def test_devices(device, option, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(MLP.SerializeToString())
    arguments = {"--check": ["--check", device],
                 "--input": ["--check", path, "--input", "x=@" + device],
                 "--train-config": ["--check", path, "--train", "--train-config", device]}
    peak, done = peak_memory(*arguments.get(option, ["--check", path, option, device]))
    refused(done, "is a device")
    assert peak < GIGABYTE


@pytest.mark.parametrize("option", ["--policy", "--target", "--config", "--baseline"])
def test_pipes_without_a_writer(option, mlp, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(run("--check", mlp, option, tmp_path / "pipe"), "a pipe that nothing writes to")


def test_arguments_of_any_length(mlp):
    for arguments in (["--check", "n" * 100_000], ["--check", mlp, "--policy", "p" * 100_000],
                      ["--check", mlp, "--select", "s" * 100_000]):
        assert len(refused(run(*arguments))) < 2500


def test_memory_that_is_not_there(mlp, tmp_path):
    """That of the machine, or a limit: no fault of mpopt."""
    sparse = onnx.SparseTensorProto(dims=[50 << 20])
    sparse.values.CopyFrom(numpy_helper.from_array(numpy.ones(1, "f4"), "w"))
    sparse.indices.CopyFrom(numpy_helper.from_array(numpy.zeros(1, "i8"), "w_indices"))
    large = onnx.ModelProto()
    large.CopyFrom(MLP)
    large.graph.sparse_initializer.append(sparse)
    (tmp_path / "large.onnx").write_bytes(large.SerializeToString())

    def limit():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # a thread takes addresses
        resource.setrlimit(resource.RLIMIT_AS, (320 << 20, 320 << 20))
    done = run("--check", mlp, "--fail-on", "never", preexec_fn=limit)
    assert done.returncode == 0
    done = run("--check", tmp_path / "large.onnx", preexec_fn=limit)
    assert refused(done) == "mpopt: error: out of memory\n"


def test_endless_stdin():
    with open("/dev/zero", "rb") as zero:
        refused(run("--check", "-", stdin=zero), "is a device")
    refused(run("--check", "-"), "is a device")


def test_model_from_pipe(tmp_path):
    fifo = tmp_path / "model.onnx"
    os.mkfifo(fifo)
    refused(run("--check", fifo), "pipe that nothing writes to")
    writer = threading.Thread(
        target=lambda: fifo.write_bytes(MLP.SerializeToString()))
    writer.start()
    done = run("--check", fifo)
    writer.join()
    assert done.returncode == 0, done.stderr
    done = subprocess.run([MPOPT, "--check", "-"], capture_output=True,
                          input=MLP.SerializeToString(), timeout=SECONDS)
    assert done.returncode == 0, done.stderr


# --- Outputs ---


@pytest.fixture
def mlp(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(MLP.SerializeToString())
    return path


@pytest.mark.parametrize("option", ["-o", "--dump-ranges", "--keep-fp32"])
@pytest.mark.parametrize("target", ["none/file", ".", "/dev/full",
                                    "model.onnx/file", "x" * 300])
def test_unwritable(option, target, mlp, tmp_path):
    before = sorted(os.listdir(tmp_path))
    refused(run("--check", mlp, option, tmp_path / target), "cannot write")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("option", ["-o", "--dump-ranges", "--keep-fp32"])
def test_read_only_folder(option, mlp, tmp_path):
    if os.geteuid() == 0:
        # Root writes everywhere; /proc takes no file from anyone.
        refused(run("--check", mlp, option, "/proc/out"), "cannot write")
        return
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o555)
    refused(run("--check", mlp, option, folder / "out"), "cannot write")


def test_limit_of_file_size(mlp, tmp_path):
    """A disk that fills up half way."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
    refused(run("--emit-mlir", mlp, "-o", tmp_path / "out.mlir",
                preexec_fn=limit), "cannot write")
    assert sorted(os.listdir(tmp_path)) == ["model.onnx"]


def test_old_output_survives(mlp, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("old")
    refused(run("--check", tmp_path / "none", "-o", out))
    assert out.read_text() == "old"
    done = run("--check", mlp, "-o", out, "--format", "json")
    assert done.returncode == 0 and out.read_text().startswith("{")


def test_output_to_stream(mlp, tmp_path):
    plain = run("--check", mlp, "--format", "json")
    assert plain.returncode == 0
    done = run("--check", mlp, "--format", "json", "-o", "/dev/stdout")
    assert (done.returncode, done.stdout) == (0, plain.stdout)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    read = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    assert run("--check", mlp, "--format", "json", "-o", fifo).returncode == 0
    reader.join()
    assert read == [plain.stdout]


@pytest.mark.parametrize("arguments", [["--list-rules"], ["--help"],
                                       ["--version"], ["--check", "model.onnx"],
                                       ["--emit-mlir", "model.onnx"]])
def test_standard_streams(arguments, mlp, tmp_path):
    def start(**options):
        return subprocess.Popen([MPOPT, *arguments], cwd=tmp_path,
                                stdin=subprocess.DEVNULL, **options)
    # A reader that goes away is its own affair.
    process = start(stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.wait(SECONDS) == 0, process.stderr.read()
    process.stderr.close()
    for preexec, out in [(lambda: os.close(1), None), (None, "/dev/full")]:
        with open(out or os.devnull, "wb") as stdout:
            process = start(stdout=stdout, stderr=subprocess.PIPE,
                            preexec_fn=preexec)
            error = process.stderr.read().decode()
            assert process.wait(SECONDS) == 2, error
            process.stderr.close()
            assert error.startswith("mpopt: error: cannot write"), error


def test_closed_stderr(mlp, tmp_path):
    """No file gets the number of standard error, and the status still tells."""
    for preexec, err in [(lambda: os.close(2), os.devnull), (None, "/dev/full")]:
        with open(err, "wb") as stderr:
            def status(*arguments):
                return subprocess.run([MPOPT, *arguments], stderr=stderr,
                                      stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL,
                                      preexec_fn=preexec,
                                      timeout=SECONDS).returncode
            assert status("--check", tmp_path / "none") == 2
            out = tmp_path / "out.json"
            assert status("--check", mlp, "-o", out, "--format", "json") == 0
            assert out.read_text().startswith("{")


def test_same_model_twice(mlp):
    done = run("--check", mlp, mlp, "--format", "json")
    assert done.returncode == 0
    assert done.stdout.count(b'"mpopt-report/1"') == 2


def test_one_of_two_is_bad(mlp, tmp_path):
    done = run("--check", tmp_path / "none", mlp, "--format", "json")
    assert done.returncode == 2
    assert done.stdout.count(b'"mpopt-report/1"') == 1


# --- Options ---


@pytest.mark.parametrize("arguments", [
    ["--dim", "N=-1"], ["--dim", "N=1e3"], ["--dim", "=3"],
    ["--dim", "N=99999999999999999999"], ["--dim", "M=3"], ["--dim", "N=1",
     "--dim", "N=2"], ["--input", "y=0:1"], ["--input", "=0:1"],
    ["--input", "x=1:0"], ["--input", "x=nan:0"], ["--input", "x=inf:inf"],
    ["--input", "x~nan,1"], ["--input", "x~1,inf"], ["--input", "x=@"],
    ["--input", ""], ["--input-shape", "x="], ["--input-shape", "z=1x2"],
    ["--input-shape", "x=99999999999999999999"], ["--input-shape", "x=1x-2"],
    ["--input-shape", "x=2x4:"], ["--input-shape", "x=2x4:f99"],
    ["--input-shape", "x=2x5"], ["--select", ""], ["--select", "MP101,"],
    ["--select", "MP"+"9" * 5000], ["--ignore", "x"], ["--set", ""],
    ["--set", "a=b"], ["--set", "no-such=1"], ["--policy", ""],
    ["--policy", "/"], ["--precision", ""], ["--target", ""], ["--format", ""],
    ["--assume", ""], ["--assume", ":"], ["--assume", "1:"], ["--fail-on", ""],
    ["--min-certainty", ""], ["--method", "f"], ["--keep-fp32", ""],
    ["--dump-ranges", ""], ["-o", ""], ["--no-such"], ["-x"],
    ["--check=maybe"], ["--check"], ["--target", "cpu", "--target", "cpu"], ["-o"],
    ["--format", "text", "-o", "a", "-o", "b"], ["--input", "x=0:1", "--input"],
], ids=lambda arguments: " ".join(arguments)[:40])
def test_options(arguments, mlp):
    error = refused(run("--check", mlp, *arguments))
    assert len(error.splitlines()) == 1 and len(error) < 8000


@pytest.mark.parametrize("pattern", ["((((a{1,200}){1,200}){1,200}){1,200})",
                                     "(a{255}b){255}{255}", "((x{100,}){100,}){100}",
                                     "x{y|(((a{1,200}){1,200}){1,200})"])
def test_patterns_that_multiply(pattern, mlp, tmp_path):
    peak, done = peak_memory("--instrument", mlp, "-o", tmp_path / "out", "--probe", pattern)
    refused(done, "--probe: the regular expression repeats too much")
    assert peak < GIGABYTE // 4


@pytest.mark.parametrize("pattern", ["|".join(f"/layers.{i}/MatMul_output_0" for i in range(4000)),
                                     "[[:alpha:]]{1,3}(ab{2}){2,200}|.*", r"\(x\{9\}|[]({]*y.*|.*"],
                         ids=range(3))
def test_patterns_that_do_not(pattern, mlp, tmp_path):
    done = run("--instrument", mlp, "-o", tmp_path / "out", "--probe", pattern)
    assert done.returncode == 0 or b"no tensor or op matches" in done.stderr, done.stderr


def test_strange_names(tmp_path):
    """A line stays a line, whatever a file is called."""
    name = tmp_path / "a\nmpopt: error: b\x1b[31m"
    name.write_bytes(b"")
    error = refused(run("--check", name))
    assert len(error.splitlines()) == 1
