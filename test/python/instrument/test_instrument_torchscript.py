"""mpopt --instrument and --strip on TorchScript archives: outputs and gradients stay
bit-identical, the original comes back byte for byte."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

from torch_probes import (  # noqa: E402, F401
    CASES, NETWORKS, bits, instrument, library, plain_execution, recorder_of,
    run, run_mpopt, save)
from tool import BUILD, ROOT, SHARED  # noqa: E402
from mpopt import _torch_ops  # noqa: E402

FOLDER = SHARED / "torchscript"
INPUTS = {"heir-mnist-mlp": {"x": (1, 784)}, "tchrs-foo3-loop": {"x": (3, 4)},
          "torchsharp-linrelu": {"input": (2, 10)}, "unitree-g1-motion": {"x": (1, 47)},
          "unitree-h1-motion": {"x": (1, 41)}, "heir-lenet-relu": {"x": None}}
GRADIENT = 1


# -- the file ------------------------------------------------------------------------


@pytest.mark.parametrize("name,form", CASES)
def test_weights_are_not_copied(archives, name, form):
    path, probed, ledger = archives(name, form)
    size = path.stat().st_size
    with zipfile.ZipFile(probed) as archive:
        assert archive.testzip() is None
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        assert len(set(names)) == len(names)
        new = [entry for entry in entries if entry.header_offset >= size]
        root = names[0].split("/")[0]
        assert all(entry.filename.startswith((f"{root}/code/", f"{root}/extra/mpopt_"))
                   for entry in new), [entry.filename for entry in new]
        digest = hashlib.sha256(pathlib.Path(f"{probed}.probes.json").read_bytes()).hexdigest()
        assert archive.read(f"{root}/extra/mpopt_ledger_sha256").decode() == digest
    with zipfile.ZipFile(path) as archive:
        assert set(archive.namelist()) < set(names)
    assert len(ledger["probes"]) > 1


# -- what it computes ----------------------------------------------------------------


@pytest.mark.parametrize("name,form", CASES)
def test_outputs_are_identical(archives, name, form):
    path, _, _ = archives(name, form)
    _, outputs, recorded = archives.first_run(name, form)
    assert run(path, NETWORKS[name].inputs) == outputs
    assert recorded


@pytest.mark.parametrize("name,form", CASES)
def test_outputs_are_identical_when_profiled(archives, name, form):
    """With LibTorch's own executor and its optimisations, but for fusion."""
    path, probed, _ = archives(name, form)
    inputs = NETWORKS[name].inputs
    torch._C._jit_set_profiling_executor(True)
    torch._C._set_graph_executor_optimize(True)
    fuse = torch._C._jit_texpr_fuser_enabled()
    torch._C._jit_set_texpr_fuser_enabled(False)
    try:
        assert run(path, inputs, times=3) == run(probed, inputs, times=3)
    finally:
        torch._C._jit_set_texpr_fuser_enabled(fuse)


@pytest.mark.parametrize("stem", INPUTS)
def test_shared_archives(tmp_path, stem):
    files = list(FOLDER.glob(f"{stem}.*")) if FOLDER.exists() else []
    if not files:
        pytest.skip("no shared/models/torchscript")
    path, = files
    options = [f"--input-shape={name}={'x'.join(map(str, dims))}"
               for name, dims in INPUTS[stem].items() if dims]
    probed, ledger = instrument(path, tmp_path, "--probe", "all", *options)
    dims = next(iter(INPUTS[stem].values())) or (1, 1, 32, 32)
    torch.manual_seed(1)
    inputs = (torch.randn(dims),)
    assert run(path, inputs) == run(probed, inputs)
    seen = recorder_of(probed)
    records = [seen.read(probe["id"]) for probe in ledger["probes"]]
    assert all(record and record.count for record in records)
    print(f"{stem}: {len(records)} probes")


# -- training ------------------------------------------------------------------------


def train(path, x, twice=False):
    module = torch.jit.load(str(path)).train()
    torch.manual_seed(3)
    x = x.clone().requires_grad_()
    loss = module(x).square().sum()
    if twice:
        gradient, = torch.autograd.grad(loss, x, create_graph=True)
        loss = gradient.square().sum()
    loss.backward()
    return [bits(parameter.grad) for parameter in module.parameters()] + [bits(x.grad)], x.grad


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("name,form", [("mlp", "scripted"), ("mlp", "traced"),
                                       ("cnn", "scripted"), ("resnet", "scripted")])
def test_gradients_are_equal(archives, name, form, optimize):
    path, probed, ledger = archives(name, form)
    torch._C._jit_set_profiling_executor(optimize)
    torch._C._set_graph_executor_optimize(optimize)
    x, = NETWORKS[name].inputs
    expected, _ = train(path, x)
    seen = recorder_of(probed)

    def calls():
        records = [seen.read(probe["id"], GRADIENT) for probe in ledger["probes"]]
        return [record.calls if record else 0 for record in records]

    before = calls()
    assert train(probed, x)[0] == expected
    assert calls() == before
    _torch_ops.record_gradients(True)
    try:
        got, gradient = train(probed, x)
    finally:
        _torch_ops.record_gradients(False)
    assert got == expected
    source = next(probe for probe in ledger["probes"] if probe["role"] == "input")
    record = seen.read(source["id"], GRADIENT)
    assert (record.min, record.max) == (gradient.min().item(), gradient.max().item())
    below = [now > then for now, then in zip(calls(), before, strict=True)]
    print(f"{name}: gradients of {sum(below)} of {len(below)} probes")
    assert sum(below) > len(below) / 2


def test_second_gradients_are_equal(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    path = save(module, tmp_path)
    probed, _ = instrument(path, tmp_path, "--probe", "all", "--input-shape=input=3x4")
    x = torch.randn(3, 4)
    _torch_ops.record_gradients(True)
    try:
        assert train(path, x, twice=True)[0] == train(probed, x, twice=True)[0]
    finally:
        _torch_ops.record_gradients(False)


# -- what is refused -----------------------------------------------------------------


def refused(*arguments):
    done = run_mpopt(*arguments)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("mpopt: warning: ")]
    assert done.returncode == 2 and len(lines) == 1, (done.returncode, done.stderr)
    assert lines[0].startswith("mpopt: error: ")
    return lines[0]


def test_bad_input(tmp_path):
    path = save(torch.nn.Linear(4, 4), tmp_path)
    probed, _ = instrument(path, tmp_path, "--input-shape=input=2x4")
    out = tmp_path / "out.pt"
    assert "it has probes already" in refused("--instrument", probed, "-o", out)
    assert "it has no probes" in refused("--strip", path, "-o", out)
    assert "is for ONNX" in refused("--instrument", path, "-o", out, "--probe-with", "outputs")
    assert "no method 'nothing'" in refused("--instrument", path, "-o", out, "--method", "nothing")
    assert "matches 'nothing'" in refused("--instrument", path, "-o", out, "--probe", "nothing")
    assert "cannot write" in refused("--instrument", path, "-o", tmp_path / "no" / "out.pt")
    changed = bytearray(probed.read_bytes())
    changed[100] ^= 1
    spoiled = tmp_path / "spoiled.pt"
    spoiled.write_bytes(changed)
    assert "changed after it was instrumented" in refused("--strip", spoiled, "-o", out)
    spoiled.write_bytes(probed.read_bytes()[:-40])
    refused("--strip", spoiled, "-o", out)
    torch.save({"a": torch.ones(3)}, spoiled)
    refused("--instrument", spoiled, "-o", out)
    assert not out.exists() and not pathlib.Path(f"{out}.probes.json").exists()


def test_probed_archive_is_judged_like_the_original(archives):
    path, probed, _ = archives("cnn", "scripted")
    shape = "--input-shape=x=2x3x16x16"
    reports = [json.loads(run_mpopt("--check", file, "--precision", "fp16", "--format", "json",
                                    "--min-certainty", "possible", "--fail-on", "never",
                                    shape).stdout) for file in (path, probed)]
    rules = [sorted((finding["rule"], finding["op"]["type"]) for finding in report["findings"])
             for report in reports]
    assert rules[0] == rules[1]
    assert reports[1]["coverage"] == reports[0]["coverage"]


def python(code, **variables):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          timeout=120, env=os.environ | variables)


def test_without_the_library(archives):
    _, probed, _ = archives("mlp", "scripted")
    done = python(f"import torch; torch.jit.load({str(probed)!r})")
    assert "Unknown builtin op: mpopt::begin_run" in done.stderr


@pytest.mark.parametrize("order", ["torch, mpopt", "mpopt, torch"])
def test_import_registers_the_ops(archives, tmp_path, order):
    _, probed, ledger = archives("mlp", "scripted")
    record = tmp_path / "run.mprec"
    done = python(f"import {order}\nmodel = torch.jit.load({str(probed)!r})\n"
                  "model(torch.ones(4, 16))", MPOPT_RECORD=str(record),
                  PYTHONPATH=str(ROOT / "python"))
    assert done.returncode == 0, done.stderr
    done = run_mpopt("--confirm", record, "--ledger", f"{probed}.probes.json", "--format",
                     "json", "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["first_bad"] is None


def test_library_of_another_version(tmp_path):
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("libmpopt_torch.so", "libmpopt_record.so"):
        (folder / name).symlink_to(BUILD / "lib" / name)
    (folder / "libmpopt_torch.version").write_text("1.13.1+cu117\n")
    done = python("import torch, mpopt; print(mpopt._torch_ops._reason)", MPOPT_BUILD=str(tmp_path),
                  MPOPT_TORCH_OPS="", PYTHONPATH=str(ROOT / "python"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "built for PyTorch 1.13.1, and this is" in done.stdout
