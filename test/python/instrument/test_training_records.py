"""mpopt --instrument --train: a TorchScript archive whose training is recorded, bit for bit
the training of the original; what the record holds is what PyTorch computes."""

import json
import pathlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import torchscript_import  # noqa: E402
from torch_probes import (  # noqa: E402, F401
    NETWORKS, bits, instrument, library, plain_execution, recorded, recorder_of, run_mpopt, save, summary)
import mpopt  # noqa: E402
from mpopt.recorder import DTYPES, KINDS, Recorder, new_record  # noqa: E402

GRADIENT, SCALAR = 1, 4
SCALE = 256.0


class Net(torch.nn.Module):
    """One layer is used twice, one is tied to an embedding, one is behind a normalisation."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(16, 8)
        self.twice, self.norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)

    def forward(self, tokens, target):
        h = self.table(tokens)
        h = torch.relu(self.twice(h))
        h = self.norm(self.twice(h))
        logits = torch.matmul(h, self.table.weight.t())
        return logits, torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


DRAW = torch.Generator().manual_seed(3)
TOKENS = torch.randint(0, 16, (4, 6), generator=DRAW)
TARGET = torch.randint(0, 16, (4, 6), generator=DRAW)
SHAPES = ["--input-shape=tokens=4x6:i64", "--input-shape=target=4x6:i64"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """The traced network, the same with probes, and its ledger."""
    folder = tmp_path_factory.mktemp("train")
    path = folder / "net.pt"
    torch.jit.trace(Net(), (TOKENS, TARGET), check_trace=False).save(str(path))
    return path, *instrument(path, folder, "--train", "--probe=all",
                             "--precision=autocast-fp16", *SHAPES)


def train(path, dtype, steps=20, scale=SCALE, seen=None):
    """The weights at the end, and the gradients of each step as an optimizer gets them."""
    module = torch.jit.load(str(path))
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    gradients = []
    for _ in range(steps):
        with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
            _, loss = module(TOKENS, TARGET)
        (loss * scale).backward()
        if seen is not None:
            seen.scalar("loss_scale", scale)
        gradients.append({name: parameter.grad.clone()
                          for name, parameter in module.named_parameters()})
        for parameter in module.parameters():
            parameter.grad /= scale
        optimizer.step()
        optimizer.zero_grad()
    return [bits(parameter.detach()) for parameter in module.parameters()], gradients


def parameters_of(ledger):
    return {(probe["tensor"], probe.get("cast", False)): probe["id"]
            for probe in ledger["probes"] if probe["role"] == "parameter"}


def test_the_ledger_lists_gradients(archive):
    _, _, ledger = archive
    assert parameters_of(ledger).keys() == {
        ("table.weight", False), ("table.weight", True),  # looked up, and multiplied
        ("twice.weight", True), ("twice.bias", True),
        ("norm.weight", False), ("norm.bias", False)}
    assert {probe["dtype"] for probe in ledger["probes"] if probe.get("cast")} == {"f16"}
    scale, = (probe for probe in ledger["probes"] if probe["role"] == "scalar")
    assert scale["tensor"] == "loss_scale"
    with_gradient = [probe for probe in ledger["probes"] if probe.get("gradient")]
    assert all(probe["role"] != "input" for probe in with_gradient)
    assert len(with_gradient) > 10


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
def test_training_is_the_same_bit_for_bit(archive, dtype):
    path, probed, _ = archive
    assert train(probed, dtype)[0] == train(path, dtype)[0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_training_is_the_same_with_the_executors_own_passes(archive, dtype):
    path, probed, _ = archive
    torch._C._jit_set_profiling_executor(True)
    torch._C._set_graph_executor_optimize(True)
    fuse = torch._C._jit_texpr_fuser_enabled()
    torch._C._jit_set_texpr_fuser_enabled(False)
    try:
        assert train(probed, dtype, steps=1)[0] == train(path, dtype, steps=1)[0]
    finally:
        torch._C._jit_set_texpr_fuser_enabled(fuse)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [2.0**-22, SCALE])
def test_records_are_the_gradients(archive, tmp_path, dtype, scale):
    """Of parameters that are used in one way, what PyTorch gives them: in 16 bits, lost
    elements included."""
    _, probed, ledger = archive
    with Recorder(f"{probed}.probes.json", tmp_path / "run.mprec", beside=True) as seen:
        _, gradients = train(probed, dtype, steps=3, scale=scale, seen=seen)
        ids = parameters_of(ledger)
        name = {torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
        for parameter, cast in [("twice.weight", True), ("twice.bias", True),
                                ("norm.weight", False), ("norm.bias", False)]:
            record = seen.read(ids[parameter, cast], GRADIENT)
            whole = torch.stack([step[parameter] for step in gradients])
            assert record.calls == 3 and recorded(record) == summary(whole)
            assert record.dtype == DTYPES[name if cast else "f32"]
            if (dtype, scale, parameter) == (torch.float16, 2.0**-22, "twice.weight"):
                assert record.zero > record.count / 2  # lost, since BF16 has them
            if (dtype, scale, parameter) == (torch.bfloat16, 2.0**-22, "twice.weight"):
                assert record.zero < record.count / 2
        both = [seen.read(ids["table.weight", cast], GRADIENT) for cast in (False, True)]
        assert [record.dtype for record in both] == [DTYPES["f32"], DTYPES[name]]
        number, = (probe["id"] for probe in ledger["probes"] if probe["role"] == "scalar")
        record = seen.read(number, SCALAR)
        assert (record.calls, record.min, record.max) == (3, scale, scale)
        seen.flush()
        verdict = mpopt.confirm(seen.path, f"{probed}.probes.json")
    assert verdict.raw["confirmation"]["probes"] == sum(
        probe["role"] not in ("parameter", "scalar") for probe in ledger["probes"])
    recorded_names = [entry.tensor for entry in verdict.gradients.tensors]
    assert {"twice.weight", "norm.weight"} <= set(recorded_names)


def test_autocast_that_was_judged_is_not_outside(tmp_path):
    """By the lists of the device on which it runs."""
    path = tmp_path / "net.pt"
    torch.jit.trace(Net(), (TOKENS, TARGET), check_trace=False).save(str(path))
    probed, _ = instrument(path, tmp_path, "--train", "--precision=autocast-fp16",
                           "--policy=pytorch-cpu-2.14", *SHAPES)
    with Recorder(f"{probed}.probes.json", tmp_path / "run.mprec") as seen:
        train(probed, torch.float16, steps=2)
        seen.flush()
        verdict = mpopt.confirm(seen.path, f"{probed}.probes.json")
    assert verdict.outside_assumptions == () and verdict.exceeded == ()
    assert verdict.raw["confirmation"]["comparable"] == 0


def test_gradients_are_recorded_once(archive, tmp_path):
    """Also where all probes are asked for gradients."""
    _, probed, ledger = archive
    torch.ops.mpopt.record_gradients(True)
    try:
        with Recorder(f"{probed}.probes.json", tmp_path / "a.mprec", beside=True) as seen:
            train(probed, None, steps=2)
            calls = {probe["tensor"]: seen.read(probe["id"], GRADIENT).calls
                     for probe in ledger["probes"]
                     if probe.get("gradient") and seen.read(probe["id"], GRADIENT)}
    finally:
        torch.ops.mpopt.record_gradients(False)
    assert len(calls) > 10 and set(calls.values()) == {2}, calls


def step(path, inputs, dtype):
    """The gradients of one step: of the mean square of all results."""
    module = torch.jit.load(str(path))
    torch.manual_seed(5)
    with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
        outputs = torchscript_import.flatten(module(*inputs))
    sum(output.float().square().mean() for output in outputs if output.requires_grad).backward()
    return {name: parameter.grad for name, parameter in module.named_parameters()
            if parameter.grad is not None}


@pytest.mark.parametrize("name,form", [
    ("mlp_training", "scripted"), ("cnn_training", "traced"), ("lstm", "traced"),
    ("attention", "traced"), ("decoder", "scripted"), ("autocast", "scripted"),
    ("mixed", "traced")])
def test_networks_train_as_without_probes(tmp_path, name, form):
    """Weights in lists and branches, convolutions, regions of autocast in the file."""
    network = NETWORKS[name]
    path = tmp_path / "net.pt"
    network.save(form, str(path))
    probed, ledger = instrument(path, tmp_path, "--train", "--probe=all",
                                *(f"--input-shape={shape}" for shape in
                                  torchscript_import.shapes_of(network.names, network.inputs)))
    parameters = {}
    for probe in ledger["probes"]:
        if probe["role"] == "parameter":
            parameters.setdefault(probe["tensor"], []).append(probe["id"])
    for dtype in (None, torch.bfloat16):
        if dtype and "lstm" in name and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            continue  # oneDNN runs recurrences in bfloat16 on CPUs with AVX-512 alone
        expected = step(path, network.inputs, dtype)
        with Recorder(f"{probed}.probes.json", tmp_path / f"{dtype}.mprec", beside=True) as seen:
            got = step(probed, network.inputs, dtype)
            assert {key: bits(grad) for key, grad in got.items()} == {
                key: bits(grad) for key, grad in expected.items()}
            assert expected.keys() <= parameters.keys()
            for key, grad in expected.items():
                records = [seen.read(probe, GRADIENT) for probe in parameters[key]]
                records = [record for record in records if record]
                assert records and sum(record.count for record in records) % grad.numel() == 0


def test_weights_in_a_list_of_the_module(tmp_path):
    """Said to have no probe; the others have."""
    network = NETWORKS["lstm"]
    network.save("scripted", str(tmp_path / "net.pt"))
    probed, ledger = instrument(tmp_path / "net.pt", tmp_path, "--train",
                                *(f"--input-shape={shape}" for shape in
                                  torchscript_import.shapes_of(network.names, network.inputs)))
    assert {name for name, _ in parameters_of(ledger)} == {"embed.weight", "out.weight", "out.bias"}
    unprobed = [entry["why"] for entry in ledger["unprobed"] if "_flat_weights" in entry["tensor"]]
    assert len(unprobed) == 16 and set(unprobed) == {
        "no value of the TorchScript code is this tensor"}
    assert step(probed, network.inputs, None).keys() == step(
        tmp_path / "net.pt", network.inputs, None).keys()


class Explicit(torch.nn.Module):
    """Casts of its own, a weight that is transposed first, one in a branch."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Parameter(torch.randn(8, 8))
        self.second = torch.nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        h = torch.tanh(x.to(torch.bfloat16) @ self.first.to(torch.bfloat16))
        if x.size(0) > 2:
            h = torch.matmul(h, self.second.to(torch.bfloat16).t())
        return h.float().square().mean()


def test_casts_of_the_file_have_their_probes_behind_them(tmp_path):
    path = save(Explicit(), tmp_path)
    probed, ledger = instrument(path, tmp_path, "--train", "--precision=as-is",
                                "--input-shape=x=4x8")
    results = []
    for file in (path, probed):
        module = torch.jit.load(str(file))
        module(torch.linspace(-1, 1, 32).reshape(4, 8)).backward()
        results.append([bits(parameter.grad) for parameter in module.parameters()])
    assert results[0] == results[1]
    ids, seen = parameters_of(ledger), recorder_of(probed)
    assert ids.keys() == {("first", True), ("second", True)}
    for id in ids.values():
        record = seen.read(id, GRADIENT)
        assert (record.calls, record.count, record.dtype) == (1, 64, DTYPES["bf16"])


@pytest.mark.parametrize("kind", [2, 3, 5])
def test_kinds_of_records(archive, tmp_path, kind):
    """Of parameters and optimizers, too; what is not known is refused."""
    _, probed, _ = archive
    with Recorder(f"{probed}.probes.json", tmp_path / "run.mprec", beside=True) as seen:
        record = new_record(0, kind)
        record.calls = 1
        seen.merge(record)
        seen.flush()
        path = seen.path
    if kind < len(KINDS):
        assert mpopt.confirm(path, f"{probed}.probes.json").raw["confirmation"]["ran"] == 0
    else:
        with pytest.raises(mpopt.Error, match="unknown kind 5"):
            mpopt.confirm(path, f"{probed}.probes.json")


def test_a_scalar_that_is_not_in_the_ledger(archive, tmp_path):
    _, probed, _ = archive
    with Recorder(f"{probed}.probes.json", tmp_path / "b.mprec", beside=True) as seen:
        with pytest.raises(ValueError, match="no scalar 'lr' .loss_scale."):
            seen.scalar("lr", 1.0)
    with Recorder(b"\0" * 32, tmp_path / "c.mprec", beside=True) as seen:
        with pytest.raises(ValueError, match="made of a hash"):
            seen.scalar("loss_scale", 1.0)


def test_python_asks_for_gradients(tmp_path):
    path = save(Explicit(), tmp_path)
    made = mpopt.instrument(path, tmp_path / "p.pt", train=True, input_shapes={"x": (4, 8)})
    assert {probe.role for probe in made.probes} >= {"parameter", "scalar"}
    raw = json.loads(pathlib.Path(made.ledger).read_text())
    assert raw["schema"] == "mpopt-probes/1"


def test_only_torchscript_is_trained(tmp_path):
    onnx = pytest.importorskip("onnx")
    import small_models

    onnx.save(small_models.models()["mlp"], tmp_path / "m.onnx")
    done = run_mpopt("--instrument", tmp_path / "m.onnx", "--train", "-o", tmp_path / "p.onnx")
    assert done.returncode == 2 and "is for TorchScript" in done.stderr
    assert not (tmp_path / "p.onnx").exists()
