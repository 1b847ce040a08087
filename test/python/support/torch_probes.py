"""What tests of probes in PyTorch share: archives with probes, and what ran in them."""

import hashlib
import json
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torch_networks  # noqa: E402
import torchscript_import  # noqa: E402
from tool import BUILD, run_mpopt  # noqa: E402

if not (BUILD / "lib" / "libmpopt_torch.so").exists():
    pytest.skip("this build has no op library for PyTorch", allow_module_level=True)

from mpopt import _torch_ops  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402

NETWORKS = {network.name: network for network in torch_networks.networks()}
CASES = [(name, form) for name, n in NETWORKS.items() for form in n.forms]


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    os.environ["MPOPT_RECORD"] = str(tmp_path_factory.mktemp("records") / "%l.mprec")
    assert _torch_ops.load()


@pytest.fixture(autouse=True)
def plain_execution():
    """Without fusion, so that a probe cannot take one apart."""
    executor = torch._C._jit_set_profiling_executor(False)
    mode = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(False)
    yield
    torch._C._jit_set_profiling_executor(executor)
    torch._C._set_graph_executor_optimize(mode)


def instrument(model, folder, *options):
    """The probed file and its ledger; the original comes back from it."""
    probed = folder / f"{model.stem}.probed.pt"
    done = run_mpopt("--instrument", model, "-o", probed, *options)
    assert done.returncode == 0, done.stderr
    restored = folder / "restored.pt"
    done = run_mpopt("--strip", probed, "-o", restored)
    assert done.returncode == 0, done.stderr
    original = model.read_bytes()
    assert (hashlib.sha256(restored.read_bytes()).digest()
            == hashlib.sha256(original).digest())
    assert probed.read_bytes().startswith(original)
    ledger = json.loads(pathlib.Path(f"{probed}.probes.json").read_text())
    assert ledger["model_sha256"] == hashlib.sha256(original).hexdigest()
    return probed, ledger


def recorder_of(probed):
    return Recorder(pathlib.Path(f"{probed}.probes.json"))


def save(module, folder, name="model"):
    path = folder / f"{name}.pt"
    torch.jit.script(module).save(str(path))
    return path


def bits(value):
    if value.is_quantized:
        value = value.int_repr()
    return value.dtype, value.shape, bytes(value.contiguous().view(-1).view(torch.uint8).numpy())


def run(path, inputs, seed=7, times=1):
    return call(torch.jit.load(str(path)), inputs, seed, times)


def call(module, inputs, seed=7, times=1):
    torch.manual_seed(seed)
    with torch.no_grad():
        for _ in range(times):
            result = module(*[value.clone() for value in inputs])
    return [bits(value) for value in torchscript_import.flatten(result)]


class Archives:
    """Every network with probes on all tensors: the model, the probed file, its ledger.
    Most of the time is mpopt's start of LibTorch, so those that `items` (of pytest) ask
    for are made side by side."""

    def __init__(self, folder, items):
        self.folder = folder
        self.pool = ThreadPoolExecutor(os.cpu_count())
        self.known, self.runs = {}, {}
        for item in items:
            params = item.callspec.params if hasattr(item, "callspec") else {}
            if "archives" in item.fixturenames and {"name", "form"} <= params.keys():
                self.make(params["name"], params["form"])

    def make(self, name, form):
        if (name, form) in self.known:
            return
        network = NETWORKS[name]
        folder = self.folder / f"{name}-{form}"
        folder.mkdir()
        path = folder / "model.pt"
        network.save(form, str(path))  # draws random numbers: not in a thread
        options = [f"--input-shape={shape}" for shape in
                   torchscript_import.shapes_of(network.names, network.inputs)]
        self.known[name, form] = path, self.pool.submit(
            instrument, path, folder, "--probe", "all", *options)

    def __call__(self, name, form):
        self.make(name, form)
        path, made = self.known[name, form]
        return path, *made.result()

    def first_run(self, name, form):
        """The module with probes, what it gave when it ran once without optimisations, and
        the probes that recorded. LibTorch takes seconds to load the largest."""
        if (name, form) not in self.runs:
            _, probed, ledger = self(name, form)
            module = torch.jit.load(str(probed))
            outputs = call(module, NETWORKS[name].inputs)
            seen = recorder_of(probed)
            self.runs[name, form] = module, outputs, [
                probe for probe in ledger["probes"] if seen.read(probe["id"])]
        return self.runs[name, form]


def summary(value):
    """What of a record can be told from a tensor at once."""
    value = value.detach()
    nan, infinite = int(value.isnan().sum()), int(value.isinf().sum())
    finite = value[value.isfinite()].double()
    return {"count": value.numel(), "nan": nan, "inf": infinite, "zero": int((value == 0).sum()),
            "min": finite.min().item() if finite.numel() else float("inf"),
            "max": finite.max().item() if finite.numel() else float("-inf")}


def recorded(record):
    return {"count": record.count, "nan": record.nan, "inf": record.pos_inf + record.neg_inf,
            "zero": record.zero, "min": record.min, "max": record.max}
