"""Autocast seen from the source: dtypes equal eager PyTorch's.

Every network runs eagerly on the CPU under bf16 autocast, its archive's graph too,
op by op (torchscript_eager.py), both under a dispatch mode that sees each op that
PyTorch really runs. That both run the same arithmetic shows that the graph's ops
are the module's; each tensor of the graph must then have, under
`--precision autocast-bf16 --policy pytorch-cpu-2.14`, the dtype that it had there.
"""

from __future__ import annotations

from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torch_networks  # noqa: E402
import torchscript_eager  # noqa: E402
import torchscript_import  # noqa: E402

if not torchscript_import.TOOL.exists():
    pytest.skip("this build has no mpopt-import-torchscript", allow_module_level=True)

NETWORKS = {network.name: network for network in torch_networks.networks()}
OPTIONS = ["--precision", "autocast-bf16", "--policy", "pytorch-cpu-2.14"]

#: Stand for the numbers that they mean.
QUANTIZED = {torch.quint8, torch.qint8, torch.qint32}

#: What moves, makes or converts numbers: how often depends on who asks (constants,
#: sizes that the tracer recorded, casts that autocast keeps for a parameter).
MOVES = {
    "alias", "arange", "as_strided", "clone", "copy_", "detach", "detach_", "empty",
    "expand", "fill_", "full", "full_like", "lift_fresh", "ones", "ones_like", "permute",
    "scalar_tensor", "select", "slice", "split", "squeeze", "t", "transpose", "unsqueeze",
    "view", "_unsafe_view", "zeros", "zeros_like", "_local_scalar_dense", "_to_copy",
    "_reshape_alias", "unbind", "split_with_sizes", "zero_", "empty_like", "eye",
    "tril_indices", "new_zeros", "new_empty",
}


def arithmetic(watch: torchscript_eager.Watch) -> Counter:
    """Ops with float results and these results' dtypes."""
    # A number is an operand of another overload in a script than in Python.
    return Counter((name.split(".")[1], dtypes) for name, dtypes in watch.seen
                   if name.split(".")[1] not in MOVES
                   and any(dtype.is_floating_point for dtype in dtypes))


def run(function, inputs) -> tuple[Counter, object]:
    torch.manual_seed(torch_networks.SEED)
    with (torch.no_grad(), torch.autocast("cpu", torch.bfloat16),
          torchscript_eager.Watch() as watch):
        result = function(*[value.clone() for value in inputs])
    return arithmetic(watch), result


@pytest.fixture(scope="module")
def counts():
    """(tensors compared, 16-bit ones, ops watched) by network."""
    return {}


@pytest.mark.parametrize("name", NETWORKS)
def test_dtypes_are_eager(name, counts, tmp_path):
    network = NETWORKS[name]
    form = network.forms[-1]
    path = tmp_path / f"{name}.{form}.pt"
    module = network.save(form, str(path))
    # Autocast changes a graph that is asked for while it is on.
    interpreter = torchscript_eager.Interpreter(torch.jit.load(str(path)))
    try:
        eager, _ = run(module, network.inputs)
    except RuntimeError as error:
        if "could not create a primitive" not in str(error):
            raise
        pytest.skip("PyTorch has no bf16 kernel of this for this processor")
    archived, known = run(interpreter, network.inputs)
    assert archived == eager, f"{archived - eager} {eager - archived}"

    shapes = torchscript_import.shapes_of(network.names, network.inputs)
    checked = torchscript_import.check(path, shapes, tmp_path, *OPTIONS)
    said = {key.rsplit("/", 1)[-1]: tensor["dtype"]
            for key, tensor in checked.ranges["tensors"].items()}
    wrong, compared, low = [], 0, 0
    for value, (kind, dtype) in known.dtypes.items():
        if value not in said or dtype in QUANTIZED:
            continue
        compared += 1
        low += dtype == torch.bfloat16
        if said[value] != torchscript_import.DTYPES[dtype]:
            wrong.append(f"{value} ({kind}): PyTorch {dtype}, mpopt {said[value]}")
    counts[name] = compared, low, sum(eager.values())
    assert not wrong, "\n".join(wrong)
    assert compared or name == "quantized"


def test_print_counts(counts):
    compared, low, ops = (sum(column) for column in zip(*counts.values()))
    print(f"\n{len(counts)} networks under CPU autocast: {ops} ops with float results "
          f"run, {compared} tensors compared ({low} of them bf16), 0 mismatches")
    if len(counts) == len(NETWORKS):
        assert compared > 700 and low > 200
