"""What tests of probes in exported programs share."""

import hashlib
import json
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import exported_programs  # noqa: E402
import torchscript_import  # noqa: E402
from tool import BUILD, run_mpopt  # noqa: E402
from torch_probes import bits, recorded, summary  # noqa: E402

if not (BUILD / "lib" / "libmpopt_torch.so").exists():
    pytest.skip("this build has no op library for PyTorch", allow_module_level=True)

from mpopt import _programs  # noqa: E402
from mpopt.recorder import Recorder  # noqa: E402


def instrument(program, folder, *options):
    """The probed file and its ledger; the original comes back from it."""
    model, probed, restored = (folder / name for name in ("m.pt2", "probed.pt2", "restored.pt2"))
    exported_programs.save(program, model)
    done = run_mpopt("--instrument", model, "-o", probed, *options)
    assert done.returncode == 0, done.stderr
    done = run_mpopt("--strip", probed, "-o", restored)
    assert done.returncode == 0, done.stderr
    original = model.read_bytes()
    assert restored.read_bytes() == original and probed.read_bytes().startswith(original)
    ledger = json.loads(ledger_of(probed).read_text())
    assert ledger["model_sha256"] == hashlib.sha256(original).hexdigest()
    return probed, ledger


def ledger_of(probed):
    return pathlib.Path(f"{probed}.probes.json")


def load(probed):
    return _programs.load(probed)


def call(module, inputs, seed=7):
    torch.manual_seed(seed)
    with torch.no_grad():
        result = module(*[value.clone() for value in inputs])
    return [bits(value) for value in torchscript_import.flatten(result)]


def probes_in(program):
    """The ids of all probes of the program, those inside of other graphs included, with how
    often a run is begun."""
    ids, begins = [], 0
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            name = str(node.target)
            if name == "mpopt.begin_run.default":
                begins += 1
            elif name.startswith("mpopt.probe"):
                ids.append(node.args[1] if len(node.args) > 1 else node.kwargs["id"])
    return sorted(ids), begins


def records(probed, ledger, run):
    """What each probe recorded while `run` ran, by tensor."""
    file = probed.with_name(f"{len(list(probed.parent.glob('*.mprec')))}.mprec")
    with Recorder(ledger_of(probed), file) as recorder:
        run()
        return {probe["tensor"]: recorder.read(probe["id"]) for probe in ledger["probes"]}


__all__ = ["bits", "call", "instrument", "ledger_of", "load", "probes_in", "recorded", "records",
           "summary"]
