"""Generated networks as TorchScript archives, scripted and traced.

The importer must model nearly every op of them, and infer for every output the
dtype and shape that eager PyTorch gives. Where ranges run, values of the sample
input lie inside of the bounds.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torch_networks  # noqa: E402
import torchscript_import  # noqa: E402

if not torchscript_import.TOOL.exists():
    pytest.skip(
        "this build has no mpopt-import-torchscript", allow_module_level=True
    )

NETWORKS = {network.name: network for network in torch_networks.networks()}
CASES = [(name, form) for name, n in NETWORKS.items() for form in n.forms]

#: Eager PyTorch's outputs are another draw than the archive's.
RANDOM = {"mlp_training"}

#: Of all ops of all networks.
MODELLED_SHARE = 0.98


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """What the importer gives for each case, and what eager PyTorch gave."""
    folder = tmp_path_factory.mktemp("archives")
    known = {}

    def get(name: str, form: str):
        if (name, form) not in known:
            network = NETWORKS[name]
            path = folder / f"{name}.{form}.pt"
            module = network.save(form, str(path))
            torch.manual_seed(torch_networks.SEED)
            with torch.no_grad():
                result = module(*[value.clone() for value in network.inputs])
            imported = torchscript_import.import_archive(
                path, network.names, network.inputs
            )
            known[name, form] = (path, imported, torchscript_import.flatten(result))
        return known[name, form]

    return get


@pytest.mark.parametrize("name,form", CASES)
def test_output_types(archives, name, form):
    _, imported, outputs = archives(name, form)
    wanted = [
        (torchscript_import.DTYPES[output.dtype], list(output.shape))
        for output in outputs
    ]
    assert imported.outputs == wanted, imported.warnings


@pytest.mark.parametrize("name,form", CASES)
def test_open_dims(archives, name, form):
    """With an open batch, or no dim known at all, nothing is said that is wrong."""
    open_dims = 1 if form == "traced" else 9
    path, _, outputs = archives(name, form)
    network = NETWORKS[name]
    imported = torchscript_import.import_archive(
        path, network.names, network.inputs, open_dims
    )
    assert len(imported.outputs) == len(outputs)
    for (dtype, dims), output in zip(imported.outputs, outputs):
        assert dtype in ("!mp.unknown", torchscript_import.DTYPES[output.dtype])
        if dims is not None:
            assert len(dims) == output.dim()
            for dim, size in zip(dims, output.shape):
                assert dim is None or dim == size


class Gained(torch.nn.Module):
    """Two layers of one shape whose weights differ."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 64)
        self.second = torch.nn.Linear(64, 64)
        with torch.no_grad():
            self.second.weight.mul_(1000)

    def forward(self, x):
        return self.second(self.first(x))


def test_frozen_weights_are_not_confused(tmp_path):
    """LibTorch merges constants of code that are equal, so it must see them."""
    torch.manual_seed(0)
    script = torch.jit.script(Gained().eval())
    script.save(str(tmp_path / "free.pt"))
    torch.jit.freeze(script).save(str(tmp_path / "frozen.pt"))
    bounds = []
    for name in ("free", "frozen"):
        ranges = torchscript_import.dump_ranges(
            tmp_path / f"{name}.pt", ["x"], (torch.randn(2, 64),), tmp_path
        )
        last = ranges["tensors"][ranges["outputs"][0]]
        bounds.append((last["lo"], last["hi"]))
    assert bounds[0] == bounds[1]


def aten_ops(path: Path) -> Counter:
    """Tensor ops of the archive's method with everything inlined."""
    counts: Counter = Counter()

    def walk(block) -> None:
        for node in block.nodes():
            kind = node.kind()
            gives = [str(value.type()) for value in node.outputs()]
            if not kind.startswith("prim::") and any("Tensor" in t for t in gives):
                counts[kind] += 1
            for inner in node.blocks():
                walk(inner)

    walk(torch.jit.load(str(path)).inlined_graph)
    return counts


#: What is said of inputs, and the least share of ops that are modelled with it.
KNOWN = {"shapes": MODELLED_SHARE, "ranks": 0.95, "nothing": 0.85}


def describe_inputs(network, form: str, known: str) -> list[str]:
    if known == "nothing":
        return []  # as traced, or of unknown rank
    open_dims = 9 if known == "ranks" else 0
    return torchscript_import.shapes_of(network.names, network.inputs, open_dims)


def test_coverage(archives, capsys):
    """Prints the table of docs/torchscript.md (`pytest -k coverage`)."""
    occurring: Counter = Counter()
    missing = {known: Counter() for known in KNOWN}
    ops: Counter = Counter()
    for name, form in CASES:
        path, imported, _ = archives(name, form)
        occurring += aten_ops(path)
        for known in KNOWN:
            if known != "shapes":
                shapes = describe_inputs(NETWORKS[name], form, known)
                imported = torchscript_import.import_with(path, shapes)
            missing[known] += imported.opaque
            ops[known] += imported.ops
    with capsys.disabled():
        print(f"\n{len(CASES)} archives, {len(occurring)} kinds of ops:")
        for kind, count in sorted(occurring.items()):
            left = ", ".join(f"{missing[known][kind]} opaque knowing {known}"
                             for known in KNOWN if missing[known][kind])
            print(f"  {kind:45} {count:5}  {left}".rstrip())
        for known in KNOWN:
            lost = sum(missing[known].values())
            print(f"knowing {known} of the inputs: {ops[known] - lost} of {ops[known]} "
                  f"ops modelled ({1 - lost / ops[known]:.1%})")
    assert ops["shapes"] > 1000
    for known, least in KNOWN.items():
        assert 1 - sum(missing[known].values()) / ops[known] >= least


@pytest.mark.parametrize("name,form", CASES)
def test_values_lie_inside_bounds(archives, tmp_path, name, form):
    path, _, outputs = archives(name, form)
    network = NETWORKS[name]
    ranges = torchscript_import.dump_ranges(
        path, network.names, network.inputs, tmp_path
    )
    # Names in graphs are unique without the module's path before them. What a
    # write to a view leaves has none.
    bounds = {key.rsplit("/", 1)[-1]: of for key, of in ranges["tensors"].items()}
    observed = {}
    if form == "traced" and "quantized" not in name:
        observed = torchscript_import.observed_values(path, network.inputs)
        assert any(key in bounds for key in observed)
    if name not in RANDOM:
        for key, value in zip(ranges["outputs"], outputs):
            observed.setdefault(key.rsplit("/", 1)[-1], value)
    wrong = []
    for key, value in observed.items():
        where = torchscript_import.outside(value, bounds[key]) if key in bounds else ""
        wrong += [f"{key}: {where}"] if where else []
    assert not wrong
