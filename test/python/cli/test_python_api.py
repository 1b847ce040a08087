"""The Python package: the tool's answers as typed objects."""

import json
import os
import re
import subprocess
import sys
import textwrap
import warnings

import numpy
import onnx
import pytest
import small_models
from onnx import parser
from tool import BUILD, ROOT


import mpopt  # noqa: E402
from mpopt import run as runner  # noqa: E402

OVERFLOWS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 4] x) => (float[N, 4] y) <float big = {30000}> {
  a = Mul (x, big)
  y = Relu (a)
}"""


def overflowing():
    return parser.parse_model(OVERFLOWS)


def torch_is_there():
    return (BUILD / "bin" / "mpopt-import-torchscript").exists()


# -- check ----------------------------------------------------------------------------------

def test_report_is_the_json(tmp_path):
    file = tmp_path / "m.onnx"
    onnx.save(overflowing(), file)
    report = mpopt.check(file, precision="fp16", min_certainty="possible")
    done = subprocess.run([BUILD / "bin" / "mpopt", "--check", file, "--precision", "fp16",
                           "--min-certainty", "possible", "--format", "json"],
                          capture_output=True, text=True, check=False)
    assert report.raw == json.loads(done.stdout)
    assert len(report.findings) == len(report.raw["findings"])
    finding = report.by_rule("MP201")[0]
    assert (finding.op.type, finding.tensor, finding.dtype) == ("Mul", "a", "f16")
    assert finding.bound == mpopt.Interval(-300000, 300000)
    assert finding.status is None and finding.observed is None
    assert not report.ok and report.roots
    assert "Mul" in str(finding) or finding.message in str(finding)


def test_models_of_every_kind(tmp_path):
    model = overflowing()
    file = tmp_path / "m.onnx"
    onnx.save(model, file)
    reports = [mpopt.check(form, precision="fp16")
               for form in (file, str(file), model, model.SerializeToString())]
    assert {tuple(finding.fingerprint for finding in report.findings)
            for report in reports} == {tuple(f.fingerprint for f in reports[0].findings)}
    with pytest.raises(mpopt.Error, match="not int"):
        mpopt.check(3)


@pytest.mark.parametrize("value", [
    (0, 1), ([0.0] * 4, [1.0] * 4), numpy.ones((2, 4), numpy.float32),
    [(0, 1), mpopt.Normal(0.5, 0.1)]])
def test_inputs(value):
    report = mpopt.check(overflowing(), precision="fp16", inputs={"x": value}, dims={"N": 2})
    bound = report.assumptions[0].bound
    assert 0 <= bound.lo <= bound.hi <= 1
    assert not report.by_rule("MP201")


def test_options():
    report = mpopt.check(overflowing(), precision="fp16", assume=(-3, 3), select=["MP2"],
                         ignore="MP204", safe_input=True,
                         thresholds={"near-overflow": 50000}, target="strict16")
    assert report.assumptions[0].bound == mpopt.Interval(-3, 3)
    assert {finding.rule[:3] for finding in report.findings} == {"MP2"}
    assert report.safe_input[0]["input"] == "x"
    distribution = mpopt.check(overflowing(), inputs={"x": mpopt.Normal(2, 3)})
    assert (distribution.assumptions[0].mean, distribution.assumptions[0].std) == (2, 3)


@pytest.mark.parametrize("arguments, text", [
    ({"inputs": {"zz": (0, 1)}}, "inputs: the model has no input 'zz'"),
    ({"precision": "fp12"}, "precision: 'fp12' is not known; did you mean 'fp16'?"),
    ({"select": "MP9"}, "select: no rule 'MP9'"),
    ({"dims": {"K": 3}}, "dims: the model has no symbolic dimension 'K'"),
    ({"inputs": "x"}, "inputs: a mapping of names, not str"),
    ({"inputs": {"x": (1, 0, 2)}},
     "inputs: the sample for 'x' has the shape (3), the input (?, 4)"),
    ({"inputs": {"x": 3.0}}, "inputs: the sample for 'x' has the shape (), the input (?, 4)"),
    ({"inputs": {"x": numpy.ones((2, 3))}}, "inputs: the sample for 'x' has the shape (2, 3)"),
    ({"inputs": {"x": [numpy.ones(2), numpy.ones((2, 3)), numpy.ones(4)]}}, "inputs['x']: "),
    ({"inputs": {"x": numpy.array(["a"])}}, "inputs['x']: "),
    ({"inputs": {"x": object()}}, "inputs['x']: "),
    ({"inputs": {"x": mpopt.Normal("a", 1)}}, "inputs['x']: "),
    ({"dims": {"N": "many"}}, "dims['N']: "), ({"dims": 3}, "dims: a mapping of names, not int"),
    ({"assume": 3}, "assume: "), ({"assume": (0, "a")}, "assume: "),
    ({"precision": None}, "precision: "), ({"min_certainty": 3}, "min_certainty: "),
    ({"thresholds": {"near-overflow": "a"}}, "thresholds['near-overflow']: "),
    ({"select": 3}, "select: "), ({"input_shapes": {"x": 3}}, "input_shapes['x']: ")])
def test_errors_are_one_line(arguments, text):
    with pytest.raises(mpopt.Error) as raised:
        mpopt.check(overflowing(), **arguments)
    assert str(raised.value).startswith(text) and "\n" not in str(raised.value)


@pytest.mark.skipif(not torch_is_there(), reason="built without PyTorch")
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn", "float32"])
def test_samples_of_pytorch(dtype):
    """NumPy has no BF16 and no FP8."""
    torch = pytest.importorskip("torch")
    sample = torch.tensor([[0.5, 1, 2, -3]], requires_grad=True).to(getattr(torch, dtype))
    report = mpopt.check(overflowing(), precision="fp16", inputs={"x": sample})
    assert report.assumptions[0].bound == mpopt.Interval(-3, 2)


def test_many_samples():
    """With one axis more in front, or one behind the other."""
    for shape in ((7, 2, 4), (2, 4), (9, 4)):
        sample = numpy.linspace(-1, 1, int(numpy.prod(shape))).reshape(shape)
        report = mpopt.check(overflowing(), precision="fp16", inputs={"x": sample})
        assert report.assumptions[0].bound == mpopt.Interval(-1, 1)
    fixed = parser.parse_model('<ir_version: 8, opset_import: ["" : 17]> '
                               "g (float[2] x) => (float[2] y) { y = Relu(x) }")
    assert mpopt.check(fixed, inputs={"x": numpy.ones(6)}).assumptions[0].bound.hi == 1
    with pytest.raises(mpopt.Error, match=r"has the shape \(5\), the input \(2\)"):
        mpopt.check(fixed, inputs={"x": numpy.ones(5)})


def test_confirm_without_records(tmp_path):
    """That is what is said, not that the ledger is missing."""
    probed = mpopt.instrument(overflowing(), tmp_path / "p.onnx")
    with pytest.raises(mpopt.Error, match="no record"):
        mpopt.confirm([], probed.ledger)
    for wrong in (3, [3], None):
        with pytest.raises(mpopt.Error, match="records: "):
            mpopt.confirm(wrong, probed.ledger)


def test_status_that_there_is_not():
    raw = json.loads((ROOT / "test/Tools/mpopt/Inputs/confirm.probes.json").read_text())["report"]
    report = mpopt.Confirmation.of(raw)
    assert report.by_status("confirmed") == ()
    with pytest.raises(mpopt.Error, match="'confirmd' is not confirmed, refuted, not-exercised or"):
        report.by_status("confirmd")


def test_rules():
    rules = mpopt.list_rules()
    assert {"MP101", "MP201", "MP301"} <= {rule["id"] for rule in rules}
    assert mpopt.explain("MP201")["name"] == "overflow"


@pytest.mark.skipif(not torch_is_there(), reason="built without PyTorch")
def test_modules():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.exp(x * 30)

    for module, examples, form in (
            (Net(), torch.ones(2), "exported-program"), (Net(), None, "torchscript"),
            (torch.jit.script(Net()), None, "torchscript"),
            (torch.export.export(Net(), (torch.ones(2),)), None, "exported-program")):
        report = mpopt.check(module, precision="fp16", example_inputs=examples,
                             min_certainty="possible", input_shapes={"x": [2]})
        assert report.format == form
        assert report.by_rule("MP2")
    assert mpopt.check(Net(), (torch.ones(2),)).format == "exported-program"


@pytest.mark.skipif(not torch_is_there(), reason="built without PyTorch")
def test_module_that_cannot_be_exported():
    """What depends on values has no exported form, and one that is traced."""
    torch = pytest.importorskip("torch")

    class Branch(torch.nn.Module):
        def forward(self, x):
            return x.exp() if x.sum() > 0 else x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mpopt.check(Branch(), (torch.ones(2),)).format == "torchscript"


@pytest.mark.skipif(not torch_is_there(), reason="built without PyTorch")
def test_module_that_cannot_be_scripted():
    torch = pytest.importorskip("torch")
    namespace = {"torch": torch}
    exec("class Net(torch.nn.Module):\n def forward(self, x): return x", namespace)  # noqa: S102
    with pytest.raises(mpopt.Error, match="pass example_inputs"):
        mpopt.check(namespace["Net"]())
    assert mpopt.check(namespace["Net"](), example_inputs=torch.ones(2)).ok


@pytest.mark.skipif(not torch_is_there(), reason="built without PyTorch")
def test_reader_without_its_pytorch(tmp_path):
    """A reader whose LibTorch is not there says which one it was built for."""
    torch = pytest.importorskip("torch")
    for name in ("mpopt", "mpopt-import-torchscript"):
        program = (BUILD / "bin" / name).read_bytes()
        (tmp_path / name).write_bytes(program.replace(b"/torch/lib", b"/torcx/lib"))
        (tmp_path / name).chmod(0o755)
    torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)).save(str(tmp_path / "m.pt"))
    bare = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    done = subprocess.run([tmp_path / "mpopt", "--check", tmp_path / "m.pt"], capture_output=True,
                          text=True, env=bare, timeout=60, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert f"was built for PyTorch {torch.__version__}, which is not there" in done.stderr


def test_import_brings_no_framework():
    """`import mpopt` alone loads neither PyTorch nor ONNX Runtime."""
    code = "import sys, mpopt; print([m for m in ('torch', 'onnxruntime') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.stdout.strip() == "[]"


# -- instrument -----------------------------------------------------------------------------

def test_instrument_and_strip(tmp_path):
    original = tmp_path / "m.onnx"
    onnx.save(overflowing(), original)
    probed = mpopt.instrument(original, tmp_path / "p.onnx", precision="fp16", dims={"N": 2})
    assert probed.path.exists() and probed.ledger.exists()
    by_tensor = {probe.tensor: probe for probe in probed.probes}
    assert by_tensor["x"].role == "input" and by_tensor["a"].role == "finding"
    fingerprints = {finding.fingerprint for finding in probed.report.findings}
    assert set(by_tensor["a"].fingerprints) <= fingerprints and by_tensor["a"].fingerprints
    assert mpopt.instrumenting.Instrumented.read(probed.path) == probed
    mpopt.strip(probed.path, tmp_path / "s.onnx")
    assert (tmp_path / "s.onnx").read_bytes() == original.read_bytes()
    with pytest.raises(mpopt.Error, match="no tensor or op matches"):
        mpopt.instrument(original, tmp_path / "q.onnx", probe="zzz")


# -- run ------------------------------------------------------------------------------------

def test_run_refuses_in_one_line(tmp_path, capsys):
    file = tmp_path / "m.onnx"
    onnx.save(small_models.models()["mlp"], file)
    assert runner.main([str(file), "--random", "1"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mpopt: error: ") and error.count("\n") == 1


# -- the package itself ------------------------------------------------------------------------

def test_module_is_the_tool():
    done = subprocess.run([sys.executable, "-m", "mpopt", "--version"], capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                          check=False)
    assert done.returncode == 0 and done.stdout.startswith("mpopt ")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built from this build folder, whose own programs stay untouched: other tests run them
    meanwhile."""
    pytest.importorskip("scikit_build_core")
    folder = tmp_path_factory.mktemp("wheel")
    made = {file: file.stat().st_mtime_ns for file in (BUILD / "bin").iterdir()}
    done = subprocess.run([ROOT / "scripts" / "wheel", folder, BUILD], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert made == {file: file.stat().st_mtime_ns for file in (BUILD / "bin").iterdir()}
    (built,) = folder.glob("mpopt_precision-*-py3-none-*.whl")
    assert done.stdout.splitlines()[-1] == str(built)
    return built


def test_wheel_on_a_bare_python(wheel):
    """In a root of its own with nothing but Python: a verdict within 10 s of the installation's
    begin."""
    tried = subprocess.run(["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount", "--net", "--pid", "--fork", "true"],
                           capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("no namespaces here")
    done = subprocess.run(["/usr/bin/python3", ROOT / "scripts" / "check-wheel", wheel], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "415 of 415 ops modelled" in done.stdout and "first verdict after another" in done.stdout


def test_wheel_names_no_folder_of_its_build(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, tmp_path], check=True)
    programs = [*(tmp_path / "mpopt" / "bin").iterdir(), *(tmp_path / "mpopt" / "lib").glob("*.so")]
    assert len(programs) >= 3
    for program in programs:
        listed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        for paths in re.findall(r"(?:RUNPATH|RPATH).*\[(.*)\]", listed):
            assert all(path.startswith("$ORIGIN") for path in paths.split(":") if path), (program.name, paths)


def test_wheel(wheel, tmp_path):
    """Installed offline into an empty environment, it checks and instruments a model."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", wheel], check=True)
    onnx.save(overflowing(), tmp_path / "m.onnx")
    code = textwrap.dedent(f"""
        import mpopt
        report = mpopt.check("{tmp_path}/m.onnx", precision="fp16", min_certainty="possible")
        print(mpopt.__version__, len(report.by_rule("MP201")) > 0,
              len(mpopt.instrument("{tmp_path}/m.onnx", "{tmp_path}/p.onnx").probes) > 0)""")
    bare = {key: value for key, value in os.environ.items()
            if not key.startswith(("MPOPT", "PYTHON", "LD_"))}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=bare,
                          cwd=tmp_path, check=False)
    version = re.search(r"project\(mpopt VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
    assert done.stdout.split() == [version, "True", "True"], done.stderr
    tool = subprocess.run([tmp_path / "venv" / "bin" / "mpopt", "--version"],
                          capture_output=True, text=True, env=bare, check=False)
    assert tool.stdout == f"mpopt {version}\n"
    links = subprocess.run(["ldd", next((tmp_path / "venv").rglob("bin/mpopt")).parent.parent
                            / "lib" / "python3.11" / "site-packages" / "mpopt" / "bin" / "mpopt"],
                           capture_output=True, text=True, check=False).stdout
    assert "LLVM" not in links and "MLIR" not in links and "protobuf" not in links
