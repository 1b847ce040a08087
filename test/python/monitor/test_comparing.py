"""Two runs side by side."""

import json
import math
import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not in this environment")

import trainings  # noqa: E402
from tool import run_mpopt  # noqa: E402
from trainings import Decoder, Text  # noqa: E402
import mpopt  # noqa: E402
from mpopt.monitor import Monitor, compare, compare_log_probabilities  # noqa: E402


def record(folder, name, dtype=None, change=None):
    """A run of the decoder without updates; `change` alters the model."""
    model, text = Decoder(layers=4), Text()
    if change:
        change(model)
    path = folder / f"{name}.mprec"
    with Monitor(model, record=path, periods={"value": 1}, sinks=[]) as monitor:
        for step in range(4):
            tokens, _ = text(step)
            with torch.no_grad(), torch.autocast("cpu", dtype or torch.bfloat16,
                                                 enabled=dtype is not None):
                model(tokens)
            monitor.step()
    return path


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
def test_formats_explain_their_own_rounding(tmp_path, dtype):
    result = compare(record(tmp_path, "a"), record(tmp_path, "b", dtype))
    assert len(result.differences) > 30 and not result.incomparable
    assert result.alert is None and result.first is None
    if dtype is not None:
        assert any(entry.difference > 0 for entry in result.differences)


def forget_epsilon(model):
    model.blocks[2].norm1.eps = 0.3


def scale_value(model):
    with torch.no_grad():
        model.blocks[1].value.weight *= 1.1


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
@pytest.mark.parametrize("change, layer", [(forget_epsilon, "blocks.2.norm1"),
                                           (scale_value, "blocks.1.value")])
def test_a_diverging_engine(tmp_path, dtype, change, layer):
    result = compare(record(tmp_path, "a"), record(tmp_path, "b", dtype, change))
    assert result.alert.rule == "MP512" and result.alert.layer == layer, result.differences
    assert result.first.tensor == layer and result.first.difference > result.first.explained


def test_nan_in_one_of_them(tmp_path):
    def spoil(model):
        with torch.no_grad():
            model.norm.weight[0] = math.nan

    result = compare(record(tmp_path, "a"), record(tmp_path, "b", change=spoil))
    assert result.alert.layer == "norm" and "NaN" in result.alert.message


def test_other_batches_are_not_compared(tmp_path):
    model, text = Decoder(layers=4), Text(batch=5)
    path = tmp_path / "b.mprec"
    with Monitor(model, record=path, periods={"value": 1}, sinks=[]) as monitor:
        model(text(0)[0])
        monitor.step()
    result = compare(record(tmp_path, "a"), path)
    assert not result.differences and result.alert is None
    assert "not the same batches" in result.incomparable["table"]


def test_what_is_no_record(tmp_path):
    file = tmp_path / "x.mprec"
    file.write_bytes(b"no record")
    with pytest.raises(mpopt.Error, match="no record of probes"):
        compare(file, file)
    with pytest.raises(mpopt.Error, match="No such file"):
        compare(tmp_path / "none.mprec", file)


def test_log_probabilities():
    draw = trainings.generator()
    a = -torch.rand(400, 64, generator=draw)
    noise = 0.01 * torch.randn(400, 64, generator=draw)
    apart = compare_log_probabilities(a, a + noise)
    assert apart.tokens == 400 * 64
    assert apart.per_token == pytest.approx(0.01 * math.sqrt(2 / math.pi), rel=0.05)
    assert apart.growth == pytest.approx(0.5, abs=0.1)
    assert apart.ratio_spread == pytest.approx(0.01 * 8, rel=0.15)
    biased = compare_log_probabilities(a, a + 0.01)
    assert biased.growth == pytest.approx(1.0, abs=0.01)
    mask = torch.zeros(400, 64, dtype=torch.bool)
    mask[:, :16] = True
    assert compare_log_probabilities(a, a + noise, mask).tokens == 400 * 16
    with pytest.raises(ValueError, match="twice"):
        compare_log_probabilities(a, a[:, 1:])


def test_the_tool_compares(tmp_path):
    """--confirm A --against B: MP512 is a finding like others, and decides the exit status."""
    paths = [record(tmp_path, "a"), record(tmp_path, "b", torch.bfloat16, scale_value)]
    command = ["--confirm", paths[0], "--ledger", tmp_path / "a.probes.json", "--against", paths[1]]
    done = run_mpopt(*command, "--fail-on", "never")
    assert done.returncode == 0, done.stderr
    assert "confirmed warning[MP512]" in done.stdout and "blocks.1.value" in done.stdout
    assert "the other run: 1 record file" in done.stdout
    assert run_mpopt(*command, "--fail-on", "warning").returncode == 1
    silent = run_mpopt(*command, "--fail-on", "warning", "--ignore", "MP512")
    assert silent.returncode == 0 and "MP512" not in silent.stdout
    raw = json.loads(run_mpopt(*command, "--format", "json").stdout)
    finding, = [entry for entry in raw["findings"] if entry["rule"] == "MP512"]
    assert (finding["tensor"], finding["status"]) == ("blocks.1.value", "confirmed")
    entries = {entry["tensor"]: entry for entry in raw["against"]["differences"]}
    assert entries["blocks.0.value"]["difference"] <= entries["blocks.0.value"]["explained"]
    assert entries["blocks.1.value"]["dtypes"] == ["f32", "bf16"]


def test_what_the_tool_refuses(tmp_path):
    one, other = record(tmp_path, "a"), tmp_path / "other.mprec"
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    with Monitor(model, record=other, periods={"value": 1},
                 sinks=[]) as monitor:
        model(torch.ones(1, 2))
        monitor.step()
    ledger = tmp_path / "a.probes.json"
    for options, words in (
            (["--against", other], "of another ledger|does not belong|another"),
            (["--against", tmp_path / "none.mprec"], "No such file"),
            (["--against-ledger", ledger], "--against-ledger needs --against"),
            (["--against", one, "--against-ledger", one], "is no ledger of mpopt")):
        done = run_mpopt("--confirm", one, "--ledger", ledger, *options)
        assert done.returncode == 2 and not done.stdout, done.stdout
        assert len(done.stderr.splitlines()) == 1 and re.search(words, done.stderr), done.stderr


def test_gradients_at_other_scales(tmp_path):
    """A loss scale multiplies what is recorded, and is divided out."""
    paths = []
    for name, scale in (("a", 1.0), ("b", 1024.0)):
        model, text = Decoder(layers=2), Text()
        scaler = trainings.scaler(init_scale=scale)
        paths.append(tmp_path / f"{name}.mprec")
        with Monitor(model, scaler=scaler, record=paths[-1], periods={"gradient": 1},
                     sinks=[]) as monitor:
            for step in range(3):
                tokens, target = text(step)
                model.zero_grad()
                scaler.scale(trainings.predict(model(tokens), target)).backward()
                monitor.step()
    result = compare(*paths, kind="gradient")
    assert len(result.differences) > 20 and result.alert is None
    assert max(entry.difference for entry in result.differences) < 1e-4


def test_verdict_on_log_probabilities():
    draw = trainings.generator()
    a = -torch.rand(200, 64, generator=draw)

    def found(difference, **options):
        return compare_log_probabilities(a, a + difference, **options).findings

    noise = torch.randn(200, 64, generator=draw)
    assert found(0.0) == () and found(0.002 * noise) == ()
    warning, = found(0.01 * noise)
    assert (warning.rule, warning.severity, warning.layer) == ("MP512", "warning", "logits")
    assert "as noise does" in warning.message and "FP32 in both engines" in warning.message
    error, = found(0.1 * noise)
    assert error.severity == "error" and "outside of 1 +- 0.2" in error.message
    assert "as a bias does" in found(torch.full_like(a, 0.02))[0].message
    assert found(0.1 * noise, clip=0.5)[0].severity == "warning"
    broken = a.clone()
    broken[3, 4] = math.nan
    assert compare_log_probabilities(a, broken).clipped == pytest.approx(1 / a.numel())


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32, torch.bfloat16, torch.uint8])
def test_masks_of_any_dtype(dtype):
    a, mask = torch.zeros(2, 3), torch.tensor([[1, 1, 0], [1, 0, 0]])
    b = torch.tensor([[0.1, 0.1, 5.0], [0.1, 5.0, 5.0]])
    found = compare_log_probabilities(a, b, mask.to(dtype))
    assert found.tokens == 3 and found.largest == pytest.approx(0.1)
    assert compare_log_probabilities(a, b, mask.tolist()).tokens == 3


def test_forms_of_engines():
    """Lists of different lengths, vLLM's dictionaries, and those of OpenAI's form."""
    import dataclasses

    @dataclasses.dataclass
    class Logprob:
        logprob: float
        rank: int = 1

    plain = [[-1.0, -2.0, -3.0], [-0.5]]
    tokens = [[7, 8, 9], [3]]
    vllm = [[{token: Logprob(value), 1: Logprob(-9.0)} for token, value in zip(*pair, strict=True)]
            for pair in zip(tokens, plain, strict=True)]
    openai = [[{"token": "x", "logprob": value} for value in row] for row in plain]
    for given in (vllm, openai, plain):
        found = compare_log_probabilities(given, plain, tokens=tokens)
        assert (found.tokens, found.largest, found.findings) == (4, 0.0, ())
    alone = [[{token: Logprob(value)} for token, value in zip(*pair, strict=True)]
             for pair in zip(tokens, plain, strict=True)]
    # A prompt's first token has none.
    assert compare_log_probabilities([[None, *row] for row in alone],
                                     [[None, *row] for row in plain]).tokens == 4
    with pytest.raises(ValueError, match="tokens="):
        compare_log_probabilities(vllm, plain)
