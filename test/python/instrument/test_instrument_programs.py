"""mpopt --instrument and --strip on programs of torch.export: outputs stay bit-identical,
records are what the program computes, probes outlive PyTorch's passes over graphs."""

import zipfile

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import exported_programs  # noqa: E402
import torch_networks  # noqa: E402
from program_probes import (  # noqa: E402
    call, instrument, load, probes_in, recorded, records, summary)

#: Torch.export has no form of packed parameters.
NOT_EXPORTED = {"quantized", "dynamic_quantized"}
NETWORKS = {network.name: network for network in torch_networks.networks()
            if "traced" in network.forms and network.name not in NOT_EXPORTED}
FORMS = ["exported", "decomposed"]
#: Draws of their own: an observer of nodes draws others.
RANDOM = {"mlp_training"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The file with probes on all tensors, and the ledger. `m.pt2` beside it has none."""
    known = {}

    def get(name, form):
        if (name, form) not in known:
            network = NETWORKS[name]
            program = exported_programs.export(network.module(), network.inputs)
            if form == "decomposed":
                program = program.run_decompositions()
            folder = tmp_path_factory.mktemp(f"{name}-{form}")
            known[name, form] = instrument(program, folder, "--probe", "all")
        return known[name, form]

    return get


def plain(probed):
    """The program without probes, anew: what it changes in place is not kept."""
    return load(probed.with_name("m.pt2"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_only_the_graph_is_new(programs, name, form):
    probed, ledger = programs(name, form)
    size = probed.with_name("m.pt2").stat().st_size
    with zipfile.ZipFile(probed) as archive:
        assert archive.testzip() is None
        new = [entry.filename for entry in archive.infolist() if entry.header_offset >= size]
    assert sorted(member.split("/", 1)[1] for member in new) == [
        "extra/mpopt_ledger_sha256", "extra/mpopt_undo.json", "models/model.json"]
    assert ledger["unprobed"] == []
    ids, begins = probes_in(load(probed))
    assert ids == list(range(len(ledger["probes"]))) and begins == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_and_records(programs, name, form):
    """Each record is the one call of its tensor, by the node's name."""
    probed, ledger = programs(name, form)
    inputs, outputs = NETWORKS[name].inputs, []
    module = load(probed).module()
    seen = records(probed, ledger, lambda: outputs.append(call(module, inputs)))
    assert outputs[0] == call(plain(probed).module(), inputs)
    assert all(record and record.calls == 1 for record in seen.values())
    if name in RANDOM:
        return
    values = exported_programs.observed_values(plain(probed), inputs)
    compared = {tensor: (recorded(record), summary(values[tensor.rsplit("/", 1)[-1]]))
                for tensor, record in seen.items() if tensor.rsplit("/", 1)[-1] in values
                and not values[tensor.rsplit("/", 1)[-1]].is_complex()}
    assert len(compared) > 1 or len(values) < 4
    assert {tensor: got for tensor, (got, wanted) in compared.items() if got != wanted} == {}


@pytest.mark.parametrize("name", NETWORKS)
def test_decomposition_keeps_probes(programs, name):
    """None is dropped, none is doubled, and each sees the same tensor."""
    probed, ledger = programs(name, "exported")
    inputs, outputs = NETWORKS[name].inputs, []
    decomposed = load(probed).run_decompositions()
    assert probes_in(decomposed) == (list(range(len(ledger["probes"]))), 1)
    seen = records(probed, ledger, lambda: outputs.append(call(decomposed.module(), inputs)))
    assert outputs[0] == call(plain(probed).run_decompositions().module(), inputs)
    assert all(record and record.calls == 1 for record in seen.values())
