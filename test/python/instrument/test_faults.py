"""What may go wrong in a run with probes, from the model's file to the verdict, in ONNX
Runtime and in PyTorch: the model runs on, and what was seen is told (docs/probes.md)."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy
import onnx
import pytest
import record_file
from onnx import parser
from tool import BUILD, ROOT, run_mpopt

SCRIPT = pathlib.Path(__file__).parent / "Inputs" / "run_with_faults.py"
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float one = {1}> {
  a = Exp (x)
  b = Sub (a, one)
  y = Log (b)
}"""
X = numpy.float32([[1, 2, 3, 4], [0.5, 0.25, 5, 6]])
BAD = numpy.float32([[1, 2, 3, 4], [-1, 1, 1, 1]])  # the logarithm of -0.63


class Runtime:
    """A model with probes in a folder of its own, and what runs it."""

    def __init__(self, suffix, folder):
        self.suffix, self.folder = suffix, folder
        self.model = folder / f"model{suffix}"
        if suffix == ".onnx":
            onnx.save(parser.parse_model(MODEL), self.model)
        else:
            torch = pytest.importorskip("torch", reason="torch is not in this environment")
            if not (BUILD / "lib" / "libmpopt_torch.so").exists():
                pytest.skip("this build has no op library for PyTorch")

            class Model(torch.nn.Module):
                def forward(self, x):
                    return torch.log(torch.exp(x) - 1)

            torch.jit.script(Model()).save(str(self.model))
        self.probed = self.instrument("probed", "fp16")
        self.record = folder / "run.mprec"

    def instrument(self, name, precision):
        probed = self.folder / f"{name}{self.suffix}"
        shape = ["--dim", "N=2"] if self.suffix == ".onnx" else ["--input-shape", "x=?x4"]
        done = run_mpopt("--instrument", self.model, "-o", probed, "--precision", precision,
                         *shape)
        assert done.returncode == 0, done.stderr
        return probed

    def start(self, model, x, steps, *words, **keywords):
        file = self.folder / "x.npy"
        numpy.save(file, x)
        settings = {key: text for key, text in os.environ.items()
                    if not key.startswith("MPOPT_") or key == "MPOPT_BUILD"}
        settings |= {"MPOPT_BUILD": str(BUILD), "PYTHONPATH": str(ROOT / "python"),
                     "MPOPT_RECORD": str(self.record), **keywords.pop("environment", {})}
        return subprocess.Popen(
            [sys.executable, SCRIPT, model, file, str(steps), *words], env=settings,
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)

    def run(self, model=None, x=X, steps=3, *words, **keywords):
        """The outputs, and the lines that mpopt writes to stderr."""
        process = self.start(model or self.probed, x, steps, *words, **keywords)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        return (numpy.load(self.folder / "x.npy.out.npy"),
                [line for line in errors.splitlines() if "mpopt" in line])

    def confirm(self, record=None, probed=None):
        return run_mpopt("--confirm", record or self.record, "--ledger",
                         f"{probed or self.probed}.probes.json", "--format", "json",
                         "--fail-on", "never")


@pytest.fixture(params=[".onnx", ".pt"], ids=["onnxruntime", "torch"])
def runtime(request, tmp_path):
    return Runtime(request.param, tmp_path)


def limit_files():
    """As a disk that fills up: the header and one probe's record, and no more."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))


def test_killed_in_mid_run(runtime):
    process = runtime.start(runtime.probed, BAD, 0, environment={"MPOPT_FLUSH_MS": "1"})
    seen = {}
    for _ in range(1200):
        if runtime.record.exists() and runtime.record.stat().st_size > 10000:
            seen = record_file.read(runtime.record)[1]
            if min(int(record["calls"]) for record, _ in seen.values()) > 20:
                break
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert len(seen) == len(json.loads(
        pathlib.Path(f"{runtime.probed}.probes.json").read_text())["probes"])
    done = runtime.confirm()
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1 and "the run did not end in order" in done.stderr
    report = json.loads(done.stdout)
    assert report["first_bad"]["op"]["type"] in ("Log", "aten::log")
    assert report["first_bad"]["step"] == 0
    domain, = [finding for finding in report["findings"] if finding["rule"] == "MP205"]
    assert domain["status"] == "confirmed" and domain["observed"]["count"] >= 20 * BAD.size
    assert {finding["status"] for finding in report["findings"]} <= {
        "confirmed", "refuted", "not-observable"}


@pytest.mark.parametrize("how", ["device", "limit"])
def test_disk_full(runtime, how):
    plain, _ = runtime.run(runtime.model)
    if how == "device":
        runtime.record = pathlib.Path("/dev/full")
        y, errors = runtime.run(steps=50, environment={"MPOPT_FLUSH_MS": "0"})
    else:
        y, errors = runtime.run(steps=50, environment={"MPOPT_FLUSH_MS": "0"},
                                preexec_fn=limit_files)
    assert y.tobytes() == plain.tobytes()
    line, = errors
    assert line.startswith(f"mpopt: warning: cannot write {runtime.record}: ")
    if how == "limit":
        # What was written before is whole, and the rest is said not to have run.
        done = runtime.confirm()
        assert done.returncode == 0
        statuses = [finding["status"] for finding in json.loads(done.stdout)["findings"]]
        assert "not-exercised" in statuses


@pytest.mark.parametrize("where", ["/proc/run.mprec", "model/run.mprec", "none/run.mprec"])
def test_unwritable_folder(runtime, where):
    """The kernel's own, a file that stands for a folder, and one that is not there."""
    plain, _ = runtime.run(runtime.model)
    where = where.replace("model/", f"{runtime.model}/")
    runtime.record = pathlib.Path(where)
    y, errors = runtime.run()
    assert y.tobytes() == plain.tobytes()
    line, = errors
    assert line.startswith(f"mpopt: warning: cannot write {runtime.record}: ")


def test_library_not_registered(runtime):
    """ONNX Runtime runs the function of the op's name; PyTorch has no such thing and says
    so, and runs what --strip gives back."""
    plain, _ = runtime.run(runtime.model)
    model = runtime.probed
    if runtime.suffix == ".pt":
        process = runtime.start(model, X, 1, "unregistered")
        _, errors = process.communicate(timeout=120)
        assert process.returncode != 0 and "Unknown builtin op: mpopt::begin_run" in errors
        model = runtime.folder / "stripped.pt"
        assert run_mpopt("--strip", runtime.probed, "-o", model).returncode == 0
    y, errors = runtime.run(model, X, 3, "unregistered")
    assert y.tobytes() == plain.tobytes() and not errors
    assert not runtime.record.exists()


def test_record_of_another_ledger(runtime):
    runtime.run()
    other = runtime.instrument("other", "bf16")
    done = runtime.confirm(probed=other)
    assert done.returncode == 2 and done.stdout == ""
    line, = done.stderr.splitlines()
    assert line.startswith("mpopt: error: ") and "is a record of another ledger" in line
    assert runtime.confirm().returncode == 0


def test_probes_on_empty_tensors(runtime):
    runtime.run(x=X[:0])
    done = runtime.confirm()
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert report["first_bad"] is None
    domain, = [finding for finding in report["findings"] if finding["rule"] == "MP205"]
    assert domain["status"] == "not-exercised"
    assert domain["status_why"] == "it was empty whenever it ran"
    records = [record for record, _ in record_file.read(runtime.record)[1].values()]
    assert [int(record["calls"]) for record in records] == [3] * len(records)
    assert {int(record["count"]) for record in records} == {0}


# ONNX Runtime's kernels get contiguous tensors only.
def test_strided_tensors(tmp_path):
    runtime = Runtime(".pt", tmp_path)
    wide = numpy.concatenate([X, BAD], axis=1)
    for name, x in (("transposed", numpy.asfortranarray(X)), ("every-other", wide[:, ::2]),
                    ("columns", wide[:, 2:6])):
        runtime.record = tmp_path / f"{name}.mprec"
        views = tmp_path / f"{name}.py"
        # numpy.save would make the array contiguous: the view is made anew.
        views.write_text(f"""
import numpy, torch, mpopt
wide = torch.tensor({wide.tolist()!r})
x = {{"transposed": lambda: wide[:, :4].t().contiguous().t(),
     "every-other": lambda: wide[:, ::2], "columns": lambda: wide[:, 2:6]}}[{name!r}]()
assert not x.is_contiguous()
torch.jit.load({str(runtime.probed)!r})(x)
""")
        done = subprocess.run([sys.executable, views], capture_output=True, text=True, env={
            **os.environ, "MPOPT_BUILD": str(BUILD), "PYTHONPATH": str(ROOT / "python"),
            "MPOPT_RECORD": str(runtime.record)}, timeout=120)
        assert done.returncode == 0, done.stderr
        ledger = json.loads(pathlib.Path(f"{runtime.probed}.probes.json").read_text())
        source = next(probe["id"] for probe in ledger["probes"] if probe["role"] == "input")
        record, _ = record_file.read(runtime.record)[1][source]
        values = numpy.float64(x)
        assert (record["count"], record["min"], record["max"]) == (
            values.size, values.min(), values.max())
        assert record_file.exact(record["sum"]) == values.sum()
        bins = numpy.frexp(numpy.abs(values))[1] - 1 + 151
        assert (record["histogram"] == numpy.bincount(bins.ravel(), minlength=280)).all()
        assert runtime.confirm().returncode == 0
