"""Generated networks as programs of torch.export, before and after decomposition.

Every op must be modelled, every dtype and shape be the one that the program declares,
and every value of the sample input lie inside of its bounds.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import exported_programs  # noqa: E402
import torch_networks  # noqa: E402
import torchscript_import  # noqa: E402

#: Torch.export has no form of packed parameters.
NOT_EXPORTED = {"quantized", "dynamic_quantized"}

NETWORKS = {network.name: network for network in torch_networks.networks()
            if "traced" in network.forms and network.name not in NOT_EXPORTED}
FORMS = ["exported", "decomposed"]
#: Draws of their own: the values are others in each run.
RANDOM = {"mlp_training"}
#: The sample inputs lie in this box.
BOX = "-10:10"


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The program, its file and what mpopt says of it."""
    folder = tmp_path_factory.mktemp("programs")
    known = {}

    def get(name: str, form: str):
        if (name, form) not in known:
            network = NETWORKS[name]
            program = exported_programs.export(network.module(), network.inputs)
            if form == "decomposed":
                program = program.run_decompositions()
            path = exported_programs.save(program, folder / f"{name}.{form}.pt2")
            checked = exported_programs.check(path, folder, "--precision", "as-is",
                                              "--assume", BOX)
            known[name, form] = program, path, checked
        return known[name, form]

    return get


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_all_ops_are_modelled(programs, name, form):
    _, _, checked = programs(name, form)
    assert checked.report["model"]["format"] == "exported-program"
    coverage = checked.report["coverage"]
    assert coverage["ops"] and not coverage["unmodelled"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_types_are_the_declared_ones(programs, name, form):
    program, _, checked = programs(name, form)
    bounds = exported_programs.by_node(checked.ranges)
    compared = 0
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if node.name not in bounds or not isinstance(value, torch.Tensor):
            continue
        if value.is_complex():
            continue
        said = bounds[node.name]
        assert said["dtype"] == torchscript_import.DTYPES[value.dtype], node.name
        assert said["shape"] == list(value.shape), node.name
        compared += 1
    assert compared


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(set(NETWORKS) - RANDOM))
def test_values_are_inside_of_their_bounds(programs, name, form):
    program, _, checked = programs(name, form)
    bounds = exported_programs.by_node(checked.ranges)
    values = exported_programs.observed_values(program, NETWORKS[name].inputs)
    wrong = {node: torchscript_import.outside(value, bounds[node])
             for node, value in values.items() if node in bounds}
    assert wrong and not {node: why for node, why in wrong.items() if why}
